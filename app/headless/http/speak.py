"""``POST /speak`` and the WebSocket ``/speak/stream``: texts for the loudspeaker, whole or in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from aiohttp import WSCloseCode, web

from app.desk.desk import Desk
from app.desk.events import Failed, Finished, Interrupted
from app.desk.ticket import Final, Ticket
from app.headless.http import bodies
from app.headless.http.asking import JSON_FIELDS, QUERY_FIELDS, STREAM, TEXT, request_of
from app.headless.http.conversation import Conversation
from app.headless.http.door import dropper, json_answer
from app.headless.http.faults import Fault
from app.headless.http.feed import Feed
from app.headless.http.fields import read_json, read_query

PING_S = 20.0


class Speak:
    """Hands texts to the desk."""

    def __init__(self, desk: Desk, feed: Feed) -> None:
        self._desk = desk
        self._feed = feed
        self._sockets: set[web.WebSocketResponse] = set()

    async def post(self, request: web.Request) -> web.Response:
        """Take a text, whole or, with ``stream=1``, in pieces."""
        limit = self._desk.config.kiosk.request_bytes
        match request.content_type:
            case "application/json":
                read_query(request.query, ())
                given = read_json(await bodies.whole(request, limit), JSON_FIELDS)
                ticket = self._desk.speak(request_of(given))
            case "text/plain":
                given = read_query(request.query, QUERY_FIELDS)
                if given.pop(STREAM.name, False):
                    return await self._post_pieces(request, given, limit)
                text = bodies.as_text(request, await bodies.whole(request, limit))
                ticket = self._desk.speak(request_of({**given, TEXT.name: text}))
            case other:
                raise Fault(
                    415, "wrong_type", f"a body of type {other[:60]!r} is not read",
                    "send JSON with Content-Type: application/json, or the text alone with text/plain",
                )  # fmt: skip
        return json_answer({"id": ticket.id}, 202)

    async def socket(self, request: web.Request) -> web.WebSocketResponse:
        """Take a text in pieces over a WebSocket, and tell there what becomes of it."""
        if request.headers.get("Upgrade", "").lower() != "websocket":
            raise Fault(426, "no_websocket", "this is for WebSockets", "send whole texts to POST /speak")
        read_query(request.query, ())
        limit = self._desk.config.kiosk.request_bytes
        socket = web.WebSocketResponse(heartbeat=PING_S, max_msg_size=limit, compress=False)
        await socket.prepare(request)
        self._sockets.add(socket)
        try:
            await Conversation(self._desk, self._feed, socket, dropper(request)).run()
        finally:
            self._sockets.discard(socket)
        return socket

    async def aclose(self) -> None:
        """End all conversations."""
        for socket in tuple(self._sockets):
            await socket.close(code=WSCloseCode.GOING_AWAY)

    async def _post_pieces(self, request: web.Request, given: Mapping[str, Any], limit: int) -> web.Response:
        pieces = self._desk.open(request_of(given))
        try:
            async with aclosing(bodies.texts(request, limit)) as texts:
                while text := await _unless_over(pieces.ticket, texts):
                    pieces.write(text)
            pieces.close()
        except BaseException:
            pieces.abort()
            raise
        return json_answer({"id": pieces.ticket.id}, 202)


async def _unless_over(ticket: Ticket, texts: AsyncGenerator[str, None]) -> str:
    """Return the next text, nothing at the end; raises Fault if the request ends before that."""
    coming = asyncio.ensure_future(anext(texts, ""))
    either: set[asyncio.Future[Any]] = {coming, ticket.done}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if coming.done():
            return coming.result()
        raise _ended(ticket.done.result())
    finally:
        if not coming.done():
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)


def _ended(event: Final) -> Fault:
    match event:
        case Interrupted():
            how = f"interrupted: {event.why}"
        case Failed():
            how = f"failed: {event.reason}"
        case Finished():
            how = "finished"
    return Fault(409, "over", f"the request ended while its text came ({how})", "send it again", closes=True)
