"""Looks up names and dials, in a way that never holds up the end of the process.

asyncio looks names up in a pool of threads that it waits for when it closes, and so does the interpreter;
a resolver that is stuck would keep both. Here it is a daemon thread, one for each name at a time.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

Found = Sequence[tuple[Any, ...]]
"""What ``socket.getaddrinfo`` returns: family, kind, protocol, canonical name, socket address."""
Resolve = Callable[..., Found]
"""Looks up a host and a port as ``socket.getaddrinfo`` does, and may block for ever."""

_pending: dict[tuple[str, int], Future[Found]] = {}
"""A look-up that is stuck is waited for by all who come, or each would cost a thread."""


async def dial(host: str, port: int, limit_s: float, resolve: Resolve = socket.getaddrinfo) -> socket.socket:
    """Return a connected TCP socket that does not block.

    Raises:
        OSError: the name is not known, or nothing answers at any of its addresses.
        asyncio.TimeoutError: not in ``limit_s``.

    """
    return await _within(limit_s, _dial(host, port, resolve))


async def look_up(host: str, port: int, limit_s: float, resolve: Resolve = socket.getaddrinfo) -> Found:
    """Return the addresses of a name.

    Raises:
        OSError: the name is not known.
        asyncio.TimeoutError: not in ``limit_s``.

    """
    return await _within(limit_s, _look_up(host, port, resolve))


async def _dial(host: str, port: int, resolve: Resolve) -> socket.socket:
    loop, failures = asyncio.get_running_loop(), list[OSError]()
    for family, kind, protocol, _, where in await _look_up(host, port, resolve):
        dialled = socket.socket(family, kind, protocol)
        try:
            dialled.setblocking(False)
            await loop.sock_connect(dialled, where)
        except OSError as error:
            dialled.close()
            failures.append(error)
        except BaseException:
            dialled.close()
            raise
        else:
            return dialled
    if len(failures) == 1:
        raise failures[0]
    raise OSError("; ".join(str(failure) for failure in failures) or f"{host} has no address")


async def _look_up(host: str, port: int, resolve: Resolve) -> Found:
    key = (host, port)
    future = _pending.get(key)
    if future is None:
        future = _pending[key] = Future()
        future.set_running_or_notify_cancel()  # who stops waiting does not cancel it for the others
        thread = threading.Thread(
            target=_resolve, args=(key, future, resolve), name=f"looking up {host}", daemon=True
        )
        thread.start()
    return await asyncio.wrap_future(future)


def _resolve(key: tuple[str, int], future: Future[Found], resolve: Resolve) -> None:
    try:
        found = resolve(*key, type=socket.SOCK_STREAM)
    except BaseException as error:
        del _pending[key]
        future.set_exception(error)
    else:
        del _pending[key]
        future.set_result(found)


async def _within(limit_s: float, work: Coroutine[Any, Any, T]) -> T:
    # Not wait_for, which up to Python 3.11 may swallow a cancellation.
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=limit_s)
        if not task.done():
            raise asyncio.TimeoutError
        return task.result()
    except BaseException:
        task.cancel()
        task.add_done_callback(_discard)
        raise


def _discard(task: asyncio.Task[Any]) -> None:
    """Close what was dialled in the very moment in which it was given up."""
    if not task.cancelled() and task.exception() is None and isinstance(task.result(), socket.socket):
        task.result().close()
