"""What a front end sees of a whole engine: order of events, exact sound, ends of every kind."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from app.engine.events import DecoderState, EngineEvent, Notice, Severity, StageChanged, UtteranceDone
from app.engine.state import Stage
from app.errors import NearfieldError
from decoder.wire.budget import budget_s
from decoder.wire.events import Mode, Outcome
from server.emulator import Scenario
from tests.helpers.counting_talker import text_for
from tests.helpers.engine_rig import FAST, Tape, rig, sound, sound_of
from tests.helpers.fake_decoder import SPEC, FakeDecoder
from tests.helpers.waiting import eventually

WHOLE_FIRST_S = 30.0
"""A start buffer no text here fills: it is heard once all of it is decoded, so never with an underrun."""


async def test_a_text_becomes_exactly_the_sound_of_the_frames_that_were_sent() -> None:
    """The recording and the loudspeaker have N times 1920 samples, equal to the decoder's."""
    tape = Tape()
    async with rig(start_buffer_s=WHOLE_FIRST_S) as r:
        done = await r.say(text_for(60), (tape,))
        sent = r.emulator.utterances[0].codes
        assert len(sent) == 60
    assert (done.outcome, done.reason) == (Outcome.COMPLETE, "")
    assert np.array_equal(tape.pcm, sound_of(sent))
    assert np.array_equal(r.speaker.sounded[: len(tape.pcm)], sound(1, 60))
    assert (done.report.frames, done.report.audio_s) == (60, pytest.approx(4.8))
    assert done.report.ttfa_s == pytest.approx(sum(v for v in vars(done.report.parts).values()), abs=1e-6)


async def test_events_come_in_the_order_in_which_things_happen() -> None:
    async with rig(replace(FAST, pace=4.0), speed=2.0) as r:
        done = await r.say(text_for(12))
    stages = r.stages()
    assert stages[:4] == [Stage.QUEUED, Stage.CONNECTING, Stage.WAITING, Stage.BUFFERING]
    assert stages[-2:] == [Stage.DRAINING, Stage.DONE]
    assert r.events[-1] == done
    assert [e.ready for e in r.of(DecoderState)] == [False, True]
    assert [link.state.value for link in r.links][:2] == ["connecting", "ready"]
    assert r.links[-1].mode is Mode.CODEC


@pytest.mark.parametrize("eos", ["own", "last", "none"])
async def test_any_number_of_frames_and_any_style_of_end_gives_all_samples(eos: str) -> None:
    async with rig(replace(FAST, eos=eos)) as r:
        for count in (1, 24, 25, 26, 51):
            tape = Tape()
            done = await r.say(text_for(count), (tape,))
            assert done.outcome is Outcome.COMPLETE
            assert np.array_equal(tape.pcm, sound(1, count))


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_packets_of_any_size_give_the_same_sound(seed: int) -> None:
    tape = Tape()
    async with rig(replace(FAST, packet_frames=1, packet_frames_max=40, seed=seed)) as r:
        done = await r.say(text_for(200), (tape,))
    assert done.outcome is Outcome.COMPLETE
    assert np.array_equal(tape.pcm, sound(1, 200))


async def test_a_talker_that_does_not_stop_is_cut_off_and_told_to() -> None:
    text, tape = text_for(20), Tape()
    async with rig(replace(FAST, endless=True, faulty_utterances=1)) as r:
        done = await r.say(text, (tape,))
        assert done.outcome is Outcome.CUT_OFF
        assert "did not stop" in done.reason
        assert len(tape.pcm) == math.ceil(budget_s(text) * 12.5) * 1920
        await eventually(lambda: r.emulator.utterances[0].cancelled_at is not None)
        assert (await r.say(text_for(2))).outcome is Outcome.COMPLETE
        assert len(r.emulator.sessions) == 1


@pytest.mark.parametrize(
    "nothing",
    [
        {"max_frames": 0},
        {"max_frames": 0, "eos": "none"},
        {"max_frames": 0, "empty_message_at": 0},
        {"zero_codes": True},
    ],
    ids=["only EOS", "only codec.done", "an empty message", "all-zero codes"],
)
async def test_no_audio_at_all_is_told_within_a_second(nothing: dict[str, int]) -> None:
    async with rig(replace(FAST, **nothing, faulty_utterances=1), speed=1.0) as r:
        await r.engine.prepared()
        started_s = time.perf_counter()
        done = await r.say(text_for(3))
        assert time.perf_counter() - started_s < 1.0
        assert done.outcome is Outcome.EMPTY
        assert done.report.ttfa_s is None
        assert not len(r.speaker.sounded)


