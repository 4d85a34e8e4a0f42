"""Work that may block for long, or for ever, away from the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def start(
    name: str, work: Callable[[], _T], loop: asyncio.AbstractEventLoop
) -> tuple[asyncio.Future[_T], threading.Thread]:
    """Run ``work`` in a thread of its own; the future gets what it returns or raises, in the event loop.

    The thread is a daemon: what hangs in it holds up nothing, not even the end of the program.
    """
    answer: asyncio.Future[_T] = loop.create_future()

    def tell(result: list[_T], failure: Exception | None) -> None:
        if answer.done():  # nobody waits any more
            return
        if failure is not None:
            answer.set_exception(failure)
        else:
            answer.set_result(result[0])

    def run() -> None:
        result: list[_T] = []
        failure = None
        try:
            result.append(work())
        except Exception as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(tell, result, failure)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return answer, thread


async def in_thread(name: str, work: Callable[[], _T]) -> _T:
    """Return what ``work`` returns, done in a thread; cancelling leaves that to itself."""
    return await start(name, work, asyncio.get_running_loop())[0]
