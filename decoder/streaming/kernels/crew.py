"""Threads that go through a stretch of layers side by side, each with rows of its own.

One operation on several threads is worth waking them only if it is long (see ``team``). Here they are woken
once for a whole upsampling block: each takes its part of the rows through all layers, one thread to an
operation, and waits for the others only where a layer looks at rows that are not its own.
"""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable

import torch

from decoder.streaming.kernels.team import Alone
from decoder.streaming.threads import prepare_decode_thread

Meet = Callable[[], object]
"""Returns when all parts have come here."""
Work = Callable[[int, Meet], None]
"""Does one part of some work: its number from 0, and how it waits for the others."""


class Crew:
    """The calling thread and as many helpers as are asked for, which start when they are first needed.

    They end with the crew. One piece of work at a time.
    """

    def __init__(self) -> None:
        self._helpers: list[_Helper] = []

    def run(self, work: Work, parts: int) -> None:
        """Return when all ``parts`` are done.

        Raises:
            BaseException: the first that a part raised. The others are told at their next meeting. When
                this returns nobody works on, even if the calling thread was interrupted (Ctrl-C).

        """
        if parts == 1:
            work(0, _nobody_else)
            return
        while len(self._helpers) < parts - 1:
            self._helpers.append(_Helper())
        barrier = threading.Barrier(parts)
        working = self._helpers[: parts - 1]
        errors: list[BaseException | None] = []
        try:
            for number, helper in enumerate(working, start=1):
                helper.begin(work, number, barrier)
            try:
                with Alone():
                    _do(work, 0, barrier)
            except Exception as error:
                errors.append(error)
            errors += [helper.wait() for helper in working]
        except BaseException:
            # Interrupted anywhere: who has begun and whose result is still to come cannot be known.
            barrier.abort()
            self._dismiss()
            raise
        raised = [error for error in errors if error is not None]
        if raised:
            # A broken barrier is what a part sees of another one's error.
            raise next(
                (error for error in raised if not isinstance(error, threading.BrokenBarrierError)), raised[0]
            )

    def _dismiss(self) -> None:
        """Return when no helper works any more; others start with the next work."""
        helpers, self._helpers = self._helpers, []
        for helper in helpers:
            helper.end()


class _Helper:
    """A thread that waits for work."""

    def __init__(self) -> None:
        self._orders: queue.SimpleQueue[tuple[Work, int, threading.Barrier] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        # At the interpreter's exit it may sleep on: there may still be somebody who decodes.
        weakref.finalize(self, self._orders.put, None).atexit = False
        arguments = (self._orders, self._results)
        self._thread = threading.Thread(target=_serve, args=arguments, name="decode-helper", daemon=True)
        self._thread.start()

    def begin(self, work: Work, number: int, barrier: threading.Barrier) -> None:
        self._orders.put((work, number, barrier))

    def wait(self) -> BaseException | None:
        return self._results.get()

    def end(self) -> None:
        self._orders.put(None)
        self._thread.join()


def _serve(
    orders: queue.SimpleQueue[tuple[Work, int, threading.Barrier] | None],
    results: queue.SimpleQueue[BaseException | None],
) -> None:
    prepare_decode_thread(1)
    while (order := orders.get()) is not None:
        result = _result(*order)
        del order  # what it and an error refer to, the crew included, may end while this waits
        results.put(result)
        del result


def _result(work: Work, number: int, barrier: threading.Barrier) -> BaseException | None:
    try:
        with torch.inference_mode():
            _do(work, number, barrier)
    except BaseException as error:
        return error
    return None


def _do(work: Work, number: int, barrier: threading.Barrier) -> None:
    try:
        work(number, barrier.wait)
    except BaseException:
        barrier.abort()
        raise


def _nobody_else() -> None:
    pass
