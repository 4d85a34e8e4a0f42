"""What can be looked at: status, voices, events, health, numbers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from app.config import ServerConfig
from app.desk.desk import Desk
from app.headless.http.door import dropper, json_answer
from app.headless.http.faults import Fault
from app.headless.http.feed import Feed, Told
from app.headless.http.guard import Guard
from app.headless.http.health import Health
from app.headless.http.live import Live
from app.headless.http.metrics import CONTENT_TYPE, Metrics
from app.headless.http.told import status_of
from app.session.address import server_address
from app.session.voices import VoiceServer
from app.within import within

KEEP_ALIVE_S = 15.0
"""Between comments that keep proxies from closing a silent stream of events."""
MOST_READERS = 64
COME_BACK_MS = 2000
VOICES_FRESH_S = 30.0
_BUSY_S = 30.0


class Looks:
    """Answers that change nothing."""

    def __init__(
        self,
        desk: Desk,
        feed: Feed,
        metrics: Metrics,
        guard: Guard,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._desk = desk
        self._feed = feed
        self._metrics = metrics
        self._guard = guard
        self._clock = clock
        self._live = Live()
        self._health = Health(desk, clock)
        self._voices: tuple[ServerConfig, float, dict[str, Any]] | None = None
        self._leave = desk.watch(self._live.observe)

    async def status(self, request: web.Request) -> web.Response:
        """Tell all that is known at this instant."""
        return json_answer(status_of(self._desk.status(), self._live.progress))

    async def voices(self, request: web.Request) -> web.Response:
        """List the server's voices, as they were half a minute ago at most."""
        config = self._desk.config
        if self._voices is not None:
            asked, at_s, body = self._voices
            if asked == config.server and self._clock() - at_s < VOICES_FRESH_S:
                return json_answer({**body, "configured": config.voice.name or None})
        server = config.server
        address = server_address(
            server.url, server.api_key, server.ca_file, server.allow_insecure_key, server.connect_timeout_s
        )
        found = await VoiceServer(address).list()
        body = {
            "voices": list(found.speakers),
            "uploaded": [voice.name for voice in found.uploaded],
        }
        self._voices = (server, self._clock(), body)
        return json_answer({**body, "configured": config.voice.name or None})

    async def healthz(self, request: web.Request) -> web.Response:
        """Say whether a text would be heard now."""
        return self._verdict(request, await self._health.why_mute())

    async def readyz(self, request: web.Request) -> web.Response:
        """Say whether texts are taken."""
        return self._verdict(request, self._health.why_not_ready())

    async def metrics(self, request: web.Request) -> web.Response:
        """Return the numbers."""
        return web.Response(body=self._metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Tell what happens as it happens; who comes back is told what was missed."""
        if self._feed.readers >= MOST_READERS:
            raise Fault(
                429, "too_many_readers", f"{self._feed.readers} read the events already",
                "close one of them", retry_after_s=_BUSY_S,
            )  # fmt: skip
        with self._feed.reader(dropper(request), after=self._last_seen(request)) as reader:
            response = web.StreamResponse(
                headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}
            )
            await response.prepare(request)
            await response.write(f"retry: {COME_BACK_MS}\n\n".encode())
            while True:
                try:
                    told = await within(KEEP_ALIVE_S, reader.next())
                except asyncio.TimeoutError:
                    await response.write(b": still here\n\n")
                    continue
                if told is None:
                    return response
                await response.write(self._as_event(told))

    def close(self) -> None:
        """Follow the desk no longer."""
        self._leave()

    # -- inside -----------------------------------------------------------------------------------------

    def _verdict(self, request: web.Request, reasons: tuple[str, ...]) -> web.Response:
        body: dict[str, Any] = {"ok": not reasons}
        # Whoever has no token is told no more than whether it is well.
        if not self._guard.token or self._guard.knows(request.headers.get("Authorization")):
            body["reasons"] = list(reasons)
        return json_answer(body, 503 if reasons else 200)

    def _last_seen(self, request: web.Request) -> int | None:
        boot, _, number = request.headers.get("Last-Event-ID", "").partition("-")
        if not (boot and number.isascii() and number.isdecimal() and len(number) < 18):
            return None
        # After a restart all that is remembered is new.
        return int(number) if boot == self._feed.boot else 0

    def _as_event(self, told: Told) -> bytes:
        body = msgspec.json.encode(told.body).decode()
        return f"id: {self._feed.boot}-{told.number}\nevent: {told.name}\ndata: {body}\n\n".encode()
