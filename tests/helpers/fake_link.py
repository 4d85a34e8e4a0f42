"""A link without a network: what is sent is kept, what is received is put in by the test.

Not realistic: it has no size limit, no pings and no delay, and a message put in arrives whole.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any


class FakeLink:
    def __init__(self, reason: str = "bye (code 1000)", *, trying_again_helps: bool = True) -> None:
        self._inbox: asyncio.Queue[str | bytes | Exception | None] = asyncio.Queue()
        self.sent: list[dict[str, Any]] = []
        self.close_reason = reason
        self.trying_again_helps = trying_again_helps
        self.is_closed = False
        self.readers = 0
        self.fails_to_send: Exception | None = None
        self.holds_back: asyncio.Event | None = None
        """While it is there and not set, nothing can be sent."""
        self.never_closes = False
        self.fails_to_close: Exception | None = None

    @property
    def types(self) -> list[str]:
        return [message["type"] for message in self.sent]

    def bring(self, message: dict[str, Any] | bytes | Exception | None) -> None:
        """Have the next ``receive`` return ``message``, ``None`` for the end, or raise it."""
        self._inbox.put_nowait(json.dumps(message) if isinstance(message, dict) else message)

    async def send(self, text: str) -> None:
        if self.holds_back is not None:
            await self.holds_back.wait()
        if self.fails_to_send is not None:
            raise self.fails_to_send
        self.sent.append(json.loads(text))

    async def receive(self) -> str | bytes | None:
        self.readers += 1
        assert self.readers == 1, "one reader"
        try:
            message = await self._inbox.get()
        finally:
            self.readers -= 1
        if isinstance(message, Exception):
            raise message
        return message

    async def close(self) -> None:
        self.is_closed = True
        if self.fails_to_close is not None:
            raise self.fails_to_close
        if self.never_closes:
            await asyncio.sleep(3600)
        self.bring(None)
