"""Stop and close, pressed in every stage an utterance can be in."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import numpy as np
import pytest

from app.engine.events import UtteranceDone
from app.engine.state import Stage
from decoder.wire.events import Outcome
from server.emulator import Scenario
from tests.helpers.counting_talker import text_for
from tests.helpers.engine_rig import FAST, Rig, Tape, rig, sound
from tests.helpers.fake_decoder import FakeDecoder
from tests.helpers.waiting import eventually

LEFT_BY_A_FADE = 2 * 480
"""Samples that may still come out while the sound falls silent: a block, and 10 ms."""


@dataclass
class Held:
    """An engine whose first utterance stands in a stage, and what lets go of whatever holds it there."""

    rig: Rig
    tape: Tape
    finished: asyncio.Future[UtteranceDone]
    let_go: Callable[[], None] = lambda: None

    @property
    def cancels(self) -> int:
        """How many cancels the server was sent on its first connection; the first is the probe."""
        sessions = self.rig.emulator.sessions
        return sum('"input.cancel"' in str(m) for m in sessions[0].received) if sessions else 0


@asynccontextmanager
async def held_in(stage: str) -> AsyncIterator[Held]:
    """Bring an utterance of 40 frames into ``stage``."""
    scenario, start_buffer_s, release, decoder = Scenario(pace=2.0), 0.0, threading.Event(), FakeDecoder()
    frames = 40
    match stage:
        case "connecting":
            scenario = Scenario(pace=0, handshake_delay_s=1.0)
        case "waiting":
            scenario = Scenario(pace=0, first_frame_delay_s=60.0)
        case "buffering":
            start_buffer_s = 60.0
        case "draining" | "inside the decoder":
            scenario = FAST

    def open_decoder() -> FakeDecoder:
        if stage == "preparing":
            release.wait(10)
        return decoder

    async with rig(scenario, speed=1.0, start_buffer_s=start_buffer_s, open_decoder=open_decoder) as r:
        if stage != "preparing":
            await r.engine.prepared()
        held = Held(r, Tape(), asyncio.get_running_loop().create_future(), release.set)
        if stage == "between two devices":
            r.speaker.holds_up_utterances = asyncio.Event()
            held.let_go = r.speaker.holds_up_utterances.set
        if stage == "queued":
            r.engine.speak(text_for(40))
            r.engine.speak(text_for(40))
        inside = threading.Event()
        if stage == "inside the decoder":

            def block(_: int) -> None:
                inside.set()
                release.wait(10)

            decoder.before_chunk = block
        held.finished = r.engine.speak(text_for(frames), (held.tape,))
        match stage:
            case "queued":
                await r.until(Stage.PLAYING)
                assert r.stages(3) == [Stage.QUEUED]
            case "between two devices":
                await eventually(lambda: r.speaker.asked_between_utterances)
                await r.until(Stage.BUFFERING)
            case "preparing":
                await r.until(Stage.CONNECTING)
            case "inside the decoder":
                await eventually(inside.is_set)
            case _:
                await r.until(Stage[stage.upper()])
        try:
            yield held
        finally:
            held.let_go()


STAGES = [
    "queued",
    "between two devices",
    "preparing",
    "connecting",
    "waiting",
    "buffering",
    "playing",
    "draining",
    "inside the decoder",
]
GENERATING = ("between two devices", "waiting", "buffering", "playing")


@pytest.mark.parametrize("stage", STAGES)
async def test_stop_is_silent_at_once_tells_the_server_and_leaves_nothing_for_the_next_text(
    stage: str,
) -> None:
    async with held_in(stage) as held:
        r = held.rig
        pressed_s = time.perf_counter()
        await r.engine.cancel()
        kept, already = len(held.tape.pcm), len(r.speaker.heard)
        assert held.finished.done()
        assert held.finished.result().outcome is Outcome.CANCELLED
        if stage in GENERATING:
            await eventually(lambda: held.cancels == 2, 0.2, "the cancel arrives")
        assert time.perf_counter() - pressed_s < 0.4

        held.let_go()
        await eventually(lambda: len(r.speaker.heard) > already + 5000)
        after = r.speaker.heard[already:]
        assert not after[LEFT_BY_A_FADE:].any(), "old sound after a stop"
        assert len(held.tape.pcm) == kept

        r.emulator.scenario = FAST
        tape = Tape()
        already = len(r.speaker.heard)
        done = await r.say(text_for(3, first=900), (tape,))
        assert done.outcome is Outcome.COMPLETE
        assert np.array_equal(tape.pcm, sound(900, 3))
        assert np.array_equal(r.speaker.heard[already:][r.speaker.heard[already:] != 0][:3840], sound(900, 2))
        assert len(held.tape.pcm) == kept
        texts = [u.text for u in r.emulator.utterances]
        if stage in ("queued", "preparing", "connecting"):
            assert text_for(40) not in texts[2:]
        if stage in ("preparing", "connecting"):
            assert texts == [text_for(3, first=900)], "what was stopped is not sent later"


@pytest.mark.parametrize("stage", STAGES)
async def test_close_ends_in_good_time_and_tells_the_server(stage: str) -> None:
    async with held_in(stage) as held:
        started_s = time.perf_counter()
        closing = asyncio.ensure_future(held.rig.engine.aclose())
        if stage in GENERATING:
            await eventually(lambda: held.cancels == 2, 0.2, "the cancel arrives")
        await asyncio.wait_for(closing, 5.0)
        assert time.perf_counter() - started_s < 4.0
        assert held.finished.result().outcome is Outcome.CANCELLED
        await eventually(lambda: held.rig.emulator.open_sessions == 0)


async def test_stop_while_it_waits_to_connect_again_is_immediate() -> None:
    """The wait between two tries of an unreachable server is interrupted."""
    async with rig(Scenario(handshake_status=503), patience_s=60.0) as r:
        finished = r.engine.speak(text_for(3))
        await eventually(lambda: any(link.retry_in_s for link in r.links))
        started_s = time.perf_counter()
        await r.engine.cancel()
        assert finished.result().outcome is Outcome.CANCELLED
        r.emulator.scenario = FAST
        assert (await r.say(text_for(3))).outcome is Outcome.COMPLETE
        assert time.perf_counter() - started_s < 1.0
        assert [u.text for u in r.emulator.utterances] == [text_for(3)]


async def test_stop_empties_the_queue() -> None:
    async with rig(Scenario(pace=2.0), speed=1.0) as r:
        asked = [r.engine.speak(text_for(20, first)) for first in (1, 100, 200, 300, 400)]
        await r.until(Stage.PLAYING)
        await r.engine.cancel()
        assert {f.result().outcome for f in asked} == {Outcome.CANCELLED}
        assert (await r.say(text_for(2, first=700))).outcome is Outcome.COMPLETE
        assert len(r.emulator.utterances) <= 3


async def test_stop_ends_a_pause_too() -> None:
    async with rig(Scenario(pace=2.0), speed=1.0) as r:
        r.engine.speak(text_for(20))
        await r.until(Stage.PLAYING)
        r.engine.pause()
        await r.engine.cancel()
        assert (await r.say(text_for(2))).outcome is Outcome.COMPLETE


async def test_quitting_in_a_flood_takes_no_time() -> None:
    """An endless talker as fast as it goes, in packets of 500 frames."""
    async with rig(Scenario(pace=0, packet_frames=500, endless=True)) as r:
        r.engine.speak(text_for(1500))
        await r.until(Stage.BUFFERING)
        started_s = time.perf_counter()
        await r.engine.aclose()
        assert time.perf_counter() - started_s < 5.0


async def test_closing_twice_and_closing_what_was_never_started_do_no_harm() -> None:
    async with rig() as r:
        await r.engine.aclose()
        await r.engine.aclose()


async def test_a_decoder_that_is_stuck_does_not_hold_up_the_end(caplog: pytest.LogCaptureFixture) -> None:
    async with held_in("inside the decoder") as held:
        started_s = time.perf_counter()
        await asyncio.wait_for(held.rig.engine.aclose(), 5.0)
        assert time.perf_counter() - started_s < 3.0
        assert "stuck" in caplog.text


@pytest.mark.parametrize("turn", range(12))
async def test_close_at_any_instant_ends_every_text_and_leaves_nothing(turn: int) -> None:
    async with rig(Scenario(pace=8.0, handshake_delay_s=0.02, first_frame_delay_s=0.02), speed=8.0) as r:
        asked = [r.engine.speak(text_for(8, first)) for first in (1, 100, 200)]
        await asyncio.sleep(0.017 * turn)
        await asyncio.wait_for(r.engine.aclose(), 5.0)
        assert all(f.done() for f in asked)
        await eventually(lambda: r.emulator.open_sessions == 0)


async def test_a_part_that_fails_to_close_does_not_keep_the_others_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with rig() as r:
        real = r.speaker.aclose

        class Broken(Exception):
            pass

        async def fail() -> None:
            await real()
            raise Broken("the card is gone")

        r.speaker.aclose = fail
        await r.say(text_for(2))
        await r.engine.aclose()
        await eventually(lambda: r.emulator.open_sessions == 0)
        assert "the card is gone" in caplog.text


async def test_while_a_decoder_is_busy_the_loop_goes_on() -> None:
    """A window would be painted and pings answered: no pause of the loop is as long as a chunk's decoding."""
    decoder = FakeDecoder()
    async with rig(FAST, decoder=decoder) as r:
        await r.engine.prepared()
        decoder.before_chunk = lambda _: time.sleep(1.5)
        finished = r.engine.speak(text_for(2))
        gaps, last_s = [], time.perf_counter()
        while not finished.done():
            await asyncio.sleep(0.005)
            now_s = time.perf_counter()
            gaps.append(now_s - last_s)
            last_s = now_s
        assert finished.result().outcome is Outcome.COMPLETE
        assert max(gaps) < 0.5
