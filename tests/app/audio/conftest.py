from __future__ import annotations

import threading
import time
from collections.abc import Iterator

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
