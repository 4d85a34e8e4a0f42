"""Waiting for something to become true, never longer than a bound that says what was waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

LOOK_S = 0.005


async def eventually(condition: Callable[[], object], within_s: float = 5.0, what: str = "") -> float:
    """Return how many seconds it took until ``condition`` held; fails after ``within_s``."""
    started_s = time.perf_counter()
    while not condition():
        waited_s = time.perf_counter() - started_s
        assert waited_s < within_s, f"not within {within_s} s: {what or condition}"
        await asyncio.sleep(LOOK_S)
    return time.perf_counter() - started_s
