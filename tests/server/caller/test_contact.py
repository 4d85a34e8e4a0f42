"""The first words with a server, against the emulator over a real socket."""

from __future__ import annotations

from dataclasses import replace

import pytest

from decoder.spec import CodecSpec
from decoder.wire.events import Mode
from decoder.wire.messages import CodecStart, SessionConfig
from server.caller import CallError, make_contact
from server.caller.contact import spec_of
from server.emulator import Emulator, Scenario, SyntheticTalker
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left
from tests.helpers.load_servers import dial

__all__ = ["no_task_is_left", "no_thread_is_left"]

FAST = Scenario(pace=0)
TALKER = SyntheticTalker()


async def test_contact_shows_who_decodes_and_which_codec() -> None:
    async with Emulator(SyntheticTalker(CodecSpec(codebook_size=64)), FAST) as emulator:
        found = await make_contact(dial(emulator.url), SessionConfig())
    assert (found.mode, found.spec.codebook_size, found.model) == (Mode.CODEC, 64, "nearfield-synthetic")
    async with Emulator(TALKER, Scenario(pace=0, kind="stock")) as emulator:
        assert (await make_contact(dial(emulator.url), SessionConfig())).mode is Mode.PCM


async def test_a_server_that_decodes_nothing_and_sends_no_codes_is_told_so() -> None:
    async with Emulator(TALKER, Scenario(pace=0, kind="stock-talker-only")) as emulator:
        with pytest.raises(CallError, match="neither audio nor codec frames"):
            await make_contact(dial(emulator.url), SessionConfig())


@pytest.mark.parametrize(
    "change", [{"version": 2}, {"header_format": "<QQ"}, {"sample_rate": 0}, {"frame_rate_hz": 0.0}]
)
def test_packets_that_cannot_be_read_have_no_codec(change: dict[str, object]) -> None:
    start = CodecStart.of(CodecSpec(), 0, 0, "", "")
    assert spec_of(start) == CodecSpec()
    assert spec_of(replace(start, **change)) is None  # type: ignore[arg-type]
