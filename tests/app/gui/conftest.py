from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest

# Before anything makes an application: tests need no screen, and must not cover one.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


@pytest.fixture(autouse=True)
def garbage_is_collected_in_this_thread() -> Iterator[None]:
    """As in the window: a widget that is part of a cycle must not end in a thread that a test started."""
    gc.disable()
    yield
    gc.collect(1)
    gc.enable()
