"""Emulator, session, decode thread, ring and the real keeper around an output without a device."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from app.audio.keeper import OutputKeeper
from app.audio.null import NullOutput
from app.engine.engine import Engine, Parts
from app.engine.events import EngineEvent, StageChanged
from app.engine.state import Stage
from app.playback.chunk_policy import StartBuffer
from app.playback.decode_worker import DecodeWorker
from app.playback.pcm_source import PcmSource
from app.session.address import server_address
from app.session.session import Session
from decoder.wire.events import Outcome
from decoder.wire.messages import SessionConfig
from server.emulator import Emulator, Scenario
from tests.helpers.counting_talker import CountingTalker, text_for
from tests.helpers.engine_rig import Tape
from tests.helpers.fake_decoder import SPEC, FakeDecoder, sound
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left
from tests.helpers.waiting import eventually

__all__ = ["no_task_is_left", "no_thread_is_left"]


@asynccontextmanager
async def engine_at(
    scenario: Scenario, *, paced: bool, events: list[EngineEvent]
) -> AsyncIterator[tuple[Engine, Emulator]]:
    async with Emulator(CountingTalker(), scenario) as emulator:
        address = server_address(emulator.url)
        parts = Parts(
            session=lambda on_event: Session(address, SPEC, on_event),
            worker=lambda emit: DecodeWorker(FakeDecoder, emit, StartBuffer(0.16)),
            output=lambda source, tell: OutputKeeper(
                source, lambda of, _: NullOutput(of, paced=paced), lambda _: None, fingerprint=lambda: None
            ),
            source=PcmSource(SPEC.sample_rate_hz),
        )
        engine = Engine(parts, SessionConfig())
        engine.subscribe(events.append)
        await engine.start()
        try:
            yield engine, emulator
        finally:
            await engine.aclose()


async def test_in_real_time_the_sound_takes_as_long_as_it_is_and_starts_early() -> None:
    events: list[EngineEvent] = []
    tape = Tape()
    async with engine_at(Scenario(pace=2.0), paced=True, events=events) as (engine, _):
        await engine.prepared()
        await engine.connect()
        started_s = time.perf_counter()
        done = await asyncio.wait_for(engine.speak(text_for(25), (tape,)), 10)
        took_s = time.perf_counter() - started_s
    assert done.outcome is Outcome.COMPLETE
    assert np.array_equal(tape.pcm, sound(1, 25))
    assert 2.0 <= took_s < 3.5
    assert done.report.ttfa_s is not None
    assert done.report.ttfa_s < 0.8
    assert done.report.underruns == 0
    stages = [e.stage for e in events if isinstance(e, StageChanged)]
    assert stages == [
        Stage.QUEUED, Stage.CONNECTING, Stage.WAITING, Stage.BUFFERING,
        Stage.PLAYING, Stage.DRAINING, Stage.DONE,
    ]  # fmt: skip


async def test_for_a_file_only_a_minute_takes_a_moment() -> None:
    tape = Tape()
    async with engine_at(Scenario(pace=0, packet_frames=25), paced=False, events=[]) as (engine, _):
        started_s = time.perf_counter()
        done = await asyncio.wait_for(engine.speak(text_for(750), (tape,)), 20)
        assert time.perf_counter() - started_s < 15.0
    assert done.outcome is Outcome.COMPLETE
    assert np.array_equal(tape.pcm, sound(1, 750))


async def test_a_paragraph_is_recorded_in_its_order_without_a_sample_too_many() -> None:
    tape = Tape()
    firsts = range(1, 400, 40)
    async with engine_at(Scenario(pace=0), paced=False, events=[]) as (engine, emulator):
        asked = [engine.speak(text_for(7, first), (tape,)) for first in firsts]
        done = await asyncio.wait_for(asyncio.gather(*asked), 20)
        assert {d.outcome for d in done} == {Outcome.COMPLETE}
        assert len(emulator.sessions) == 1
    assert np.array_equal(tape.pcm, np.concatenate([sound(first, 7) for first in firsts]))


@pytest.mark.parametrize("paced", [True, False])
async def test_twenty_stops_at_any_time_and_then_a_whole_text(paced: bool) -> None:
    async with engine_at(Scenario(pace=4.0), paced=paced, events=[]) as (engine, emulator):
        await engine.prepared()
        for turn in range(20):
            tape = Tape()
            finished = engine.speak(text_for(30), (tape,))
            await asyncio.sleep(0.013 * (turn % 9))
            await engine.cancel()
            assert finished.result().outcome is Outcome.CANCELLED
        tape = Tape()
        done = await asyncio.wait_for(engine.speak(text_for(6, first=900), (tape,)), 10)
        assert done.outcome is Outcome.COMPLETE
        assert np.array_equal(tape.pcm, sound(900, 6))
        # A stop in the very handshake gives that one up; no link that was there is lost.
        assert sum(bool(session.received) for session in emulator.sessions) == 1, (
            "a stop does not cost the link"
        )
    await eventually(lambda: emulator.open_sessions == 0)