@pytest.mark.parametrize("fault", [{"drop_packets": (2,)}, {"swap_packets": (1,)}])
async def test_lost_and_swapped_packets_are_told_and_spliced_with_a_fade(
    fault: dict[str, tuple[int]],
) -> None:
    tape = Tape()
    async with rig(replace(FAST, **fault)) as r:
        done = await r.say(text_for(5), (tape,))
    assert done.outcome is Outcome.INCOMPLETE
    assert any("stream is damaged" in text for text in r.notices)
    assert len(tape.pcm) == 4 * 1920
    assert r.decoder.log[-1][0] == r.decoder.streams, "what follows a hole comes from a new state"


async def test_impossible_codes_never_reach_the_decoder_and_the_next_text_is_fine() -> None:
    async with rig(replace(FAST, bad_code=2150, bad_code_frame=2, faulty_utterances=1)) as r:
        done = await r.say(text_for(5))
        assert done.outcome is Outcome.INCOMPLETE
        tape = Tape()
        assert (await r.say(text_for(5), (tape,))).outcome is Outcome.COMPLETE
        assert np.array_equal(tape.pcm, sound(1, 5))


async def test_a_pause_after_the_first_frame_is_heard_as_at_most_one_gap() -> None:
    scenario = Scenario(pace=1.0, packet_frames=25, stall_at_frame=1, stall_s=1.0)
    tape = Tape()
    async with rig(scenario, speed=1.0) as r:
        done = await r.say(text_for(26), (tape,))
    assert done.outcome is Outcome.COMPLETE
    assert done.report.underruns <= 1
    assert np.array_equal(tape.pcm, sound(1, 26))


async def test_a_stall_is_one_gap_and_not_the_end() -> None:
    scenario = Scenario(pace=4.0, stall_at_frame=2, stall_s=1.2, catch_up=True)
    tape = Tape()
    async with rig(scenario, speed=1.0) as r:
        done = await r.say(text_for(10), (tape,))
    assert (done.outcome, done.report.underruns) == (Outcome.COMPLETE, 1)
    assert np.array_equal(tape.pcm, sound(1, 10))
    assert Stage.STALLED in r.stages()
    assert r.stages().index(Stage.STALLED) < r.stages().index(Stage.DRAINING) < r.stages().index(Stage.DONE)


async def test_a_huge_packet_is_heard_long_before_all_of_it_is_decoded() -> None:
    decoder = FakeDecoder()
    async with rig(replace(FAST, packet_frames=1000), decoder=decoder, speed=1.0) as r:
        await r.engine.prepared()
        decoder.log.clear()
        decoder.before_chunk = lambda frames: time.sleep(0.002 * frames)
        finished = r.engine.speak(text_for(1000))
        await r.until(Stage.PLAYING)
        assert sum(decoder.chunks) < 500
        assert max(decoder.chunks) <= 25
        await r.engine.cancel()
        assert (await finished).outcome is Outcome.CANCELLED


async def test_a_slow_decoder_costs_neither_the_link_nor_a_sample() -> None:
    """The decoder is slower than the server and than real time; the server pings every half second."""
    decoder, tape = FakeDecoder(), Tape()
    async with rig(decoder=decoder, speed=1.0, ping_s=0.5) as r:
        await r.engine.prepared()
        decoder.before_chunk = lambda frames: time.sleep(0.24 * frames)
        done = await r.say(text_for(14), (tape,))
        assert len(r.emulator.sessions) == 1
    assert done.outcome is Outcome.COMPLETE
    assert np.array_equal(tape.pcm, sound(1, 14))
    assert done.report.rtf == pytest.approx(3.0, abs=0.5)


async def test_another_codec_is_one_clear_error_that_names_both_values() -> None:
    async with rig(replace(FAST, announce={"codebook_size": 1024}, faulty_utterances=1)) as r:
        done = await r.say(text_for(5))
        assert done.outcome is Outcome.FAILED
        assert "1024" in done.reason
        assert "2048" in done.reason
        assert not len(r.speaker.sounded)
        assert (await r.say(text_for(5))).outcome is Outcome.COMPLETE


