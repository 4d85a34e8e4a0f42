"""How every server of ours is run."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from server.emulator import Scenario, SyntheticTalker
from server.emulator.options import Serving, run
from server.emulator.talkers import Talker
from tests.server.emulator.wire_client import talk

SERVING = Serving("127.0.0.1", 0, None, None, 20.0, 20.0)


def test_a_talker_is_opened_where_ctrl_c_ends_it_at_once() -> None:
    """In a loop it would be waited for, as long as a download may take."""

    def opening() -> AbstractAsyncContextManager[Talker]:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        raise KeyboardInterrupt

    assert run(opening, Scenario(), SERVING) == 0


def test_what_cannot_be_used_is_one_text_and_a_fault_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    def opening() -> AbstractAsyncContextManager[Talker]:
        raise LookupError("no such voice")

    assert run(opening, Scenario(), SERVING, LookupError) == 2
    assert capsys.readouterr().err == "no such voice\n"
    with pytest.raises(LookupError):
        run(opening, Scenario(), SERVING)


async def test_a_server_of_its_own_remembers_nothing_of_its_clients() -> None:
    async with SERVING.emulator(SyntheticTalker(), Scenario(pace=0)) as server:
        assert (await talk(server.url, "Hello")).has_eos
        assert not server.utterances
        assert not server.sessions
