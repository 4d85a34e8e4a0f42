"""Waiting with a limit, in tasks that others cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def within(limit_s: float | None, work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` does; it is cancelled if it takes longer, or if this is.

    Without a limit, ``None``, it takes as long as it takes.

    Before Python 3.12, ``asyncio.wait_for`` swallows a cancellation that comes in the same turn of the loop
    as the work's end: a task that loops around it then never ends.

    Raises:
        asyncio.TimeoutError: it took longer.

    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=limit_s)
        if not done:
            raise asyncio.TimeoutError
        return task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
