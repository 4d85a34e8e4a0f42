"""The server: joins the parts, listens, and closes in good order."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable
from typing import Any

from aiohttp import web

from app.config import Config
from app.desk.desk import Desk
from app.engine.engine import Engine
from app.errors import ConfigError
from app.headless.booths import Booths
from app.headless.http.control import Control
from app.headless.http.door import Door, answer_of, json_answer
from app.headless.http.encoders import known_formats
from app.headless.http.faults import Fault, unexpected
from app.headless.http.feed import Feed
from app.headless.http.guard import Guard, require_safe
from app.headless.http.looks import Looks
from app.headless.http.metrics import Metrics
from app.headless.http.openapi import description
from app.headless.http.page import Page
from app.headless.http.routes import Route, api_routes, page_routes
from app.headless.http.speak import Speak
from app.headless.http.speech import Speech

log = logging.getLogger("nearfield.http")

IDLE_CONNECTION_S = 75.0
"""How long a connection may be open without a request, or take to send the head of one."""
LINGER_S = 2.0
"""How long the rest of a refused body is read, so that its sender sees the answer."""
SHUTDOWN_S = 0.25
"""How long answers may take to end by themselves once the server closes; then they are cut off."""
BACKLOG = 64
MOST_CONNECTIONS = 256
"""Further ones are closed at once."""


class HttpServer:
    """Made once, started once, closed once; all of it in the event loop."""

    def __init__(self, desk: Desk, make_unheard: Callable[[Config], Engine]) -> None:
        """``make_unheard`` makes an engine whose sound goes to sinks only, as fast as it is made.

        Raises:
            ConfigError: it would listen where others can ask, without a token.

        """
        kiosk = desk.config.kiosk
        require_safe(kiosk)
        self._desk = desk
        self._host, self._port = kiosk.http_host, kiosk.http_port
        self._guard = Guard.of(kiosk)
        self._per_minute = kiosk.rate_per_minute
        self._speech_chars = kiosk.speech_chars
        self._feed = Feed(desk)
        self._metrics = Metrics(desk)
        self._booths = Booths(lambda config: self._watched(make_unheard(config)), lambda: desk.config)
        self._speak = Speak(desk, self._feed)
        self._looks = Looks(desk, self._feed, self._metrics, self._guard)
        self._runner: web.AppRunner | None = None
        self._listener: asyncio.Server | None = None
        self._address: tuple[str, int] | None = None
        self._is_closed = False

    @property
    def url(self) -> str:
        """Where it listens, once it does."""
        assert self._address is not None, "it is started first"
        host, port = self._address
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def readers(self) -> int:
        """How many read the events now, WebSockets included."""
        return self._feed.readers

    @property
    def connections(self) -> int:
        """How many connections there are."""
        server = None if self._runner is None else self._runner.server
        return 0 if server is None else len(server.connections)

    @property
    def speech_waiting(self) -> int:
        """How many requests for sound wait for their turn."""
        return self._booths.waiting

    async def start(self) -> None:
        """Listen.

        Raises:
            ConfigError: the address cannot be listened at.

        """
        self._runner = web.AppRunner(
            await self._application(), handle_signals=False, access_log=None, shutdown_timeout=SHUTDOWN_S,
            handler_cancellation=True,
        )  # fmt: skip
        await self._runner.setup()
        server = self._runner.server
        assert server is not None, "the runner was set up"
        loop = asyncio.get_running_loop()
        try:
            self._listener = await loop.create_server(
                lambda: _Protocol(server, loop), self._host, self._port, backlog=BACKLOG
            )
        except OSError as error:
            await self.aclose()
            where = f"{self._host}:{self._port}"
            in_use = error.errno == errno.EADDRINUSE
            step = (
                "another program has it; end that, or set kiosk.http_port"
                if in_use
                else "see kiosk.http_host"
            )
            raise ConfigError(f"cannot listen at {where} ({error.strerror or error}): {step}") from None
        host, port = self._listener.sockets[0].getsockname()[:2]
        self._address = (host, port)
        log.info("listening at %s", self.url)

    async def aclose(self) -> None:
        """Take no more requests, end those that are answered, and close, within two seconds; repeatable."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._listener is not None:
            self._listener.close()
        self._feed.close()
        self._metrics.close()
        self._looks.close()
        await self._speak.aclose()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._listener is not None:
            await self._listener.wait_closed()
        await self._booths.aclose()

    # -- inside -----------------------------------------------------------------------------------------

    async def _application(self) -> web.Application:
        formats = await asyncio.to_thread(known_formats)
        page = page_routes(await asyncio.to_thread(Page))
        speech = Speech(self._booths, lambda: self._desk.config, formats)
        api = api_routes(self._speak, Control(self._desk), self._looks, speech, formats, self._speech_chars)
        described: dict[str, Any] = {}

        async def describe(request: web.Request) -> web.Response:
            return json_answer(described)

        own = Route("GET", "/openapi.json", describe, "This description.", ((200, "It."),), is_open=True)
        routes = (*api, own, *page)
        described.update(description(routes, bool(self._guard.token)))
        door = Door(
            self._guard,
            self._per_minute,
            open_paths=frozenset(route.path for route in routes if route.is_open),
            counted=frozenset(route.path for route in routes if route.is_counted),
            paths=tuple(sorted({route.path for route in (*api, own)})),
        )

        @web.middleware
        async def through_the_door(request: web.Request, handler: Any) -> web.StreamResponse:
            return await door.handle(request, handler)

        application = web.Application(middlewares=[through_the_door], client_max_size=0)
        application.on_response_prepare.append(door.prepare)
        for route in routes:
            application.router.add_route(route.method, route.path, route.handler)
            if route.is_open:  # what watches over a service often asks for the head alone
                application.router.add_route("HEAD", route.path, route.handler)
        return application

    def observe_unheard(self, event: object) -> None:
        """Count what an engine tells that nobody hears here, as other sources have them."""
        self._metrics.observe_unheard(event)

    def _watched(self, engine: Engine) -> Engine:
        engine.subscribe(self.observe_unheard)
        return engine


class _Protocol(web.RequestHandler):
    """A connection; what is no HTTP is answered like any other error, and briefly logged."""

    __slots__ = ("_server",)

    def __init__(self, server: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=IDLE_CONNECTION_S,
            lingering_time=LINGER_S,
            auto_decompress=False,
            logger=log,
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection, or close it at once if there are too many."""
        super().connection_made(transport)
        if len(self._server.connections) > MOST_CONNECTIONS:
            log.warning("more than %d connections: one is closed", MOST_CONNECTIONS)
            self.force_close()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what could not be read as a request, or a handler's failure that the door did not see."""
        if isinstance(exc, ConnectionError):
            raise ConnectionError("the caller has gone") from exc
        if status == 400:
            log.info("%s sent what is no HTTP request", request.remote)
            fault = Fault(400, "bad_http", "that is no HTTP request", "speak HTTP/1.1 here", closes=True)
        else:
            log.error("a request failed in an unexpected way", exc_info=exc)
            fault = unexpected()
            fault.closes = True
        if request.writer.output_size > 0:
            raise ConnectionError("a part of the answer has been sent already")
        return answer_of(request, fault)
