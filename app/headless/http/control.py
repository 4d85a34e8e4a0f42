"""What is done to the sound besides having more of it: stop, pause, resume."""

from __future__ import annotations

from aiohttp import web

from app.desk.desk import Desk
from app.headless.http import bodies
from app.headless.http.door import json_answer
from app.headless.http.faults import Fault
from app.headless.http.fields import Field, Kind, read_json, read_query

ID = Field("id", Kind.TEXT, "The request to end; left out: all of them.", least=1, most=200)
STOP_FIELDS = (ID,)
_SMALL_BYTES = 4096


class Control:
    """Passes intents on to the desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def stop(self, request: web.Request) -> web.Response:
        """End one request, named in the query or in a JSON body, or all of them."""
        given = read_query(request.query, STOP_FIELDS)
        if body := await bodies.whole(request, _SMALL_BYTES):
            given = {**given, **read_json(body, STOP_FIELDS)}
        name = given.get(ID.name)
        stopped = self._desk.stop(name)
        if name is not None and not stopped:
            raise Fault(
                404, "no_such_request", f"no request {name[:100]!r} waits or is heard",
                "it may be over; GET /status says what is there", param=ID.name,
            )  # fmt: skip
        return json_answer({"stopped": stopped})

    async def pause(self, request: web.Request) -> web.Response:
        """Hold the sound."""
        await self._nothing_asked(request)
        self._desk.pause()
        return json_answer({"paused": True})

    async def resume(self, request: web.Request) -> web.Response:
        """Go on."""
        await self._nothing_asked(request)
        self._desk.resume()
        return json_answer({"paused": False})

    async def _nothing_asked(self, request: web.Request) -> None:
        read_query(request.query, ())
        if body := await bodies.whole(request, _SMALL_BYTES):
            read_json(body, ())
