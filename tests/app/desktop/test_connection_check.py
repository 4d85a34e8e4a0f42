from __future__ import annotations

import pytest

from app.config import Profile
from app.desktop.connection_check import check_connection
from app.errors import ConfigError, Refused, Unreachable
from decoder.wire.events import Mode
from server.emulator import Emulator, Scenario
from tests.helpers.counting_talker import CountingTalker
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left
from tests.helpers.servers import answering, hangs_up, tcp_server

__all__ = ["no_task_is_left", "no_thread_is_left"]


@pytest.mark.parametrize(("kind", "mode"), [("codec", Mode.CODEC), ("stock", Mode.PCM)])
async def test_a_server_says_who_decodes_and_nothing_is_spoken(kind: str, mode: Mode) -> None:
    async with Emulator(CountingTalker(), Scenario(kind=kind)) as emulator:
        found = await check_connection(Profile("Lab", emulator.url), "")
        assert found.mode is mode
        assert 0 < found.took_s < 5
    assert not emulator.utterances


async def test_a_server_without_an_answer_can_be_used_all_the_same() -> None:
    async with Emulator(CountingTalker()) as emulator:
        found = await check_connection(Profile("Lab", emulator.url), "", answer_s=0.0)
    assert found.mode is Mode.UNKNOWN


async def test_what_stands_in_the_way_is_told() -> None:
    async with tcp_server(hangs_up) as port:
        with pytest.raises(Unreachable):
            await check_connection(Profile("Lab", f"ws://127.0.0.1:{port}"), "")
    with pytest.raises(Unreachable):
        await check_connection(Profile("Lab", f"ws://127.0.0.1:{port}"), "")
    async with tcp_server(answering("HTTP/1.1 401 Unauthorized")) as port:
        with pytest.raises(Refused, match="API key"):
            await check_connection(Profile("Lab", f"ws://127.0.0.1:{port}"), "wrong")
    with pytest.raises(ConfigError, match="not a server address"):
        await check_connection(Profile("Lab", "ftp://h"), "")
