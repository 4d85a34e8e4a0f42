"""A reading heard from another place: while it is spoken, when it is over, and again."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from app.engine.events import Heard, PauseChanged, SentenceDecoded
from app.engine.reading import Reading
from app.engine.state import Stage
from app.playback.pcm_source import RAMP_S, STOP_FADE_S
from decoder.wire.events import Outcome
from decoder.wire.messages import SessionConfig
from server.emulator import Scenario
from tests.helpers.counting_talker import text_for
from tests.helpers.engine_rig import FAST, Rig, rig
from tests.helpers.fake_decoder import SPEC, sound
from tests.helpers.kept_sound import FULL_SCALE, Kept
from tests.helpers.waiting import eventually

FRAME = SPEC.samples_per_frame
RAMP = round(RAMP_S * SPEC.sample_rate_hz)
STOP_FADE = round(STOP_FADE_S * SPEC.sample_rate_hz)


def speak(r: Rig, *texts: str) -> Reading:
    kept = Kept()
    reading = r.engine.new_reading(kept, kept)
    for text in texts:
        r.engine.speak(text, reading=reading)
    return reading


def trimmed(pcm: NDArray[np.float32]) -> NDArray[np.float32]:
    return pcm[: int(np.flatnonzero(pcm)[-1]) + 1]


def position(r: Rig) -> int:
    """How far the newest event says that it was heard."""
    told = r.of(Heard)
    return told[-1].samples if told else 0


def assert_ends_with(heard: NDArray[np.float32], expected: NDArray[np.float32]) -> None:
    """The last samples before the silence are ``expected``, all of them, but for a ramp at the beginning."""
    # The decay after the last sample is no part of the sound.
    end = len(trimmed(heard)) - (RAMP - 1)
    whole = heard[max(0, end - len(expected)) : end]
    assert len(whole) == len(expected)
    np.testing.assert_allclose(whole[RAMP:], expected[RAMP:], atol=1 / FULL_SCALE)


async def is_over(r: Rig) -> None:
    await eventually(lambda: any(e.is_over for e in r.of(Heard)), 10, "the replay's end")


@pytest.mark.parametrize("to", [0, 3 * FRAME + 77])
async def test_going_back_in_mid_speech_loses_and_repeats_nothing(to: int) -> None:
    async with rig(Scenario(pace=0, packet_frames=4), speed=4.0) as r:
        reading = speak(r, text_for(30), text_for(10, 31))
        await eventually(lambda: position(r) > 12 * FRAME)
        before = len(r.speaker.heard)
        r.engine.seek(reading, to)
        await r.until(Stage.DONE, 2, 15)
        assert_ends_with(r.speaker.heard[before:], sound(1, 40)[to:])


async def test_going_forward_lands_in_what_is_there() -> None:
    async with rig(FAST, speed=4.0) as r:
        reading = speak(r, text_for(40))
        await eventually(lambda: position(r) > 2 * FRAME and reading.sound.samples == 40 * FRAME)
        before = len(r.speaker.heard)
        r.engine.seek(reading, 30 * FRAME)
        await r.until(Stage.DONE, 1, 15)
        heard = trimmed(r.speaker.heard[before:])
        assert len(heard) < 12 * FRAME
        assert_ends_with(r.speaker.heard[before:], sound(1, 40)[30 * FRAME + STOP_FADE :])


async def test_forward_into_the_utterance_behind() -> None:
    async with rig(FAST, speed=4.0) as r:
        reading = speak(r, text_for(30), text_for(30, 31))
        await eventually(lambda: position(r) > FRAME and reading.sound.samples == 60 * FRAME)
        before = len(r.speaker.heard)
        r.engine.seek(reading, 50 * FRAME)
        await r.until(Stage.DONE, 2, 15)
        assert_ends_with(r.speaker.heard[before:], sound(1, 60)[50 * FRAME :])


async def test_beyond_what_is_decoded_there_is_nothing_to_reach() -> None:
    async with rig(FAST, speed=8.0) as r:
        reading = speak(r, text_for(20))
        await eventually(lambda: position(r) > FRAME)
        r.engine.seek(reading, 10**9)
        await r.until(Stage.DONE, 1, 5)


async def test_a_finished_reading_is_heard_again_and_its_end_is_told_once() -> None:
    async with rig(FAST, speed=8.0) as r:
        reading = speak(r, text_for(8), text_for(8, 9))
        await r.until(Stage.DONE, 2)
        before = len(r.speaker.heard)
        r.engine.seek(reading, 5 * FRAME)
        await is_over(r)
        await eventually(lambda: not r.speaker.heard[-480:].any())
        assert_ends_with(r.speaker.heard[before:], sound(1, 16)[5 * FRAME :])
        ends = [e for e in r.of(Heard) if e.is_over]
        assert ends == [Heard(reading.number, 16 * FRAME, True)]


async def test_what_was_kept_before_is_heard_without_a_server() -> None:
    """As a history does: nothing of it is in flight, and nothing is sent."""
    async with rig(FAST, speed=8.0) as r:
        kept = Kept()
        kept.write(sound(1, 10))
        reading = r.engine.new_reading(kept)
        r.engine.seek(reading, 0)
        await is_over(r)
        assert_ends_with(r.speaker.heard, sound(1, 10))
        assert not r.emulator.utterances


async def test_back_twice_and_the_place_is_told_all_the_time() -> None:
    async with rig(FAST, speed=4.0) as r:
        reading = speak(r, text_for(30))
        for _ in range(2):
            await eventually(lambda: position(r) > 10 * FRAME)
            r.engine.seek(reading, 2 * FRAME)
            told = len(r.of(Heard))
            await eventually(lambda told=told: len(r.of(Heard)) > told)
            assert position(r) < 8 * FRAME
        await r.until(Stage.DONE, 1, 15)
        assert all(e.reading == reading.number for e in r.of(Heard))


async def test_stop_in_a_replay_is_silent_and_stays_so() -> None:
    async with rig(FAST, speed=4.0) as r:
        reading = speak(r, text_for(40))
        await eventually(lambda: position(r) > 10 * FRAME)
        r.engine.seek(reading, 0)
        await asyncio.sleep(0.1)
        r.engine.stop()
        before = len(r.speaker.heard)
        await eventually(lambda: len(r.speaker.heard) > before + 10 * 480)
        assert not r.speaker.heard[before + 2 * 480 :].any()
        assert r.stages(1)[-1] is Stage.DONE
        assert not [e for e in r.of(Heard) if e.is_over]


async def test_a_replay_is_paused_and_resumed_without_loss() -> None:
    async with rig(FAST, speed=8.0) as r:
        reading = speak(r, text_for(20))
        await r.until(Stage.DONE, 1)
        before = len(r.speaker.heard)
        r.engine.seek(reading, 0)
        await eventually(lambda: len(r.speaker.heard) > before + 4 * FRAME)
        r.engine.pause()
        r.engine.pause()
        paused_at = len(r.speaker.heard)
        await eventually(lambda: len(r.speaker.heard) > paused_at + 4 * FRAME)
        assert not r.speaker.heard[paused_at + 480 : paused_at + 4 * FRAME].any()
        r.engine.resume()
        await is_over(r)
        assert r.of(PauseChanged) == [PauseChanged(True), PauseChanged(False)]


async def test_seeking_while_paused_stays_paused() -> None:
    async with rig(FAST, speed=8.0) as r:
        reading = speak(r, text_for(40))
        await eventually(lambda: position(r) > 5 * FRAME)
        r.engine.pause()
        r.engine.seek(reading, FRAME)
        before = len(r.speaker.heard)
        await eventually(lambda: len(r.speaker.heard) > before + 4 * FRAME)
        assert not r.speaker.heard[before + 480 :].any()
        r.engine.resume()
        await r.until(Stage.DONE, 1, 15)
        assert_ends_with(r.speaker.heard, sound(1, 40)[FRAME:])


async def test_hearing_another_reading_stops_the_one_that_is_spoken() -> None:
    async with rig(FAST, speed=4.0) as r:
        old = speak(r, text_for(5))
        await r.until(Stage.DONE, 1)
        new = speak(r, text_for(60, 100))
        await eventually(lambda: any(e.reading == new.number for e in r.of(Heard)))
        r.engine.seek(old, 0)
        await is_over(r)
        assert r.stages(2)[-1] is Stage.DONE
        assert_ends_with(r.speaker.heard, sound(1, 5))


async def test_sentences_are_told_with_their_place_in_the_readings_sound() -> None:
    scenario, how = Scenario(pace=0), SessionConfig(split_granularity="sentence")
    async with rig(scenario, speed=20.0, config=how) as r:
        texts = "Say 4 frames from 1. Say 3 frames from 5.", "Say 2 frames from 8. Say 6 frames from 10."
        reading = speak(r, *texts)
        await r.until(Stage.DONE, 2)
        told = [(e.utterance, e.text, e.starts_samples // FRAME) for e in r.of(SentenceDecoded)]
        assert told == [
            (1, "Say 4 frames from 1.", 0),
            (1, "Say 3 frames from 5.", 4),
            (2, "Say 2 frames from 8.", 7),
            (2, "Say 6 frames from 10.", 9),
        ]
        assert reading.sound.samples == 15 * FRAME


async def test_the_place_goes_forward_and_ends_with_the_sound() -> None:
    async with rig(FAST, speed=2.0) as r:
        speak(r, text_for(10), text_for(5, 11))
        await r.until(Stage.DONE, 2)
        told = [e.samples for e in r.of(Heard)]
        assert told == sorted(told)
        assert told[-1] > 13 * FRAME


@pytest.mark.parametrize("volume", [-0.1, 1.1, float("nan")])
async def test_a_volume_that_is_none_is_refused(volume: float) -> None:
    async with rig() as r:
        with pytest.raises(ValueError, match="outside"):
            r.engine.set_volume(volume)


async def test_stop_by_itself_ends_what_is_spoken_and_the_next_text_is_heard() -> None:
    async with rig(FAST, speed=8.0) as r:
        first = r.engine.speak(text_for(60))
        await eventually(lambda: len(r.speaker.sounded) > 480)
        r.engine.stop()
        assert first.result().outcome is Outcome.CANCELLED
        done = await r.say(text_for(3, 200))
        assert done.outcome is Outcome.COMPLETE
