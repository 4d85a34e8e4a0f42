"""Looking up and dialling: the ways it fails, and that nobody has to wait for a resolver that is stuck."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from app.errors import Unreachable
from app.session.address import server_address
from app.session.dial import Found, dial, look_up
from app.session.link import open_link
from server.emulator import Emulator, SyntheticTalker
from tests.helpers.hand_time import settle
from tests.helpers.servers import silent, tcp_server


def found(*where: tuple[str, int]) -> Found:
    return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", at) for at in where]


class Stuck:
    """A resolver that does not answer until it is let go; knows how often it was asked."""

    def __init__(self, answer: Found) -> None:
        self.answer = answer
        self.asked = 0
        self.released = threading.Event()

    def __call__(self, host: str, port: int, **kwargs: object) -> Found:
        self.asked += 1
        self.released.wait(30)
        return self.answer


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    resolver = Stuck(found(("127.0.0.1", 9)))
    yield resolver
    resolver.released.set()


async def test_a_name_is_dialled_at_each_of_its_addresses_until_one_answers() -> None:
    async with tcp_server(silent) as port:
        dialled = await dial("box", port, 5.0, lambda *_, **__: found(("127.0.0.1", 9), ("127.0.0.1", port)))
        assert dialled.getpeername() == ("127.0.0.1", port)
        assert not dialled.getblocking()
        dialled.close()


async def test_nobody_answers_at_any_address() -> None:
    for where in ([("127.0.0.1", 9)], [("127.0.0.1", 9), ("127.0.0.1", 10)]):
        with pytest.raises(OSError, match="Connect call failed"):
            await dial("box", 9, 5.0, lambda *_, where=where, **__: found(*where))


async def test_a_name_without_an_address_and_one_that_is_not_known() -> None:
    with pytest.raises(OSError, match="box has no address"):
        await dial("box", 9, 5.0, lambda *_, **__: [])

    def unknown(*_: object, **__: object) -> Found:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(socket.gaierror):
        await look_up("box", 9, 5.0, unknown)


async def test_a_look_up_that_is_stuck_is_not_waited_for_and_costs_one_thread(stuck: Stuck) -> None:
    threads = threading.active_count()
    for _ in range(5):
        with pytest.raises(asyncio.TimeoutError):
            await dial("box", 9, 0.02, stuck)
    assert stuck.asked == 1
    assert threading.active_count() == threads + 1
    waiting = asyncio.ensure_future(look_up("box", 9, 5.0, stuck))
    await settle()
    stuck.released.set()
    assert await waiting == stuck.answer
    assert await look_up("box", 9, 5.0, stuck) == stuck.answer
    assert stuck.asked == 2


async def test_a_wait_for_a_name_is_interrupted_at_once(stuck: Stuck) -> None:
    waiting = asyncio.ensure_future(open_link(server_address("ws://box:8001"), resolve=stuck))
    await asyncio.sleep(0.05)
    started_s = time.perf_counter()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert time.perf_counter() - started_s < 0.2


async def test_a_server_is_reached_by_its_name() -> None:
    async with Emulator(SyntheticTalker()) as emulator:
        address = server_address(f"ws://box:{emulator.port}")
        link = await open_link(address, resolve=lambda *_, **__: found(("127.0.0.1", emulator.port)))
        await link.close()
        assert len(emulator.sessions) == 1


async def test_a_name_that_is_not_answered_in_time_is_told_as_that(stuck: Stuck) -> None:
    address = server_address("ws://box:8001", open_timeout_s=0.2)
    with pytest.raises(Unreachable, match=r"cannot reach ws://box:8001\S* \(no answer in 0\.2 s\)"):
        await open_link(address, resolve=stuck)


async def test_a_proxy_whose_name_is_not_answered_is_not_left_to_a_thread_that_is_waited_for(
    stuck: Stuck, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    address = server_address("ws://speech.example.com", open_timeout_s=0.2)
    with pytest.raises(Unreachable, match=r"through the proxy http://proxy\.example:3128: no answer"):
        await open_link(address, resolve=stuck)
    assert stuck.asked == 1


async def test_the_time_limit_is_for_the_name_and_the_handshake_together() -> None:
    async with tcp_server(silent) as port:

        def slow(*_: object, **__: object) -> Found:
            time.sleep(0.2)
            return found(("127.0.0.1", port))

        started_s = time.perf_counter()
        with pytest.raises(Unreachable, match=r"no answer in 0\.4 s"):
            await open_link(server_address(f"ws://box:{port}", open_timeout_s=0.4), resolve=slow)
        assert time.perf_counter() - started_s < 0.6


_QUIT = """
import asyncio, socket, threading
socket.getaddrinfo = lambda *_, **__: threading.Event().wait()
from app.session.address import server_address
from app.session.session import Session
from decoder.spec import CodecSpec
from decoder.wire.messages import SessionConfig

async def main():
    session = Session(server_address("ws://box:8001"), CodecSpec(), lambda event: None)
    connecting = asyncio.ensure_future(session.ensure_ready(SessionConfig()))
    await asyncio.sleep(0.2)
    connecting.cancel()
    await asyncio.gather(connecting, return_exceptions=True)
    await session.aclose()

asyncio.run(main())
print("gone")
"""


def test_a_resolver_that_is_stuck_does_not_hold_up_the_end_of_the_process() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _QUIT], capture_output=True, text=True, timeout=20, check=True
    )
    assert ran.stdout.strip() == "gone"
    assert not ran.stderr
