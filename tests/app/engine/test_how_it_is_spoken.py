"""Each text has its own voice, however closely they follow each other; the server is a real emulator."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from app.engine.state import Stage
from decoder.wire.events import Outcome
from decoder.wire.messages import SessionConfig
from server.emulator import Scenario
from tests.helpers.counting_talker import text_for
from tests.helpers.engine_rig import FAST, Tape, rig, sound
from tests.helpers.waiting import eventually

VIVIAN = SessionConfig(voice="vivian")
DEFAULT = SessionConfig(voice="default", language="English")
WHISPER = SessionConfig(voice="vivian", instructions="whisper")


def configs_sent(messages: list[dict[str, object] | int]) -> int:
    return sum("session.config" in str(m) for m in messages)


async def test_a_text_is_spoken_as_it_says_and_the_others_as_the_engine_was_told() -> None:
    async with rig(config=DEFAULT) as r:
        for how in (None, VIVIAN, WHISPER, None):
            await asyncio.wait_for(r.engine.speak(text_for(2), how=how), 5)
        spoken = [(u.config.voice, u.config.language, u.config.instructions) for u in r.emulator.utterances]
    assert spoken == [
        ("default", "English", None),
        ("vivian", None, None),
        ("vivian", None, "whisper"),
        ("default", "English", None),
    ]


@pytest.mark.parametrize("kind", ["codec", "stock"])
async def test_texts_that_are_fetched_ahead_have_their_own_voice_on_one_link(kind: str) -> None:
    """The second is on its way while the first is heard: its configuration waits for the first's end."""
    hows = [VIVIAN, DEFAULT, DEFAULT, WHISPER, VIVIAN]
    tape = Tape()
    scenario = replace(FAST, packet_frames=3) if kind == "codec" else replace(FAST, kind="stock")
    async with rig(scenario, speed=8.0) as r:
        asked = [r.engine.speak(text_for(8, 100 * at + 1), (tape,), how=how) for at, how in enumerate(hows)]
        done = await asyncio.wait_for(asyncio.gather(*asked), 20)
        assert [d.outcome for d in done] == [Outcome.COMPLETE] * len(hows)
        assert [u.config.voice for u in r.emulator.utterances] == [h.voice for h in hows]
        assert [u.config.instructions for u in r.emulator.utterances] == [h.instructions for h in hows]
        assert len(r.emulator.sessions) == 1
        assert configs_sent(r.emulator.sessions[0].received) == 4, "one for each change"
        order = [(e.utterance, e.stage) for e in r.events if hasattr(e, "stage") and hasattr(e, "text")]
        assert order.index((2, Stage.WAITING)) < order.index((1, Stage.DONE)), "it was fetched ahead"
    if kind == "codec":
        assert np.array_equal(tape.pcm, np.concatenate([sound(100 * at + 1, 8) for at in range(len(hows))]))


async def test_after_a_stop_the_next_text_has_its_own_voice() -> None:
    async with rig(Scenario(pace=2.0), speed=4.0) as r:
        r.engine.speak(text_for(40), how=VIVIAN)
        r.engine.speak(text_for(40), how=WHISPER)
        await r.until(Stage.PLAYING)
        await r.engine.cancel()
        r.emulator.scenario = FAST
        done = await asyncio.wait_for(r.engine.speak(text_for(2), how=DEFAULT), 5)
        assert done.outcome is Outcome.COMPLETE
        assert [u.config.voice for u in r.emulator.utterances] == ["vivian", "default"]


async def test_a_text_that_is_sent_once_more_keeps_its_voice() -> None:
    async with rig(replace(FAST, cut_at_frame=0, faulty_utterances=1)) as r:
        done = await asyncio.wait_for(r.engine.speak(text_for(3), how=VIVIAN), 5)
        assert done.outcome is Outcome.COMPLETE
        assert [u.config.voice for u in r.emulator.utterances] == ["vivian", "vivian"]


async def test_a_model_without_codec_tokens_keeps_the_voice_when_it_is_asked_again() -> None:
    async with rig(replace(FAST, kind="no-codec-adapter"), config=DEFAULT) as r:
        for how in (VIVIAN, None):
            done = await asyncio.wait_for(r.engine.speak(text_for(3), how=how), 5)
            assert done.outcome is Outcome.COMPLETE
        assert [(u.config.voice, u.config.output_mode) for u in r.emulator.utterances] == [
            ("vivian", "codec_tokens"),
            ("vivian", "pcm"),
            ("default", "pcm"),
        ]


@pytest.mark.parametrize("connected", [False, True])
async def test_a_configuration_no_server_takes_fails_its_own_text_only(connected: bool) -> None:
    async with rig() as r:
        if connected:
            await r.engine.connect()
        bad = r.engine.speak(text_for(3), how=SessionConfig(speed=2.0))
        good = r.engine.speak(text_for(3), how=VIVIAN)
        assert (await asyncio.wait_for(bad, 5)).outcome is Outcome.FAILED
        assert "no server would take this configuration" in bad.result().reason
        assert (await asyncio.wait_for(good, 5)).outcome is Outcome.COMPLETE
        await eventually(lambda: [u.config.voice for u in r.emulator.utterances] == ["vivian"])
        assert not any(link.refused for link in r.links), "the server is not to blame"
