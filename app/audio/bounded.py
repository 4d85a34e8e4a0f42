"""Calls that may block for ever, such as those to a sound server that hangs, and are not waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from app.audio.output import OpenError

_T = TypeVar("_T")


class StuckError(OpenError):
    """A call that did not come back in time; it goes on in ``thread``."""

    def __init__(self, reason: str, thread: threading.Thread) -> None:
        super().__init__(reason, "restart the sound server")
        self.thread = thread


def call_within(limit_s: float, what: str, action: Callable[[], _T]) -> _T:
    """Run ``action`` in a daemon thread and return what it returns, or raise what it raises.

    Raises StuckError after ``limit_s``, saying that ``what`` took longer. The thread is left to itself,
    so ``action`` has to clear up when it comes back to find itself given up.
    """
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(action())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name=f"given {limit_s:g} s: {what}", daemon=True)
    thread.start()
    thread.join(limit_s)
    if errors:
        raise errors[0]
    if not results:
        raise StuckError(f"{what} took longer than {limit_s:g} s", thread)
    return results[0]
