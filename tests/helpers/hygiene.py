"""Fixtures that fail a test which leaves something running; a ``conftest.py`` imports them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator

import pytest


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Every thread that a test started has ended with it, a moment's grace apart."""
    before = set(threading.enumerate())
    yield
    give_up_at = time.monotonic() + 2
    while left := [t for t in set(threading.enumerate()) - before if not t.name.startswith("asyncio_")]:
        assert time.monotonic() < give_up_at, f"threads left behind: {left}"
        time.sleep(0.01)


@pytest.fixture(autouse=True)
async def no_task_is_left() -> AsyncIterator[None]:
    """Every task that a test started has ended with it, and the loop was never told of a failure."""
    complaints: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    yield
    for _ in range(20):
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if not left:
            break
        await asyncio.sleep(0.01)
    assert not left, f"tasks left behind: {left}"
    assert not complaints, complaints
