"""Threads for calls that block, that nobody waits for at the end."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

_THREADS = 4


class Background(Executor):
    """Threads for calls that block: looking up a name, listing devices, writing a file.

    They are daemons, and closing does not wait for them: a name server that does not answer for a minute must
    not keep a window from quitting. What has not begun by then does not begin.
    """

    def __init__(self, threads: int = _THREADS) -> None:
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._most = threads
        self._threads: list[threading.Thread] = []
        self._idle = threading.Semaphore(0)
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have ``fn`` called in a thread."""
        if self._closed:
            raise RuntimeError("the background threads are closed")
        future: Future[Any] = Future()
        self._work.put((future, lambda: fn(*args, **kwargs)))
        if not self._idle.acquire(blocking=False) and len(self._threads) < self._most:
            name = f"background {len(self._threads)}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Let the threads end when they come back; waits for none of them, whatever ``wait`` says."""
        self._closed = True
        with contextlib.suppress(queue.Empty):
            while (item := self._work.get_nowait()) is not None:
                item[0].cancel()
        for _ in self._threads:
            self._work.put(None)

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            future, call = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:
                    future.set_exception(error)
            del item, future, call
            self._idle.release()
