"""Everything that leaves on one connection, in order, by one task."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

ABNORMAL = 1006
"""The "code" of a connection that ends without a close frame."""


@dataclass(frozen=True)
class Cut:
    """The end of the connection, after what was put before it."""

    code: int


class Outgoing:
    """Messages on their way to one client."""

    def __init__(self, websocket: Any) -> None:
        self._websocket = websocket
        self._queue: asyncio.Queue[str | bytes | Cut] = asyncio.Queue()

    def put(self, message: str | bytes | Cut) -> None:
        """Send ``message`` after all before it."""
        self._queue.put_nowait(message)

    @property
    def waiting(self) -> int:
        """Messages that have not left."""
        return self._queue.qsize()

    async def drained(self) -> None:
        """Return when all that was put has been handed to the socket, and the socket is not full."""
        await self._queue.join()

    async def run(self) -> None:
        """Send until the connection is cut; a client that is gone raises what the server raises for it."""
        while True:
            message = await self._queue.get()
            if isinstance(message, Cut):
                # Returning from the handler without a close frame is what drops the connection.
                if message.code != ABNORMAL:
                    await self._websocket.close(message.code)
                return
            if isinstance(message, str):
                await self._websocket.send_text(message)
            else:
                await self._websocket.send_bytes(message)
            self._queue.task_done()