async def test_an_error_in_mid_utterance_shows_the_servers_text_and_plays_what_it_had() -> None:
    tape = Tape()
    async with rig(replace(FAST, error_at_frame=10, error_text="the GPU is on fire")) as r:
        done = await r.say(text_for(20), (tape,))
    assert done.outcome is Outcome.FAILED
    assert "the GPU is on fire" in done.reason
    assert np.array_equal(tape.pcm, sound(1, 10))
    assert len(r.speaker.sounded) >= 10 * 1920


async def test_a_decoder_that_fails_ends_that_utterance_only() -> None:
    decoder = FakeDecoder()
    async with rig(replace(FAST, pace=2.0), decoder=decoder) as r:
        await r.engine.prepared()
        decoder.fails_at = 6
        done = await r.say(text_for(60))
        assert done.outcome is Outcome.FAILED
        assert "frame 6 cannot be decoded" in done.reason
        await eventually(lambda: r.emulator.utterances[0].cancelled_at is not None)
        decoder.fails_at = None
        tape = Tape()
        assert (await r.say(text_for(5), (tape,))).outcome is Outcome.COMPLETE
        assert np.array_equal(tape.pcm, sound(1, 5))


async def test_a_decoder_that_fails_after_all_was_received_turns_a_good_end_into_a_failure() -> None:
    decoder, go_on = FakeDecoder(), threading.Event()
    async with rig(decoder=decoder) as r:
        await r.engine.prepared()
        decoder.fails_at, decoder.before_chunk = 2, lambda _: go_on.wait(5) and None
        finished = r.engine.speak(text_for(3))
        await eventually(lambda: r.emulator.utterances and r.emulator.utterances[0].finished)
        go_on.set()
        assert (await asyncio.wait_for(finished, 5)).outcome is Outcome.FAILED


async def test_a_decoder_that_cannot_be_loaded_is_told_and_fails_every_text() -> None:
    def broken() -> FakeDecoder:
        raise OSError("model.safetensors has 3 bytes")

    async with rig(open_decoder=broken) as r:
        for _ in range(2):
            with pytest.raises(NearfieldError, match="3 bytes"):
                await r.engine.prepared()
        done = await r.say(text_for(3))
        assert done.outcome is Outcome.FAILED
        assert "3 bytes" in done.reason
        assert r.of(DecoderState)[-1] == DecoderState(False, "model.safetensors has 3 bytes", is_broken=True)
        assert not r.emulator.utterances


async def test_a_sink_that_fails_is_told_and_the_sound_goes_on() -> None:
    class FullDisk(Tape):
        def write(self, pcm: np.ndarray) -> None:
            raise OSError("no space left")

    tape = Tape()
    async with rig() as r:
        done = await r.say(text_for(5), (FullDisk(), tape))
    assert done.outcome is Outcome.COMPLETE
    assert "the recording stopped: no space left" in r.notices
    assert np.array_equal(tape.pcm, sound(1, 5))


async def test_the_next_text_is_under_way_while_one_is_heard_and_follows_without_a_gap() -> None:
    async with rig(replace(FAST, packet_frames=5), speed=2.0, start_buffer_s=WHOLE_FIRST_S) as r:
        first, second = r.engine.speak(text_for(10)), r.engine.speak(text_for(10, first=500))
        await asyncio.gather(first, second)
        ends = [e.utterance for e in r.events if isinstance(e, UtteranceDone)]
    assert ends == [1, 2]
    order = [(e.utterance, e.stage) for e in r.of(StageChanged)]
    assert order.index((2, Stage.WAITING)) < order.index((1, Stage.DONE))
    heard = r.speaker.heard
    start = int(np.flatnonzero(heard)[0])
    together = np.concatenate([sound(1, 10), sound(500, 10)])
    assert np.array_equal(heard[start : start + len(together)], together)
    assert r.speaker.asked_between_utterances == 1, "the device is not changed while something is heard"


