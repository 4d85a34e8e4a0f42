"""The health check, run as an image runs it: Python alone, without anything of ours on its path."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from server.emulator.emulator import Emulator
from server.emulator.scenario import Scenario
from server.emulator.talkers import SyntheticTalker
from tests.helpers.omni_rig import omni_server
from tests.helpers.servers import Serve, answering, hangs_up, silent, tcp_server

SCRIPT = Path(__file__).parents[3] / "server" / "deploy" / "is_serving.py"


async def ask(port: int, *options: str, key: str = "") -> tuple[int, str]:
    """Return the exit code and the one line of the check."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", str(SCRIPT), "--port", str(port), *options,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd="/",
        env={"VLLM_API_KEY": key} if key else {},
    )  # fmt: skip
    out, errors = await asyncio.wait_for(process.communicate(), 30)
    assert errors == b"", errors.decode()
    assert process.returncode is not None
    return process.returncode, out.decode().strip()


@pytest.mark.parametrize(
    ("kind", "options", "answer"),
    [
        ("codec", (), (0, "serving: codec tokens")),
        ("codec", ("--mode", "any"), (0, "serving: codec tokens")),
        ("codec", ("--mode", "pcm"), (1, "not serving: it lives, but it sends codec tokens")),
        ("stock", (), (1, "not serving: it lives, but it decodes itself: is the plug-in loaded?")),
        ("stock", ("--mode", "pcm"), (0, "serving: PCM, decoded by the server")),
        (
            "stock-talker-only",
            (),
            (1, "not serving: it lives, but it decodes itself: is the plug-in loaded?"),
        ),
    ],
)
async def test_it_says_what_a_server_sends(
    kind: str, options: tuple[str, ...], answer: tuple[int, str]
) -> None:
    async with Emulator(SyntheticTalker(), Scenario(kind=kind)) as emulator:
        assert await ask(emulator.port, *options) == answer
        # Nothing was spoken for it.
        assert not emulator.utterances


async def test_it_shows_its_key() -> None:
    async with Emulator(SyntheticTalker(), Scenario(), api_key="k3y") as emulator:
        assert await ask(emulator.port, key="k3y") == (0, "serving: codec tokens")
        code, line = await ask(emulator.port, key="other")
        assert code == 1
        assert "401" in line
        assert line.endswith("the key is wrong or missing")


async def test_a_dead_server_is_not_serving() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert await ask(taken.getsockname()[1]) == (1, "not serving: Connection refused")


def healthy_then(rest: Serve) -> Serve:
    """Answer /health with 200, and any other request with ``rest``."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        if line.startswith(b"GET /health"):
            await answering("HTTP/1.1 200 OK\r\nConnection: close")(reader, writer)
        else:
            await rest(reader, writer)

    return serve


def upgraded(after: bytes) -> Serve:
    """Shake hands, send ``after`` and be silent."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + after)
        await writer.drain()
        await reader.read()

    return serve


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: silent, "no answer in 0.5 s"),
        (lambda: hangs_up, "what answers is no HTTP server (RemoteDisconnected)"),
        (lambda: answering("HTTP/1.1 503 Service Unavailable"), "/health answers 503"),
        (lambda: answering("SSH-2.0-OpenSSH_9.2"), "what answers is no HTTP server (BadStatusLine)"),
        (lambda: healthy_then(silent), "no answer in 0.5 s"),
        (lambda: healthy_then(answering("HTTP/1.1 404 No")), "the WebSocket was refused (HTTP/1.1 404 No)"),
        (lambda: healthy_then(upgraded(b"")), "no answer in 0.5 s"),
        (lambda: healthy_then(upgraded(b"\x88\x00")), "the server closed the connection instead of"),
        (lambda: healthy_then(upgraded(b"\x81\x02hi")), "the answer is not a JSON object"),
        (lambda: healthy_then(upgraded(b"\x89\x00\x81\x02{}")), "an unknown answer to the probe: None"),
        (lambda: healthy_then(upgraded(b"\x82\x7f" + b"\xff" * 8)), "an answer of 18446744073709551615"),
    ],
)  # fmt: skip
async def test_what_is_no_talker_is_not_serving(make: Callable[[], Serve], says: str) -> None:
    async with tcp_server(make()) as port:
        code, line = await ask(port, "--limit-s", "0.5")
    assert code == 1
    assert line.startswith(f"not serving: {says}")


async def test_a_slow_trickle_has_an_end() -> None:
    """The limit is of the whole question, not of each byte."""

    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.1)

    async with tcp_server(healthy_then(trickle)) as port:
        assert await ask(port, "--limit-s", "0.5") == (1, "not serving: no answer in 0.5 s")


@pytest.mark.parametrize(
    ("plugin", "talker_only", "answer"),
    [
        (True, True, (0, "serving: codec tokens")),
        (False, True, (1, "not serving: it lives, but it decodes itself: is the plug-in loaded?")),
        (False, False, (1, "not serving: it lives, but it decodes itself: is the plug-in loaded?")),
    ],
)
async def test_it_tells_the_released_handler_with_and_without_our_plug_in(
    plugin: bool, talker_only: bool, answer: tuple[int, str]
) -> None:
    with omni_server(plugin=plugin, talker_only=talker_only) as server:
        assert await ask(server.port) == answer
