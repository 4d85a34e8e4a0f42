"""The player over a real engine and emulator: every intent in the states in which a person may have it."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from app.config import Config, VoiceConfig
from app.desktop.player import NOTHING_TO_SAY
from app.desktop.player_state import Phase, PlayerState
from app.errors import ConfigError, RecordingError
from app.session.voices import VoiceList
from app.text import MAX_TEXT_CHARS
from decoder.wire.events import Outcome
from server.emulator import Scenario
from tests.helpers.counting_talker import text_for
from tests.helpers.desktop_rig import DesktopRig, Workshop, desktop_rig
from tests.helpers.engine_rig import FAST
from tests.helpers.fake_decoder import SPEC, FakeDecoder, sound
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left
from tests.helpers.waiting import eventually

__all__ = ["no_task_is_left", "no_thread_is_left"]

FRAME_S = SPEC.frame_s
THREE = "Say 8 frames from 1. Say 9 frames from 9. Say 7 frames from 18."


async def heard(rig: DesktopRig, at_s: float) -> None:
    await eventually(lambda: rig.state.heard_s >= at_s, 10, f"{at_s} s heard")


async def test_a_text_is_spoken_with_the_sentence_that_is_heard(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, workshop=Workshop(speed=2.0)) as rig:
        assert rig.player.speak(THREE)
        assert rig.state.is_speaking
        await rig.until(Phase.IDLE)
        state = rig.state
        assert [THREE[s.start : s.end] for s in state.sentences] == [
            "Say 8 frames from 1.",
            "Say 9 frames from 9.",
            "Say 7 frames from 18.",
        ]
        assert [round(s.starts_s / FRAME_S) for s in state.sentences] == [0, 8, 17]
        assert (state.outcome, state.reason, state.is_whole) == (Outcome.COMPLETE, "", True)
        assert state.heard_s == state.decoded_s == pytest.approx(24 * FRAME_S)
        shown = [s.sentence for s in rig.states if s.sentence is not None]
        assert [n for n, _ in itertools.groupby(shown)] == [0, 1, 2]
        for each in rig.states:
            if each.sentence is not None and each.phase is Phase.PLAYING:
                assert each.sentences[each.sentence].starts_s <= each.heard_s + 1e-6


async def test_what_is_shown_as_heard_never_runs_ahead_of_the_loudspeaker(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, workshop=Workshop(speed=1.0)) as rig:
        ahead: list[float] = []
        rig.player.subscribe(
            lambda s: ahead.append(s.heard_s - len(rig.speaker.sounded) / SPEC.sample_rate_hz)
        )
        rig.player.speak(text_for(12))
        await rig.until(Phase.IDLE)
        assert max(ahead) <= 1e-6


async def test_the_numbers_are_those_of_the_utterances(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path) as rig:
        rig.player.speak(" ".join([text_for(5, 1 + 5 * n) + " " + "And so on. " * 12 for n in range(5)]))
        await rig.until(Phase.IDLE)
        numbers = rig.state.numbers
        assert numbers is not None
        assert numbers.ttfa_s is not None
        assert numbers.frames == round(numbers.audio_s / FRAME_S)
        assert numbers.wire_bytes < numbers.pcm_bytes / 10
        assert len(rig.emulator.utterances) > 1, "the text is longer than one utterance"


@pytest.mark.parametrize("text", ["", "   ", "…", "。", "\u200b\u200d", "🎉"])
async def test_a_text_without_words_is_told_gently_and_nothing_is_sent(tmp_path: Path, text: str) -> None:
    """G1."""
    async with desktop_rig(tmp_path) as rig:
        assert not rig.player.speak(text)
        assert rig.notices == [NOTHING_TO_SAY]
        assert not rig.state.is_speaking
        assert not rig.emulator.utterances


async def test_a_very_long_text_is_cut_and_that_is_said(tmp_path: Path) -> None:
    """G5."""
    async with desktop_rig(tmp_path, Scenario(pace=0, first_frame_delay_s=60)) as rig:
        assert rig.player.speak("word " * (MAX_TEXT_CHARS // 5 + 10))
        assert any("100,000" in n for n in rig.notices)
        rig.player.stop()


async def test_speak_again_replaces_what_is_spoken(tmp_path: Path) -> None:
    """C11: two clicks are one reader."""
    async with desktop_rig(tmp_path) as rig:
        rig.player.speak(text_for(60))
        await rig.until(Phase.PLAYING)
        rig.player.speak(text_for(5, 101))
        rig.player.speak(text_for(6, 201))
        before = len(rig.speaker.heard)
        await rig.until(Phase.IDLE)
        sounded = rig.speaker.heard[before:]
        sounded = sounded[sounded != 0]
        # All of it but what was smoothed at the edges of silences, which a busy machine may cause.
        assert np.isin(sound(201, 6), sounded).mean() > 0.9
        assert not np.isin(sound(101, 5), sounded).any()
        assert rig.state.outcome is Outcome.COMPLETE
        assert rig.state.reading == 3


async def test_pause_and_resume_lose_nothing(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, workshop=Workshop(speed=4.0)) as rig:
        rig.player.speak(text_for(20))
        await heard(rig, 5 * FRAME_S)
        rig.player.pause()
        assert rig.state.phase is Phase.PAUSED
        held_at = rig.state.heard_s
        count = len(rig.speaker.heard)
        await eventually(lambda: len(rig.speaker.heard) > count + 5 * 480)
        assert rig.state.heard_s <= held_at + 2 * FRAME_S
        rig.player.resume()
        await rig.until(Phase.IDLE)
        assert rig.state.heard_s == pytest.approx(20 * FRAME_S)


@pytest.mark.parametrize(
    "phase", [Phase.CONNECTING, Phase.WAITING, Phase.PLAYING, Phase.PAUSED, Phase.PREPARING]
)
async def test_stop_is_silent_in_every_phase(tmp_path: Path, phase: Phase) -> None:
    scenario, decoder_waits = FAST, asyncio.Event()
    workshop = Workshop(speed=2.0)
    if phase is Phase.CONNECTING:
        scenario = Scenario(pace=0, handshake_delay_s=1)
    elif phase is Phase.WAITING:
        scenario = Scenario(pace=0, first_frame_delay_s=30)
    elif phase is Phase.PREPARING:
        loop = asyncio.get_running_loop()

        def slowly() -> FakeDecoder:
            asyncio.run_coroutine_threadsafe(decoder_waits.wait(), loop).result()
            return FakeDecoder()

        workshop.open_decoder = slowly
    async with desktop_rig(tmp_path, scenario, workshop=workshop) as rig:
        rig.player.speak(text_for(40))
        if phase is Phase.PAUSED:
            await rig.until(Phase.PLAYING)
            rig.player.pause()
        await rig.until(phase)
        rig.player.stop()
        assert rig.state.phase is Phase.IDLE
        assert rig.state.outcome is Outcome.CANCELLED
        before = len(rig.speaker.heard)
        await eventually(lambda: len(rig.speaker.heard) > before + 8 * 480)
        assert not rig.speaker.heard[before + 2 * 480 :].any()
        decoder_waits.set()
        await asyncio.sleep(0)


async def test_a_click_on_a_sentence_is_heard_from_there_also_when_all_is_over(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, workshop=Workshop(speed=4.0)) as rig:
        rig.player.speak(THREE)
        await rig.until(Phase.IDLE)
        count = len(rig.states)
        rig.player.seek_sentence(1)
        assert rig.state.is_speaking
        assert rig.state.sentence == 1
        await rig.until(Phase.IDLE)
        heard_s = [s.heard_s for s in rig.states[count:]]
        assert min(heard_s) >= 8 * FRAME_S - 1e-6
        assert rig.state.heard_s == pytest.approx(24 * FRAME_S)
        assert rig.state.outcome is Outcome.COMPLETE
        rig.player.seek_sentence(7)
        assert not rig.state.is_speaking


async def test_seeking_back_while_it_is_spoken_ends_with_all_heard(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, workshop=Workshop(speed=3.0)) as rig:
        rig.player.speak(THREE)
        await heard(rig, 12 * FRAME_S)
        rig.player.seek(0.0)
        assert rig.state.heard_s == 0.0
        assert rig.state.phase is Phase.PLAYING
        await rig.until(Phase.IDLE)
        assert rig.state.heard_s == pytest.approx(24 * FRAME_S)
        assert len(rig.emulator.utterances) == 1, "nothing is asked of the server again"


@pytest.mark.parametrize("ahead_frames", [1, 4, 100])
async def test_seeking_ahead_in_what_is_there_ends_as_ever(tmp_path: Path, ahead_frames: int) -> None:
    async with desktop_rig(tmp_path, workshop=Workshop(speed=2.0)) as rig:
        rig.player.speak(THREE)
        await heard(rig, 2 * FRAME_S)
        rig.player.seek(rig.state.heard_s + ahead_frames * FRAME_S)
        assert rig.state.phase is Phase.PLAYING
        await rig.until(Phase.IDLE)
        assert rig.state.outcome is Outcome.COMPLETE
        assert rig.state.heard_s == pytest.approx(24 * FRAME_S)


async def test_what_is_heard_again_while_the_live_sound_waits_is_shown_as_heard(tmp_path: Path) -> None:
    scenario = replace(FAST, stall_at_frame=12, stall_s=3.0)
    async with desktop_rig(tmp_path, scenario, workshop=Workshop(speed=2.0)) as rig:
        rig.player.speak(text_for(24))
        await rig.until(Phase.STALLED)
        rig.player.seek(0.0)
        await heard(rig, 2 * FRAME_S)
        assert rig.state.phase is Phase.PLAYING
        await rig.until(Phase.IDLE)
        assert rig.state.heard_s == pytest.approx(24 * FRAME_S)


async def test_phases_of_a_reading_come_in_their_order_and_its_end_is_told_at_once(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, workshop=Workshop(speed=2.0)) as rig:
        await eventually(lambda: rig.host.decoder.ready)
        rig.player.speak(text_for(24))
        await rig.until(Phase.IDLE)
        order = [Phase.CONNECTING, Phase.WAITING, Phase.BUFFERING, Phase.PLAYING, Phase.IDLE]
        assert [phase for phase in order if phase in rig.phases] == rig.phases
        assert all(state.outcome is not None for state in rig.states if state.phase is Phase.IDLE)


@pytest.mark.parametrize("is_held", [False, True])
async def test_a_replay_ends_with_its_engine(tmp_path: Path, is_held: bool) -> None:
    async with desktop_rig(tmp_path, workshop=Workshop(speed=2.0)) as rig:
        rig.player.speak(THREE)
        await rig.until(Phase.IDLE)
        rig.player.seek(0.0)
        if is_held:
            rig.player.pause()
        config = replace(rig.config, audio=replace(rig.config.audio, start_buffer_s=0.5))
        await rig.host.apply(config, is_demo=False)
        assert rig.state.phase is Phase.IDLE
        rig.player.seek(0.0)
        await rig.until(Phase.IDLE)
        assert rig.state.heard_s == pytest.approx(24 * FRAME_S)


async def test_sound_that_cannot_be_read_again_is_told_and_what_is_heard_goes_on(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, workshop=Workshop(speed=2.0)) as rig:
        rig.player.speak(THREE)
        await heard(rig, 4 * FRAME_S)

        def fail(start: int, stop: int) -> NoReturn:
            raise RecordingError("the disk is gone")

        assert rig.player._playing is not None
        rig.player._playing.sound.read = fail  # type: ignore[method-assign]
        rig.player.seek(0.0)
        assert "the disk is gone" in rig.notices
        assert rig.state.heard_s >= 4 * FRAME_S
        await rig.until(Phase.IDLE)
        assert rig.state.outcome is Outcome.COMPLETE


async def test_where_no_engine_can_be_made_a_text_does_not_wait_for_one(tmp_path: Path) -> None:
    def fail(config: Config) -> NoReturn:
        raise ConfigError("no such checkpoint")

    async with desktop_rig(tmp_path, start=False) as rig:
        rig.host._make_engine = fail
        assert rig.player.speak(text_for(4))
        await rig.host.start()
        assert rig.state.phase is Phase.IDLE
        assert not rig.player.speak(text_for(4))
        assert rig.state.phase is Phase.IDLE
        assert rig.notices == ["no such checkpoint"] * 2
        rig.host._make_engine = rig.workshop.build
        await rig.host.apply(replace(rig.config, audio=replace(rig.config.audio, start_buffer_s=0.5)), False)
        rig.player.speak(text_for(4))
        await rig.until(Phase.IDLE)
        assert rig.state.outcome is Outcome.COMPLETE


async def test_a_decoder_that_cannot_be_had_is_not_said_to_be_prepared(tmp_path: Path) -> None:
    def fail() -> NoReturn:
        raise ConfigError("no such checkpoint")

    workshop = Workshop(open_decoder=fail)
    async with desktop_rig(tmp_path, replace(FAST, handshake_delay_s=0.5), workshop=workshop) as rig:
        await eventually(lambda: rig.host.decoder.is_broken)
        rig.player.speak(text_for(4))
        await rig.until(Phase.IDLE)
        assert Phase.PREPARING not in rig.phases


async def test_a_finished_reading_is_in_the_history_and_is_heard_from_there(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path) as rig:
        rig.player.speak(THREE)
        await rig.until(Phase.IDLE)
        (entry,) = rig.history.entries()
        assert entry.text == THREE
        assert entry.duration_s == pytest.approx(24 * FRAME_S)
        assert entry.outcome is Outcome.COMPLETE
        assert entry.ttfa_s is not None
        assert entry.sentences == rig.state.sentences
    async with desktop_rig(tmp_path) as again:
        (entry,) = again.history.entries()
        again.player.replay(entry.id)
        assert again.state.is_speaking
        assert again.state.text == THREE
        assert len(again.player.peaks()) == 24 * 4
        await again.until(Phase.IDLE)
        assert again.state.heard_s == pytest.approx(24 * FRAME_S)
        assert not again.emulator.utterances


async def test_a_stopped_reading_is_kept_as_far_as_it_came(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, workshop=Workshop(speed=2.0)) as rig:
        rig.player.speak(text_for(40))
        await heard(rig, 4 * FRAME_S)
        rig.player.stop()
        (entry,) = rig.history.entries()
        assert entry.outcome is Outcome.CANCELLED
        assert entry.duration_s > 0


async def test_without_a_history_seeking_works_all_the_same(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, keep_history=False) as rig:
        rig.player.speak(THREE)
        await rig.until(Phase.IDLE)
        assert not rig.history.entries()
        rig.player.seek_sentence(2)
        await rig.until(Phase.IDLE)
        assert rig.state.heard_s == pytest.approx(24 * FRAME_S)


async def test_a_failure_says_why_and_the_next_text_is_spoken(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, Scenario(pace=0, handshake_status=503, handshake_refusals=2)) as rig:
        rig.player.speak(text_for(3))
        await rig.until(Phase.IDLE)
        assert rig.state.outcome is Outcome.FAILED
        assert "503" in rig.state.reason
        rig.emulator.scenario = FAST
        rig.player.speak(text_for(4))
        await rig.until(Phase.IDLE)
        assert rig.state.outcome is Outcome.COMPLETE


async def test_a_text_for_an_engine_that_is_not_there_yet_is_spoken_once_it_is(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, start=False) as rig:
        assert rig.player.speak(text_for(4))
        assert rig.state.phase is Phase.PREPARING
        await rig.host.start()
        await rig.until(Phase.IDLE)
        assert rig.state.outcome is Outcome.COMPLETE
        assert len(rig.emulator.utterances) == 1


async def test_a_text_that_waits_for_an_engine_can_be_stopped(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, start=False) as rig:
        rig.player.speak(text_for(4))
        rig.player.stop()
        assert rig.state == PlayerState()
        await rig.host.start()
        await asyncio.sleep(0.05)
        assert not rig.emulator.utterances


async def test_twenty_times_speak_and_stop(tmp_path: Path) -> None:
    """D5."""
    async with desktop_rig(tmp_path) as rig:
        for n in range(20):
            rig.player.speak(text_for(20, 1 + n))
            await asyncio.sleep(0.002 * n)
            rig.player.stop()
            assert not rig.state.is_speaking
        rig.player.speak(text_for(3, 500))
        await rig.until(Phase.IDLE)
        assert rig.state.outcome is Outcome.COMPLETE


async def test_a_voice_that_the_server_lacks_gives_way_visibly(tmp_path: Path) -> None:
    """B19."""
    async with desktop_rig(tmp_path) as rig:
        config = replace(rig.config, voice=VoiceConfig(name=" Nobody "))
        await rig.host.apply(config, is_demo=False)
        rig.player.offer(VoiceList(("vivian", "ryan"), ()))
        for _ in range(2):
            rig.player.speak(text_for(2))
            await rig.until(Phase.IDLE)
        assert rig.state.outcome is Outcome.COMPLETE
        assert [u.config.voice for u in rig.emulator.utterances] == [None, None]
        assert len([n for n in rig.notices if "nobody" in n]) == 1
