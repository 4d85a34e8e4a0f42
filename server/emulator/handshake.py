"""Before a connection is one: plain HTTP answers, the key, and the statuses a scenario asks for."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from server.emulator.scenario import Scenario
from server.emulator.talkers import Talker

STREAM_PATH = "/v1/audio/speech/stream"


class Handshake:
    """Answers every HTTP request; ``None`` lets a WebSocket through.

    ``/health`` is open. Everything else needs ``Authorization: Bearer KEY`` if there is a key.
    """

    def __init__(self, talker: Talker, scenario: Callable[[], Scenario], api_key: str | None) -> None:
        self._talker = talker
        self._scenario = scenario
        self._expected = None if api_key is None else f"Bearer {api_key}".encode()
        self.refused = 0
        """WebSocket handshakes turned away, whatever the reason."""

    async def __call__(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer ``request``, or return ``None`` if its WebSocket is welcome."""
        path = request.path.partition("?")[0]
        if path == "/health":
            return connection.respond(HTTPStatus.OK, "")
        if path == STREAM_PATH:
            response = await self._stream(connection, request)
            self.refused += response is not None
            return response
        if not self._has_key(request):
            return self._unauthorized(connection)
        if path == "/v1/models":
            model = {"id": self._talker.model, "object": "model", "owned_by": "nearfield"}
            return _json(connection, {"object": "list", "data": [model]})
        if path == "/v1/audio/voices":
            return _json(connection, {"voices": list(self._talker.voices), "uploaded_voices": []})
        return connection.respond(HTTPStatus.NOT_FOUND, "Not Found\n")

    async def _stream(self, connection: ServerConnection, request: Request) -> Response | None:
        scenario = self._scenario()
        if scenario.handshake_delay_s:
            await asyncio.sleep(scenario.handshake_delay_s)
        limit = scenario.handshake_refusals
        if scenario.handshake_status is not None and (limit is None or self.refused < limit):
            return connection.respond(scenario.handshake_status, "refused by the scenario\n")
        return None if self._has_key(request) else self._unauthorized(connection)

    def _has_key(self, request: Request) -> bool:
        if self._expected is None:
            return True
        given = request.headers.get_all("Authorization")
        return len(given) == 1 and hmac.compare_digest(given[0].encode("utf-8", "replace"), self._expected)

    def _unauthorized(self, connection: ServerConnection) -> Response:
        response = connection.respond(HTTPStatus.UNAUTHORIZED, '{"error": "Unauthorized"}\n')
        response.headers["WWW-Authenticate"] = "Bearer"
        return response


def _json(connection: ServerConnection, body: dict[str, Any]) -> Response:
    response = connection.respond(HTTPStatus.OK, json.dumps(body))
    del response.headers["Content-Type"]
    response.headers["Content-Type"] = "application/json"
    return response
