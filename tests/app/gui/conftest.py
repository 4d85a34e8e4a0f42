from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def garbage_is_collected_in_this_thread() -> Iterator[None]:
    """As in the window: a widget that is part of a cycle must not end in a thread that a test started."""
    gc.disable()
    yield
    gc.collect(1)
    gc.enable()
