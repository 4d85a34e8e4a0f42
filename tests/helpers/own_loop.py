"""A server in an event loop and thread of its own: it outlives the loop of a single test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

T = TypeVar("T")
WITHIN_S = 30.0


@contextmanager
def in_own_loop(opened: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Enter ``opened`` in a thread's loop, and leave it there at the end of the block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="server under test", daemon=True)
    thread.start()
    try:
        value = asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result(WITHIN_S)
        try:
            yield value
        finally:
            asyncio.run_coroutine_threadsafe(opened.__aexit__(None, None, None), loop).result(WITHIN_S)
            asyncio.run_coroutine_threadsafe(_end_tasks(), loop).result(WITHIN_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(WITHIN_S)
        loop.close()


async def _end_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
