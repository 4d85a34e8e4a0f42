"""Real links to real servers on the loopback interface, and the words for every way they fail."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from dataclasses import replace
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve

from app.errors import ConfigError, Refused, Unreachable
from app.session import link as link_module
from app.session.address import STREAM_PATH, ServerAddress, server_address
from app.session.link import open_link
from decoder.wire.messages import MAX_MESSAGE_BYTES
from decoder.wire.packets import Flags, pack
from server.emulator import Emulator, Scenario, SyntheticTalker
from tests.helpers.fake_decoder import frames
from tests.helpers.servers import Relay, answering, certificate, hangs_up, silent, tcp_server


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


def at(port: int, host: str = "127.0.0.1", scheme: str = "ws") -> ServerAddress:
    return server_address(f"{scheme}://{host}:{port}", open_timeout_s=5.0)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    made = certificate(tmp_path_factory.mktemp("tls"))
    if made is None:
        pytest.skip("there is no openssl command to make a certificate with")
    return made


# -- what goes well -------------------------------------------------------------------------------------


async def test_a_link_carries_text_and_bytes_both_ways_and_closes_cleanly() -> None:
    heard: list[str | bytes] = []

    async def echo(connection: ServerConnection) -> None:
        async for message in connection:
            heard.append(message)
            await connection.send(message)
            await connection.send(b"\x01\x02")

    async with serve(echo, "127.0.0.1", 0) as server:
        link = await open_link(at(server.sockets[0].getsockname()[1]))
        await link.send("grüß dich")
        assert [await link.receive(), await link.receive()] == ["grüß dich", b"\x01\x02"]
        await link.close()
        assert await link.receive() is None
        await link.send("into the void")
    assert heard == ["grüß dich"]


async def test_the_handshake_has_the_key_and_the_name_and_offers_no_compression() -> None:
    headers: dict[str, str] = {}

    async def note(connection: ServerConnection) -> None:
        assert connection.request is not None
        headers.update(connection.request.headers.raw_items())

    async with serve(note, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        link = await open_link(replace(at(port), api_key="sesame"))
        await link.receive()
        await link.close()
    assert headers["Authorization"] == "Bearer sesame"
    assert headers["User-Agent"].startswith("nearfield/")
    assert "Sec-WebSocket-Extensions" not in headers


async def test_the_largest_packet_passes_and_a_larger_message_is_one_clear_error() -> None:
    largest = pack(0, frames(1, 65_535), Flags.EOS)
    assert 2**20 < len(largest) < MAX_MESSAGE_BYTES

    async def send(connection: ServerConnection) -> None:
        await connection.send(largest)
        await connection.send(bytes(MAX_MESSAGE_BYTES))
        await connection.send(bytes(MAX_MESSAGE_BYTES + 1))
        await connection.wait_closed()

    async with serve(send, "127.0.0.1", 0) as server:
        link = await open_link(at(server.sockets[0].getsockname()[1]))
        assert await link.receive() == largest
        assert len(await link.receive() or b"") == MAX_MESSAGE_BYTES
        assert await link.receive() is None
        assert "larger than 4 MiB" in link.close_reason
        assert not link.trying_again_helps
        await link.close()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1000, "bye (code 1000)"),
        (1001, "bye (code 1001)"),
        (1011, "bye (code 1011)"),
        (1013, "bye (code 1013)"),
    ],
)
async def test_the_servers_reason_is_told(code: int, said: str) -> None:
    async def leave(connection: ServerConnection) -> None:
        await connection.close(code, "bye")

    async with serve(leave, "127.0.0.1", 0) as server:
        link = await open_link(at(server.sockets[0].getsockname()[1]))
        assert await link.receive() is None
        assert link.close_reason == said
        assert link.trying_again_helps


async def test_a_link_that_just_breaks_is_told_as_that() -> None:
    async def drop(connection: ServerConnection) -> None:
        connection.transport.abort()

    async with serve(drop, "127.0.0.1", 0) as server:
        link = await open_link(at(server.sockets[0].getsockname()[1]))
        assert await link.receive() is None
        assert link.close_reason == "connection lost"
        assert link.trying_again_helps


async def test_a_peer_that_vanished_is_noticed_by_its_missing_answers_to_pings() -> None:
    assert link_module.PING_INTERVAL_S + link_module.PING_TIMEOUT_S <= 20.0
    async with Emulator(SyntheticTalker()) as emulator:
        relay = Relay(emulator.port)
        async with tcp_server(relay) as port:
            link = await open_link(at(port), ping_interval_s=0.1, ping_timeout_s=0.2)
            relay.forwards = False
            started_s = time.perf_counter()
            assert await asyncio.wait_for(link.receive(), 5) is None
            assert time.perf_counter() - started_s < 3.0
            assert link.close_reason == "the server does not answer any more"
            assert link.trying_again_helps


async def test_a_slow_link_whose_pong_waits_behind_the_sound_is_no_dead_link() -> None:
    """At 8 kbit/s, 10 s of queued frames keep every answer waiting: bytes that come are life enough."""
    pinged: list[bytes] = []

    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port_of_server)
        far_writer.write(await reader.readuntil(b"\r\n\r\n"))
        writer.write(await far_reader.readuntil(b"\r\n\r\n"))
        for _ in range(8):  # so far apart that it pings in between; frames come, and no pong
            await asyncio.sleep(0.25)
            writer.write(b"\x82\x01x")
        pinged.append(await reader.read(100))
        far_writer.transport.abort()

    async with Emulator(SyntheticTalker()) as emulator:
        port_of_server = emulator.port
        async with tcp_server(trickle) as port:
            link = await open_link(at(port), ping_interval_s=0.05, ping_timeout_s=1.0)
            for _ in range(8):
                assert await asyncio.wait_for(link.receive(), 5) == b"x"
            assert await asyncio.wait_for(link.receive(), 5) is None
            assert link.close_reason == "connection lost"
            await link.close()
    assert pinged[0].startswith(b"\x89")


async def test_closing_takes_bounded_time_even_if_the_peer_neither_reads_nor_answers() -> None:
    gone = asyncio.Event()

    async def deaf(connection: ServerConnection) -> None:
        connection.transport.pause_reading()
        await gone.wait()
        connection.transport.abort()

    async with serve(deaf, "127.0.0.1", 0, close_timeout=0.1) as server:
        link = await open_link(at(server.sockets[0].getsockname()[1]))
        sending = asyncio.ensure_future(link.send("x" * 30_000_000))
        await asyncio.sleep(0.1)
        assert not sending.done()
        started_s = time.perf_counter()
        await link.close()
        assert time.perf_counter() - started_s < 2.5
        await asyncio.wait_for(sending, 1)
        gone.set()


# -- what does not --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "NEARFIELD_API_KEY"),
        (403, "forbids"),
        (404, "no speech stream at this path"),
        (429, "takes no more sessions"),
        (400, "no speech server"),
        (426, "no speech server"),
    ],
)
async def test_statuses_that_stop(status: int, words: str) -> None:
    async with Emulator(SyntheticTalker(), Scenario(handshake_status=status)) as emulator:
        with pytest.raises(Refused, match=words) as error:
            await open_link(server_address(emulator.url))
    assert emulator.url in str(error.value)
    assert str(status) in str(error.value)


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
async def test_statuses_that_may_pass(status: int) -> None:
    async with Emulator(SyntheticTalker(), Scenario(handshake_status=status)) as emulator:
        with pytest.raises(Unreachable) as error:
            await open_link(server_address(emulator.url))
    assert str(error.value) == (f"cannot reach {emulator.url} (the server answered HTTP {status})")


async def test_a_wrong_key_is_refused_by_a_real_server() -> None:
    async with Emulator(SyntheticTalker(), api_key="sesame") as emulator:
        with pytest.raises(Refused, match="HTTP 401"):
            await open_link(server_address(emulator.url, api_key="wrong"))
        link = await open_link(server_address(emulator.url, api_key="sesame"))
        await link.close()


async def test_nobody_listens() -> None:
    with pytest.raises(Unreachable) as error:
        await open_link(at(9))
    assert str(error.value) == (f"cannot reach ws://127.0.0.1:9{STREAM_PATH} (Connection refused)")


async def test_nobody_listens_at_any_address_of_a_name() -> None:
    with pytest.raises(Unreachable, match=r"\(Connection refused\)|\(Connection refused, .*\)"):
        await open_link(at(9, "localhost"))


async def test_a_name_that_does_not_exist() -> None:
    address = server_address("ws://no-such-host.invalid:8001", open_timeout_s=3.0)
    with pytest.raises(Unreachable, match=r"cannot reach ws://no-such-host\.invalid:8001"):
        await open_link(address)


async def test_no_answer_in_time() -> None:
    async with tcp_server(silent) as port:
        with pytest.raises(Unreachable, match=r"no answer in 0\.2 s"):
            await open_link(replace(at(port), open_timeout_s=0.2))


async def test_a_port_that_hangs_up_may_just_be_starting() -> None:
    async with tcp_server(hangs_up) as port:
        with pytest.raises(Unreachable, match="hangs up"):
            await open_link(at(port))


@pytest.mark.parametrize("head", ["HTTP/1.1 200 OK", "SSH-2.0-OpenSSH_9.6"])
async def test_another_kind_of_server(head: str) -> None:
    async with tcp_server(answering(head)) as port:
        with pytest.raises(Refused, match="no speech server"):
            await open_link(at(port))


async def test_a_redirect_is_told_and_not_followed() -> None:
    """The key is for the server that was named."""
    async with Emulator(SyntheticTalker()) as emulator:
        head = f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {emulator.url}"
        async with tcp_server(answering(head)) as port:
            with pytest.raises(Refused, match=f"sends on to {emulator.url}"):
                await open_link(replace(at(port), api_key="sesame"))
        assert not emulator.sessions


async def test_a_try_that_is_cancelled_ends_at_once() -> None:
    async with tcp_server(silent) as port:
        opening = asyncio.ensure_future(open_link(at(port)))
        await asyncio.sleep(0.05)
        started_s = time.perf_counter()
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        assert time.perf_counter() - started_s < 0.2


# -- TLS ------------------------------------------------------------------------------------------------


async def test_a_private_authority_is_trusted_if_it_is_named(tls: tuple[Path, ssl.SSLContext]) -> None:
    pem, context = tls
    async with Emulator(SyntheticTalker(), ssl=context) as emulator:
        link = await open_link(server_address(emulator.url, api_key="sesame", ca_file=str(pem)))
        await link.close()
        assert len(emulator.sessions) == 1


async def test_an_unknown_authority_stops(tls: tuple[Path, ssl.SSLContext]) -> None:
    async with Emulator(SyntheticTalker(), ssl=tls[1]) as emulator:
        with pytest.raises(Refused, match=r"certificate is not trusted.*server\.ca_file"):
            await open_link(server_address(emulator.url))


async def test_a_certificate_for_another_name_stops(tls: tuple[Path, ssl.SSLContext]) -> None:
    pem, context = tls
    async with Emulator(SyntheticTalker(), ssl=context) as emulator:
        url = emulator.url.replace("127.0.0.1", "localhost")
        with pytest.raises(Refused, match="certificate is not trusted"):
            await open_link(server_address(url, ca_file=str(pem)))


async def test_tls_where_there_is_none() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        await reader.read()

    async with tcp_server(plain) as port:
        with pytest.raises(Refused, match="no TLS there"):
            await open_link(at(port, scheme="wss"))


@pytest.mark.parametrize("content", [None, "not a certificate"])
async def test_an_authoritys_file_that_cannot_be_used(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match="ca_file"):
        await open_link(server_address("wss://127.0.0.1:9", ca_file=str(file)))


# -- proxies --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["http_proxy", "https_proxy", "ws_proxy", "all_proxy"])
async def test_a_proxy_of_the_environment_does_not_come_between_here_and_here(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with Emulator(SyntheticTalker()) as emulator:
        link = await open_link(server_address(emulator.url))
        await link.close()


async def test_a_proxy_that_cannot_be_reached_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://user:hunter2@127.0.0.1:9")
    with pytest.raises(Unreachable) as error:
        await open_link(server_address("ws://speech.example.com", open_timeout_s=3.0))
    assert "through the proxy http://127.0.0.1:9: Connection refused" in str(error.value)
    assert "hunter2" not in str(error.value)
    assert "--demo" not in str(error.value)


async def test_a_proxy_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async with tcp_server(answering("HTTP/1.1 403 Forbidden")) as port:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        with pytest.raises(Unreachable, match=f"through the proxy http://127.0.0.1:{port}: .*403"):
            await open_link(server_address("ws://speech.example.com", open_timeout_s=3.0))


async def test_what_is_no_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "ftp://127.0.0.1:9")
    with pytest.raises(Refused, match=r"ftp://127\.0\.0\.1:9 cannot be used"):
        await open_link(server_address("ws://speech.example.com", open_timeout_s=3.0))


async def test_a_server_may_be_excepted_from_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "no-such-host.invalid")
    with pytest.raises(Unreachable) as error:
        await open_link(server_address("ws://no-such-host.invalid", open_timeout_s=3.0))
    assert "proxy" not in str(error.value)
