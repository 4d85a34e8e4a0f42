"""What is heard, by a clock and a callback that the test drives."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import numpy as np
import pytest

from app.engine.events import EngineEvent, Progress
from app.engine.hearing import PROGRESS_EVERY, Hearing
from app.engine.state import Stage
from app.engine.utterance import Utterance
from app.metrics.meter import Meter
from app.playback.speech_job import SpeechJob
from app.playback.track import Track
from decoder.wire.events import Outcome

RATE_HZ = 24_000


@dataclass
class Bench:
    now_s: float = 100.0
    told: list[EngineEvent] = field(default_factory=list)
    finished: list[Utterance] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.track = Track(RATE_HZ)
        future = asyncio.get_running_loop().create_future()
        self.utterance = Utterance(1, "Hi", Meter(99.0, RATE_HZ), (), 99.0, future, self.told.append)
        for stage in (Stage.CONNECTING, Stage.WAITING, Stage.BUFFERING):
            self.utterance.advance(stage)
        self.active = [self.utterance]
        self.hearing = Hearing(self.active, lambda: self.now_s, self.told.append, self._finish, lambda: 0)

    def _finish(self, utterance: Utterance) -> None:
        self.finished.append(utterance)
        self.active.remove(utterance)
        utterance.advance(Stage.DONE)

    def begin(self) -> None:
        self.utterance.job = SpeechJob(1, self.track, 1.0)

    def stage_at(self, now_s: float) -> Stage:
        self.now_s = now_s
        self.hearing.look()
        return self.utterance.stage


@pytest.fixture
async def bench() -> Bench:
    return Bench()


async def test_without_a_job_there_is_nothing_to_look_at(bench: Bench) -> None:
    assert bench.stage_at(100.0) is Stage.BUFFERING


async def test_it_plays_once_the_first_sample_has_left_the_dac_not_when_it_was_read(bench: Bench) -> None:
    bench.begin()
    bench.track.first_read_s, bench.track.first_dac_s = 100.0, 100.3
    assert bench.stage_at(100.29) is Stage.BUFFERING
    assert bench.stage_at(100.31) is Stage.PLAYING


async def test_the_end_is_told_once_the_last_sample_has_left_the_dac(bench: Bench) -> None:
    bench.begin()
    bench.track.first_read_s, bench.track.first_dac_s = 100.0, 100.1
    bench.utterance.decoded = True
    bench.utterance.conclude(Outcome.COMPLETE, "")
    bench.track.finish(101.0)
    assert bench.stage_at(100.99) is Stage.DRAINING
    assert not bench.finished
    assert bench.stage_at(101.0) is Stage.DONE
    assert bench.finished == [bench.utterance]


async def test_what_has_no_outcome_yet_is_not_at_its_end(bench: Bench) -> None:
    bench.begin()
    bench.track.finish(100.5)
    assert bench.stage_at(101.0) is Stage.BUFFERING
    assert not bench.finished


async def test_a_dry_ring_is_told_as_waiting_for_more_and_the_lowest_level_is_noted(bench: Bench) -> None:
    bench.begin()
    bench.track.ring.write(np.ones(2400, np.float32))
    bench.track.open()
    bench.track.first_read_s, bench.track.first_dac_s = 100.0, 100.0
    assert bench.stage_at(100.0) is Stage.PLAYING
    bench.track.ring.read_into(np.zeros(2400, np.float32))
    bench.track.shut(100.1)
    assert bench.stage_at(100.2) is Stage.STALLED
    bench.track.ring.write(np.ones(2400, np.float32))
    bench.track.open()
    bench.track.sound_resumes(100.25)
    assert bench.stage_at(100.3) is Stage.PLAYING
    report = bench.utterance.meter.report()
    assert (report.lowest_buffer_s, report.highest_buffer_s, report.underruns) == (0.0, 0.1, 1)


async def test_progress_is_told_with_every_fifth_look(bench: Bench) -> None:
    for _ in range(2 * PROGRESS_EVERY):
        bench.stage_at(100.0)
    assert len([e for e in bench.told if isinstance(e, Progress)]) == 2
