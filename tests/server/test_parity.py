"""What two servers say of one text, fetched over real sockets."""

from __future__ import annotations

import numpy as np
import pytest

from decoder.spec import CodecSpec
from decoder.wire.messages import SessionConfig
from decoder.wire.server import ServerTraits
from server.caller import CallError
from server.emulator import Emulator, Scenario, SyntheticTalker
from server.parity import fetch_both, fetch_codes
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left
from tests.helpers.load_servers import TwoStageServer, dial

__all__ = ["no_task_is_left", "no_thread_is_left"]

TEXT = "One text for both."
SEEDED = SessionConfig(seed=7)
TALKER = SyntheticTalker()
FAST = Scenario(pace=0)


async def test_codes_are_those_of_the_server() -> None:
    async with Emulator(TALKER, FAST) as emulator:
        spoken = await fetch_codes(dial(emulator.url), CodecSpec(), SEEDED, TEXT, 5)
    assert np.array_equal(spoken.codes, TALKER.codes(TEXT, 7))
    assert spoken.context.shape == (0, 16)


async def test_the_reference_of_a_cloned_voice_comes_with_them() -> None:
    config = SessionConfig(seed=7, accept_codec_context=True)
    async with Emulator(TALKER, Scenario(pace=0, context_frames=5)) as emulator:
        spoken = await fetch_codes(dial(emulator.url), CodecSpec(), config, TEXT, 5)
    assert len(spoken.context) == 5


async def test_several_sentences_are_asked_for_as_one_unit() -> None:
    async with Emulator(TALKER, FAST) as emulator:
        config = SessionConfig(split_granularity="sentence")
        await fetch_codes(dial(emulator.url), CodecSpec(), config, "One. Two. Three.", 5)
        assert emulator.utterances[0].units == ["One. Two. Three."]


async def test_a_server_that_decodes_has_no_codes() -> None:
    async with Emulator(TALKER, Scenario(pace=0, kind="stock")) as emulator:
        with pytest.raises(CallError, match="decodes itself and sends no codes"):
            await fetch_codes(dial(emulator.url), CodecSpec(), SEEDED, TEXT, 5)


async def test_another_codec_than_the_decoders_is_an_error_with_both_values() -> None:
    async with Emulator(SyntheticTalker(CodecSpec(codebook_size=64)), FAST) as emulator:
        with pytest.raises(CallError, match=r"codebook_size 64.*2048"):
            await fetch_codes(dial(emulator.url), CodecSpec(), SEEDED, TEXT, 5)


async def test_both_say_it_twice_and_the_one_that_decodes_gives_no_codes() -> None:
    async with Emulator(TALKER, FAST) as emulator, TwoStageServer().running() as url:
        both = await fetch_both(dial(emulator.url), dial(url), CodecSpec(), SEEDED, TEXT, 5)
    assert np.array_equal(both.codes[0].codes, both.codes[1].codes)
    assert both.other_codes is None
    assert len(both.pcm[0].pcm) == len(both.pcm[1].pcm) == len(both.codes[0].codes) * 1920
    assert both.pcm[0].rate_hz == 24_000


async def test_a_server_that_can_do_both_gives_its_codes_as_well() -> None:
    server = TwoStageServer(traits=ServerTraits(), other_from_frame=4)
    async with Emulator(TALKER, FAST) as emulator, server.running() as url:
        both = await fetch_both(dial(emulator.url), dial(url), CodecSpec(), SEEDED, TEXT, 5)
    assert both.other_codes is not None
    assert np.array_equal(both.other_codes.codes[:4], both.codes[0].codes[:4])
    assert not np.array_equal(both.other_codes.codes, both.codes[0].codes)
    assert len(both.pcm[0].pcm) > 0


async def test_a_text_that_one_of_them_does_not_finish_is_told_with_which() -> None:
    async with (
        Emulator(TALKER, FAST) as emulator,
        Emulator(TALKER, Scenario(pace=0, kind="stock-talker-only")) as other,
    ):
        with pytest.raises(CallError, match=r"the two-stage server did not speak the text.*neither audio"):
            await fetch_both(dial(emulator.url), dial(other.url), CodecSpec(), SEEDED, TEXT, 5)


async def test_a_server_that_does_not_decode_is_no_two_stage_server() -> None:
    server = TwoStageServer(traits=ServerTraits(pcm=False))
    async with Emulator(TALKER, FAST) as emulator, server.running() as url:
        with pytest.raises(CallError, match="does not decode"):
            await fetch_both(dial(emulator.url), dial(url), CodecSpec(), SEEDED, TEXT, 5)
