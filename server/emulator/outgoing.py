"""The one place that writes to a client's socket, so that nobody who listens to it ever waits for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from server.emulator.mutate import Cut, Outgoing
from server.emulator.records import UtteranceRecord

MAX_WAITING_BYTES = 8 * 1024 * 1024
"""What may wait for a client that does not read; with more it is dropped."""
ENTRY_BYTES = 100
"""What a message costs beside its content."""
LAST_WORDS_S = 0.3
"""How long a closing connection may take to deliver what was written before."""


class OutgoingQueue:
    """Messages on their way to one client, in order."""

    def __init__(self, socket: ServerConnection) -> None:
        self._socket = socket
        self._waiting: deque[tuple[Outgoing, UtteranceRecord | None, bool]] = deque()
        self._waiting_bytes = 0
        self._wake = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    def put(self, message: Outgoing, record: UtteranceRecord | None = None, is_pcm: bool = False) -> None:
        """Queue a message without waiting; ``record`` is told when it leaves."""
        self._waiting_bytes += _size_bytes(message)
        if self._waiting_bytes > MAX_WAITING_BYTES:
            self._waiting.clear()
            if not self._socket.transport.is_closing():
                self._socket.transport.abort()
            return
        self._waiting.append((message, record, is_pcm))
        self._empty.clear()
        self._wake.set()

    async def drained(self) -> None:
        """Wait until the last message has been handed over; one that speaks waits here, packet by packet."""
        await self._empty.wait()

    async def run(self) -> None:
        """Send until a :class:`Cut` has been carried out or the client is gone."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._waiting:
                    message, record, is_pcm = self._waiting.popleft()
                    self._waiting_bytes -= _size_bytes(message)
                    if isinstance(message, Cut):
                        await self._cut(message.code)
                        return
                    if record is not None and isinstance(message, bytes):
                        (record.note_pcm if is_pcm else record.note_packet)(message)
                    await self._socket.send(message)
                self._empty.set()

    async def _cut(self, code: int) -> None:
        if code == 1005:
            await self._socket.close(None)  # type: ignore[arg-type]  # a close frame without a code
        elif code != 1006:
            await self._socket.close(code)
        else:
            # What was written still arrives, then the connection ends without a close frame.
            self._socket.transport.close()
            try:
                await asyncio.wait_for(self._socket.wait_closed(), LAST_WORDS_S)
            except asyncio.TimeoutError:
                self._socket.transport.abort()


def _size_bytes(message: Outgoing) -> int:
    return ENTRY_BYTES + (0 if isinstance(message, Cut) else len(message))
