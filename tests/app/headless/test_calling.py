"""How the tools that measure servers reach them."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from rich.console import Console

from app.config import ServerConfig
from app.errors import ConfigError
from app.headless.calling import address_of, dial_to, progress, run_until_interrupted
from server.caller import CallError
from server.emulator import Emulator, Scenario, SyntheticTalker
from tests.helpers.servers import certificate


def test_another_server_is_reached_with_the_same_key_and_authority() -> None:
    server = ServerConfig(url="wss://first", api_key="sesame", ca_file="ca.pem", connect_timeout_s=3.0)
    other = address_of(server, "wss://second")
    assert other.url.startswith("wss://second/")
    assert (other.api_key, other.ca_file, other.open_timeout_s) == ("sesame", "ca.pem", 3.0)
    assert address_of(server).url.startswith("wss://first/")


def test_the_key_never_travels_in_the_clear_to_another_machine() -> None:
    with pytest.raises(ConfigError, match="unencrypted"):
        address_of(ServerConfig(url="wss://first", api_key="sesame"), "ws://second.example")


async def test_a_private_authority_is_trusted_if_it_is_named(tmp_path: Path) -> None:
    made = certificate(tmp_path)
    if made is None:
        pytest.skip("there is no openssl command")
    pem, context = made
    async with Emulator(SyntheticTalker(), Scenario(pace=0), ssl=context) as emulator:
        link = await dial_to(address_of(ServerConfig(url=emulator.url, ca_file=str(pem))))()
        await link.close()
        with pytest.raises(CallError, match="certificate is not trusted"):
            await dial_to(address_of(ServerConfig(url=emulator.url)))()


def test_work_that_ends_was_not_interrupted_and_what_it_raises_is_raised() -> None:
    async def fails() -> None:
        raise CallError("no")

    async def is_cancelled() -> None:
        raise asyncio.CancelledError

    assert not run_until_interrupted(asyncio.sleep(0))
    assert run_until_interrupted(is_cancelled())
    with pytest.raises(CallError):
        run_until_interrupted(fails())


def test_progress_is_for_terminals() -> None:
    for is_terminal in (True, False):
        heard = io.StringIO()
        with progress(Console(file=heard, force_terminal=is_terminal)) as tell:
            tell("3 of 4")
        assert bool(heard.getvalue()) is is_terminal