async def test_no_more_than_one_text_is_ahead() -> None:
    async with rig(speed=1.0) as r:
        for first in (1, 100, 200):
            r.engine.speak(text_for(20, first))
        await eventually(lambda: len(r.emulator.utterances) == 2 and r.emulator.utterances[1].finished)
        await asyncio.sleep(0.1)
        assert r.stages(3) == [Stage.QUEUED]


async def test_pause_holds_the_sound_and_resume_goes_on_without_losing_a_sample() -> None:
    tape = Tape()
    async with rig(speed=4.0, start_buffer_s=WHOLE_FIRST_S) as r:
        finished = r.engine.speak(text_for(20), (tape,))
        await r.until(Stage.DRAINING)
        r.engine.pause()
        await asyncio.sleep(0.05)
        held = len(r.speaker.sounded)
        await asyncio.sleep(0.1)
        assert len(r.speaker.sounded) == held
        assert not finished.done()
        r.engine.resume()
        assert (await asyncio.wait_for(finished, 5)).outcome is Outcome.COMPLETE
    assert len(r.speaker.sounded) >= 20 * 1920
    ramp = sound(1, 20)
    assert np.isin(ramp, r.speaker.sounded).sum() >= len(ramp) - 120, "all but the fade in is untouched"


@pytest.mark.parametrize("text", ["", "  ", "…", "\u200b"])
async def test_a_text_without_anything_to_say_is_refused_at_once(text: str) -> None:
    async with rig() as r:
        with pytest.raises(ValueError, match="nothing to say"):
            r.engine.speak(text)
        assert not r.of(StageChanged)


async def test_a_lone_surrogate_is_cleaned_away_before_anything_is_sent() -> None:
    async with rig() as r:
        done = await r.say("Say\ud800 3 frames from 1")
        assert (done.outcome, done.text) == (Outcome.COMPLETE, "Say 3 frames from 1")
        assert len(r.emulator.sessions) == 1


# -- listeners ------------------------------------------------------------------------------------------


async def test_a_listener_that_raises_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def bad(event: EngineEvent) -> None:
        raise RuntimeError("a widget is gone")

    async with rig() as r:
        r.engine.subscribe(bad)
        tape = Tape()
        assert (await r.say(text_for(5), (tape,))).outcome is Outcome.COMPLETE
    assert len(tape.pcm) == 5 * 1920
    assert "a widget is gone" in caplog.text


async def test_a_listener_may_ask_for_the_next_text_when_it_is_told_of_an_end() -> None:
    """Also at a Stop: what was asked for after it is spoken."""
    async with rig(replace(FAST, first_frame_delay_s=30.0, faulty_utterances=1)) as r:
        asked: list[asyncio.Future[UtteranceDone]] = []

        def ask(event: EngineEvent) -> None:
            if isinstance(event, UtteranceDone) and not asked:
                asked.append(r.engine.speak(text_for(3)))

        r.engine.subscribe(ask)
        r.engine.speak(text_for(5))
        r.engine.speak(text_for(6))
        await r.until(Stage.WAITING)
        await r.engine.cancel()
        assert (await asyncio.wait_for(asked[0], 5)).outcome is Outcome.COMPLETE


# -- housekeeping ---------------------------------------------------------------------------------------


async def test_twenty_times_speak_and_stop_leave_nothing_behind(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with rig(replace(FAST, pace=4.0), speed=4.0) as r:
        await r.say(text_for(2))
        tasks = len(asyncio.all_tasks())
        for turn in range(20):
            finished = r.engine.speak(text_for(20))
            await asyncio.sleep(0.01 * (turn % 7))
            await r.engine.cancel()
            assert (await finished).outcome is Outcome.CANCELLED
        tape = Tape()
        assert (await r.say(text_for(5), (tape,))).outcome is Outcome.COMPLETE
        assert np.array_equal(tape.pcm, sound(1, 5))
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks)
    assert not [m for m in caplog.records if m.name.startswith("nearfield")]


