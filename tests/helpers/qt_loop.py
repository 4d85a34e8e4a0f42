"""Coroutines in the event loop of the window: asyncio on Qt, closed so that nothing of it is left."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine, Iterator
from typing import Any, Protocol, TypeVar

import pytest
from PySide6.QtWidgets import QApplication

from app.gui.collector import Collector
from app.gui.loop import close_loop, open_loop

T = TypeVar("T")


class Run(Protocol):
    """Runs a coroutine until it is complete, for no longer than ``within_s``."""

    def __call__(self, work: Coroutine[Any, Any, T], within_s: float = 20.0) -> T: ...


@pytest.fixture
def run_in_qt(qapp: QApplication) -> Iterator[Run]:
    """Give a test, which must not be a coroutine itself, a way to run one in the loop of the window.

    Fails a test that leaves a task running, or whose loop was told of a failure.
    """
    # As in the window (closing.py): a window that an earlier test closed must not end this loop.
    qapp.setQuitOnLastWindowClosed(False)
    loop = open_loop(qapp)
    collector = Collector()
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))

    def run(work: Coroutine[Any, Any, T], within_s: float = 20.0) -> T:
        return loop.run_until_complete(asyncio.wait_for(work, within_s))

    yield run
    left = [task for task in asyncio.all_tasks(loop) if not task.done()]
    close_loop(loop)
    # In this thread, as the window does: widgets that are part of cycles must not end in another.
    gc.collect()
    collector.close()
    assert not left, f"tasks left behind: {left}"
    assert not complaints, complaints
