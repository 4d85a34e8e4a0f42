from __future__ import annotations

import asyncio
import socket
from dataclasses import replace

import aiohttp
import pytest

from app.config import Config, KioskConfig
from app.errors import ConfigError
from app.headless.http import server as http_server
from app.headless.http.server import HttpServer
from tests.helpers.fake_desk import FakeDesk
from tests.helpers.http_rig import http_rig, no_engine
from tests.helpers.waiting import eventually


def server_with(**kiosk: object) -> HttpServer:
    config = replace(Config(), kiosk=replace(KioskConfig(), **kiosk))  # type: ignore[arg-type]
    return HttpServer(FakeDesk(config), no_engine)  # type: ignore[arg-type]


def test_it_refuses_to_be_made_where_others_could_ask_without_a_token() -> None:
    with pytest.raises(ConfigError, match="NEARFIELD_KIOSK_HTTP_TOKEN"):
        server_with(http_host="0.0.0.0")


async def test_a_port_that_is_taken_is_named_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"127\.0\.0\.1:{port} .*set kiosk\.http_port"):
            await server_with(http_port=port).start()


async def test_an_address_that_is_not_ours_is_named() -> None:
    with pytest.raises(ConfigError, match=r"192\.0\.2\.1"):
        await server_with(http_host="192.0.2.1", http_token="sesame", http_port=0).start()


async def test_an_open_address_with_a_token_is_served() -> None:
    async with http_rig(http_host="0.0.0.0", http_token="sesame") as rig:
        url = rig.url.replace("0.0.0.0", "127.0.0.1")
        async with rig.client.get(url + "/status", headers={"Authorization": "Bearer sesame"}) as answer:
            assert answer.status == 200


async def test_a_closed_server_ends_what_it_was_answering_and_lets_go_of_everything() -> None:
    desk = FakeDesk()
    async with http_rig(desk) as rig:
        async with rig.client.get(rig.url + "/events") as answer:
            await asyncio.wait_for(rig.server.aclose(), 5)
            await asyncio.wait_for(answer.content.read(), 5)
        with pytest.raises(aiohttp.ClientError):
            await rig.client.get(rig.url + "/status")
    assert not desk.watchers


async def test_a_connection_without_a_request_does_not_hold_up_the_end() -> None:
    async with http_rig() as rig:
        host, _, port = rig.url.removeprefix("http://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        await asyncio.wait_for(rig.server.aclose(), 5)
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
        await writer.wait_closed()


async def test_the_head_alone_may_be_asked_for_where_no_token_is_needed() -> None:
    async with http_rig() as rig:
        for path in ("/healthz", "/readyz", "/"):
            async with rig.client.head(rig.url + path) as answer:
                assert (answer.status, await answer.read()) == (200, b"")


async def test_so_many_connections_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 3)
    async with http_rig() as rig:
        host, _, port = rig.url.removeprefix("http://").rpartition(":")
        held = [await asyncio.open_connection(host, int(port)) for _ in range(3)]
        reader, writer = await asyncio.open_connection(host, int(port))
        assert await asyncio.wait_for(reader.read(), 5) == b"", "the fourth is closed"
        for each in (writer, *(writer for _, writer in held)):
            each.close()
            await asyncio.gather(each.wait_closed(), return_exceptions=True)
        await eventually(lambda: rig.server.connections == 0)
        assert (await rig.get("/status"))[0] == 200


async def test_the_head_of_a_request_has_its_time_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "IDLE_CONNECTION_S", 0.1)
    async with http_rig() as rig:
        host, _, port = rig.url.removeprefix("http://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /status HTTP/1.1\r\nHost: local")
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
        await writer.wait_closed()
