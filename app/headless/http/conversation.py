"""A WebSocket with one request: pieces of its text in, what becomes of it out.

::

    client: {"text": "Once upon", "voice": "vivian"}   the first message may have the fields of POST /speak
            {"text": " a time."}   …   {"end": true}
    server: {"event": "queued", "id": …} … {"event": "finished", "id": …, "played_ms": …}, then it closes

Who leaves before ``end`` takes the text back: it ends at once. After ``end`` it is spoken, whoever is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import WSCloseCode, WSMessage, WSMsgType, web

from app.desk.desk import Desk
from app.desk.pieces import Pieces
from app.errors import NearfieldError
from app.headless.http.asking import FIRST_MESSAGE_FIELDS, MESSAGE_FIELDS, request_of
from app.headless.http.bodies import PIECE_S, WHOLE_S
from app.headless.http.faults import Fault, fault_of
from app.headless.http.feed import Feed, Reader
from app.headless.http.fields import read_json

_CLOSED_BY_CLIENT = (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR)


class Conversation:
    """Made for each WebSocket, and over with it."""

    def __init__(
        self, desk: Desk, feed: Feed, socket: web.WebSocketResponse, drop: Callable[[], None]
    ) -> None:
        """``drop`` ends the connection at once: the client does not keep up."""
        self._desk = desk
        self._feed = feed
        self._socket = socket
        self._drop = drop
        self._pieces: Pieces | None = None
        self._has_ended = False

    async def run(self) -> None:
        """Talk until the request is over, or the client is gone."""
        code = WSCloseCode.OK
        try:
            await self._talk()
        except (Fault, NearfieldError) as error:
            code = WSCloseCode.POLICY_VIOLATION
            with contextlib.suppress(ConnectionError):
                await self._send(fault_of(error).body())
        finally:
            if self._pieces is not None and not self._has_ended:
                self._pieces.abort()
            await self._socket.close(code=code)

    # -- inside -----------------------------------------------------------------------------------------

    async def _talk(self) -> None:
        given = await self._receive(WHOLE_S, is_first=True)
        if given is None:
            return
        text, ends = given.pop("text", ""), given.pop("end", False)
        name = given.pop("id", "") or f"ws-{secrets.token_hex(6)}"
        with self._feed.reader(self._drop, only_id=name) as reader:
            self._pieces = self._desk.open(request_of({**given, "id": name}))
            telling = asyncio.create_task(self._tell(reader))
            try:
                await self._take(self._pieces, text, ends)
                if self._has_ended:
                    # Nothing more is expected; that the client leaves is noticed all the same.
                    await self._receive(None)
            finally:
                telling.cancel()
                await asyncio.gather(telling, return_exceptions=True)

    async def _take(self, pieces: Pieces, text: str, ends: bool) -> None:
        while True:
            pieces.write(text)
            if ends:
                self._has_ended = True
                pieces.close()
                return
            given = await self._receive(PIECE_S)
            if given is None:
                return
            text, ends = given.get("text", ""), given.get("end", False)

    async def _tell(self, reader: Reader) -> None:
        """Pass the request's events on, and close after the last."""
        while (told := await reader.next()) is not None:
            await self._send({"event": told.name, **told.body})
            if told.is_last:
                break
        await self._socket.close(code=WSCloseCode.OK)

    async def _receive(self, within_s: float | None, is_first: bool = False) -> dict[str, Any] | None:
        """Return the fields of the next message, ``None`` if the client is gone; raises Fault."""
        try:
            message: WSMessage = await self._socket.receive(within_s)
        except asyncio.TimeoutError:
            raise Fault(408, "too_slow", "no text came in time", "send it faster, or end it") from None
        if message.type in _CLOSED_BY_CLIENT:
            return None
        if message.type is not WSMsgType.TEXT:
            raise Fault(415, "wrong_type", "only text messages are read", 'send {"text": …}')
        if self._has_ended:
            raise Fault(409, "over", "the text has ended", "open another WebSocket for the next")
        fields = FIRST_MESSAGE_FIELDS if is_first else MESSAGE_FIELDS
        return read_json(str(message.data).encode("utf-8", "replace"), fields)

    async def _send(self, body: dict[str, Any]) -> None:
        await self._socket.send_str(msgspec.json.encode(body).decode())