async def test_nothing_depends_on_a_task_that_nobody_holds(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    async with rig(replace(FAST, pace=8.0), speed=4.0) as r:
        finished = r.engine.speak(text_for(10))
        while not finished.done():
            gc.collect()
            await asyncio.sleep(0.01)
        assert finished.result().outcome is Outcome.COMPLETE
    gc.collect()
    assert "never" not in caplog.text
    assert "destroyed" not in caplog.text


async def test_two_texts_do_not_share_a_decoder_state() -> None:
    async with rig() as r:
        await r.engine.prepared()
        r.decoder.log.clear()
        await r.say(text_for(5))
        await r.say(text_for(5))
    streams = {number for number, _, _ in r.decoder.log}
    assert len(streams) == 2


# -- servers that decode --------------------------------------------------------------------------------


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    count = min(len(a), len(b))
    return float(np.corrcoef(a[:count], b[:count])[0, 1])


@pytest.mark.parametrize("rate_hz", [24_000, 48_000])
async def test_a_stock_servers_pcm_goes_the_same_way_at_our_rate(rate_hz: int) -> None:
    from server.emulator.tone import tone

    spec = replace(SPEC, sample_rate_hz=rate_hz, samples_per_frame=rate_hz * 2 // 25)
    tape, text = Tape(), text_for(5)
    async with rig(replace(FAST, kind="stock"), talker_spec=spec) as r:
        done = await r.say(text, (tape,))
        again = await r.say(text)
        pcm_s = r.emulator.utterances[0].pcm_bytes / 2 / rate_hz
    assert (done.outcome, again.outcome) == (Outcome.COMPLETE, Outcome.COMPLETE)
    assert abs(len(tape.pcm) - 24_000 * pcm_s) <= 2
    assert correlation(tape.pcm, tone(0, len(tape.pcm), 24_000).astype(np.float32)) > 0.999
    assert r.links[-1].mode is Mode.PCM
    assert done.report.rtf is None
    assert done.report.frames == 0
    infos = [n.text for n in r.of(Notice) if n.severity is Severity.INFO]
    assert len([text for text in infos if "decodes itself" in text]) == 1


async def test_a_stock_server_is_stopped_by_leaving_it() -> None:
    async with rig(Scenario(kind="stock", pace=2.0), speed=4.0) as r:
        tape = Tape()
        finished = r.engine.speak(text_for(30), (tape,))
        await r.until(Stage.PLAYING)
        await r.engine.cancel()
        assert (await finished).outcome is Outcome.CANCELLED
        await eventually(lambda: not r.emulator.sessions[0].open)
        kept = len(tape.pcm)
        r.emulator.scenario = Scenario(kind="stock", pace=0)
        assert (await r.say(text_for(3))).outcome is Outcome.COMPLETE
        assert len(r.emulator.sessions) == 2
        assert len(tape.pcm) == kept


async def test_a_model_without_codec_tokens_is_asked_once_more_for_pcm() -> None:
    async with rig(replace(FAST, kind="no-codec-adapter")) as r:
        done = await r.say(text_for(3))
        assert done.outcome is Outcome.COMPLETE
        assert done.report.audio_s > 0
        assert len(r.emulator.sessions) == 1
        assert r.links[-1].mode is Mode.PCM


async def test_a_talker_alone_behind_a_stock_handler_is_named() -> None:
    async with rig(replace(FAST, kind="stock-talker-only")) as r:
        done = await r.say(text_for(3))
    assert done.outcome is Outcome.EMPTY
    assert done.reason == "the server produced neither audio nor codec frames"


async def test_an_older_server_gets_a_fresh_link_for_every_text() -> None:
    async with rig(replace(FAST, old_generation=True)) as r:
        for _ in range(3):
            tape = Tape()
            assert (await r.say(text_for(5), (tape,))).outcome is Outcome.COMPLETE
            assert np.array_equal(tape.pcm, sound(1, 5))
        assert len(r.emulator.sessions) == 3


# -- in which order the rig ends ------------------------------------------------------------------------


async def test_what_comes_after_the_end_is_cancelled_and_nobody_waits_for_the_decoder() -> None:
    held = threading.Event()

    def open_late() -> FakeDecoder:
        held.wait(5)
        return FakeDecoder()

    async with rig(open_decoder=open_late) as r:
        waiting = asyncio.ensure_future(r.engine.prepared())
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(r.engine.aclose())
        with pytest.raises(NearfieldError, match="closed"):
            await asyncio.wait_for(waiting, 1)
        held.set()
        await closing
        done = await asyncio.wait_for(r.engine.speak(text_for(3)), 1)
        assert done.outcome is Outcome.CANCELLED
        assert r.speaker.is_closed
