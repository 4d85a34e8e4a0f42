"""The HTTP server on a free port, in front of a desk that the test plays; a client that speaks real HTTP.

Not realistic: the desk is fake unless a test brings another, and there is no engine for sound in answers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp

from app.config import Config, KioskConfig
from app.engine.engine import Engine
from app.headless.http.server import HttpServer
from tests.helpers.fake_desk import FakeDesk


def no_engine(config: Config) -> Engine:
    """Stand in where no sound is asked for."""
    raise AssertionError("no test here asks for sound")


@dataclass
class HttpRig:
    """What a test looks at."""

    desk: FakeDesk
    server: HttpServer
    client: aiohttp.ClientSession
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.server.url

    async def ask(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        """Return the status and the JSON of an answer."""
        headers = {**self.headers, **more.pop("headers", {})}
        async with self.client.request(method, self.url + path, headers=headers, **more) as answer:
            assert answer.content_type == "application/json", (answer.status, await answer.text())
            return answer.status, await answer.json()

    async def post(self, path: str, **more: Any) -> tuple[int, Any]:
        return await self.ask("POST", path, **more)

    async def get(self, path: str, **more: Any) -> tuple[int, Any]:
        return await self.ask("GET", path, **more)


@asynccontextmanager
async def http_rig(
    desk: FakeDesk | None = None,
    make_unheard: Callable[[Config], Engine] = no_engine,
    **kiosk: Any,
) -> AsyncIterator[HttpRig]:
    """Run the server until the block ends; ``kiosk`` are fields of its configuration."""
    desk = desk or FakeDesk()
    settings = {"http_port": 0, **kiosk}
    desk.config = replace(desk.config, kiosk=replace(desk.config.kiosk or KioskConfig(), **settings))
    server = HttpServer(desk, make_unheard)  # type: ignore[arg-type]
    await server.start()
    try:
        # Each request has a connection of its own: a server that is closed waits for none that is idle.
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as client:
            yield HttpRig(desk, server, client)
    finally:
        await server.aclose()
