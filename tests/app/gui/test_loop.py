from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

import pytest
from PySide6.QtWidgets import QApplication

from app.gui.executor import Background
from app.gui.signals import Signals
from tests.helpers.qt_loop import Run, run_in_qt

__all__ = ["run_in_qt"]


def test_a_coroutine_runs_in_qts_loop(run_in_qt: Run) -> None:
    async def work() -> str:
        await asyncio.sleep(0.01)
        return threading.current_thread().name

    assert run_in_qt(work()) == threading.main_thread().name


def test_what_blocks_is_done_beside_the_loop(run_in_qt: Run) -> None:
    async def work() -> str:
        return await asyncio.get_running_loop().run_in_executor(None, lambda: threading.current_thread().name)

    assert run_in_qt(work()).startswith("background")


def test_an_error_in_the_background_reaches_who_waits(run_in_qt: Run) -> None:
    def fail() -> None:
        raise ValueError("no")

    async def work() -> None:
        await asyncio.get_running_loop().run_in_executor(None, fail)

    with pytest.raises(ValueError, match="no"):
        run_in_qt(work())


def test_closing_waits_for_no_thread_and_begins_nothing_more() -> None:
    """D4: a name server that does not answer must not keep the window from quitting."""
    release = threading.Event()
    background = Background(threads=1)
    stuck = background.submit(release.wait)
    never = background.submit(lambda: "begun")
    started_s = time.perf_counter()
    background.shutdown()
    assert time.perf_counter() - started_s < 0.5
    assert never.cancelled()
    release.set()
    assert stuck.result(2) is True
    with pytest.raises(RuntimeError):
        background.submit(release.wait)


def test_background_threads_are_reused_and_bounded() -> None:
    background = Background(threads=2)
    names = [background.submit(lambda: threading.current_thread().name).result(2) for _ in range(10)]
    assert len(set(names)) <= 2
    background.shutdown()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_loop_and_everything_is_put_back(
    run_in_qt: Run, qapp: QApplication, number: signal.Signals
) -> None:
    """D6: without the handlers that loops have on some systems only."""
    before = signal.getsignal(number)

    async def work() -> int:
        came: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        signals = Signals(came.set_result)
        try:
            os.kill(os.getpid(), number)
            return await came
        finally:
            signals.close()

    assert run_in_qt(work(), 5.0) == number
    assert signal.getsignal(number) is before
