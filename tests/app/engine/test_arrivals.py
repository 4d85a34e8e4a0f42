"""What the server brings, into the inbox of a decode thread that is never started."""

from __future__ import annotations

import asyncio
import logging

import numpy as np
import pytest

from app.engine.arrivals import Arrivals
from app.engine.events import EngineEvent, LinkStatus, Notice, Severity
from app.engine.patience import Patience
from app.engine.state import Stage
from app.engine.utterance import Utterance
from app.metrics.meter import Meter
from app.playback.chunk_policy import StartBuffer
from app.playback.decode_worker import DecodeWorker
from app.playback.speech_job import Context, Frames, NewUnit, Samples, SpeechJob
from app.playback.track import Track
from app.session.events import BytesArrived, LinkChanged, LinkState
from decoder.wire import events as wire
from decoder.wire.assembler import Anomaly, AnomalyKind
from tests.helpers.fake_decoder import FakeDecoder, frames

RATE_HZ = 24_000
SINE = np.sin(2 * np.pi * 220 * np.arange(48_000) / 48_000).astype(np.float32)


class Bench:
    def __init__(self) -> None:
        self.told: list[EngineEvent] = []
        self.patience = Patience(0.0)
        worker = DecodeWorker(FakeDecoder, lambda _: None, StartBuffer(0.0))
        self.arrivals = Arrivals(worker, RATE_HZ, self.patience, lambda: 100.0, self.told.append)

    def utterance(self, number: int = 1) -> Utterance:
        future = asyncio.get_running_loop().create_future()
        made = Utterance(number, "Hi", Meter(99.0, RATE_HZ), (), 99.0, future, self.told.append)
        made.job = SpeechJob(number, Track(RATE_HZ), 1.0)
        made.advance(Stage.CONNECTING)
        made.advance(Stage.WAITING)
        self.arrivals.begin(made)
        return made

    def samples(self, utterance: Utterance) -> np.ndarray:
        assert utterance.job is not None
        pieces = [item.pcm for item in utterance.job.inbox if isinstance(item, Samples)]
        return np.concatenate([np.zeros(0, np.float32), *pieces])


@pytest.fixture
async def bench() -> Bench:
    return Bench()


async def test_a_unit_of_frames_becomes_items_in_their_order(bench: Bench) -> None:
    utterance = bench.utterance()
    for event in (
        wire.UnitStarted(0, "Hi"),
        wire.ContextArrived(frames(7, 2)),
        BytesArrived(39),
        wire.FramesArrived(frames(1, 1), fresh=False),
        wire.FramesArrived(frames(2, 3), fresh=True),
        wire.UnitEnded(0, 4),
        wire.UtteranceEnded(wire.Outcome.COMPLETE, ""),
    ):
        bench.arrivals.take(event)
    assert utterance.job is not None
    kinds = [type(item) for item in utterance.job.inbox]
    assert kinds == [NewUnit, Context, Frames, Frames]
    assert [i.fresh for i in utterance.job.inbox if isinstance(i, Frames)] == [False, True]
    assert utterance.received.is_set()
    assert (utterance.stage, utterance.outcome) == (Stage.BUFFERING, wire.Outcome.COMPLETE)
    report = utterance.meter.report()
    assert (report.frames, report.wire_bytes) == (4, 39)


async def test_what_comes_when_nothing_is_received_goes_nowhere(bench: Bench) -> None:
    utterance = bench.utterance()
    assert bench.arrivals.end(utterance)
    assert not bench.arrivals.end(utterance)
    bench.arrivals.take(wire.FramesArrived(frames(1, 1), fresh=False))
    bench.arrivals.take(wire.UtteranceEnded(wire.Outcome.COMPLETE, ""))
    assert utterance.job is not None
    assert not utterance.job.inbox
    assert utterance.outcome is None


async def test_pcm_in_pieces_at_another_rate_is_as_one_piece(bench: Bench) -> None:
    one = bench.utterance(1)
    bench.arrivals.take(wire.PcmArrived(SINE, 48_000))
    bench.arrivals.take(wire.UtteranceEnded(wire.Outcome.COMPLETE, ""))
    many = bench.utterance(2)
    for start in range(0, len(SINE), 3840):
        bench.arrivals.take(wire.PcmArrived(SINE[start : start + 3840], 48_000))
    bench.arrivals.take(wire.UtteranceEnded(wire.Outcome.COMPLETE, ""))
    assert abs(len(bench.samples(many)) - 24_000) <= 1
    assert np.allclose(bench.samples(one), bench.samples(many), atol=1e-3)
    assert np.allclose(bench.samples(many)[1000:-1000], SINE[::2][1000:-1000], atol=1e-2)
    assert many.meter.report().audio_s == pytest.approx(1.0, abs=1e-3)


async def test_a_unit_at_yet_another_rate_loses_nothing_of_the_one_before(bench: Bench) -> None:
    utterance = bench.utterance()
    for pcm, rate_hz in ((SINE, 48_000), (SINE[:2400], RATE_HZ), (SINE[:4410], 44_100)):
        bench.arrivals.take(wire.PcmArrived(pcm, rate_hz))
    bench.arrivals.take(wire.UtteranceEnded(wire.Outcome.COMPLETE, ""))
    assert abs(len(bench.samples(utterance)) - (24_000 + 2400 + 2400)) <= 2


async def test_a_stop_leaves_no_half_resampled_tail_for_the_next_text(bench: Bench) -> None:
    bench.arrivals.end(bench.utterance(1))
    first = bench.utterance(1)
    bench.arrivals.take(wire.PcmArrived(SINE, 48_000))
    bench.arrivals.end(first)
    second = bench.utterance(2)
    bench.arrivals.take(wire.UtteranceEnded(wire.Outcome.EMPTY, ""))
    assert not len(bench.samples(second))


@pytest.mark.parametrize("helps", [True, False])
async def test_a_lost_link_is_noted_with_the_utterance_on_it(bench: Bench, helps: bool) -> None:
    utterance = bench.utterance()
    bench.arrivals.take(LinkChanged(LinkState.OFFLINE, "gone", trying_again_helps=helps))
    assert utterance.link_lost == helps
    assert bench.told[-1] == LinkStatus(LinkState.OFFLINE, wire.Mode.UNKNOWN, "gone")


async def test_who_decodes_is_known_until_the_link_changes_and_told_to_people_once(bench: Bench) -> None:
    for _ in range(2):
        bench.arrivals.take(LinkChanged(LinkState.READY, "ws://box"))
        bench.arrivals.take(wire.ModeKnown(wire.Mode.PCM, "it decodes itself"))
        bench.arrivals.take(LinkChanged(LinkState.OFFLINE, "gone"))
    modes = [e.mode for e in bench.told if isinstance(e, LinkStatus)]
    assert modes == [wire.Mode.UNKNOWN, wire.Mode.PCM, wire.Mode.UNKNOWN] * 2
    assert [e for e in bench.told if isinstance(e, Notice)] == [Notice(Severity.INFO, "it decodes itself")]


async def test_that_an_idle_link_is_dropped_is_no_news_for_people(bench: Bench) -> None:
    bench.arrivals.take(wire.ServerSaid("Idle timeout: no message received"))
    assert bench.told == []


async def test_what_the_server_says_is_passed_on(bench: Bench) -> None:
    bench.arrivals.take(wire.ServerSaid("Invalid config"))
    assert bench.told == [Notice(Severity.INFO, "the server said: Invalid config")]


async def test_damage_that_is_heard_is_told_once_and_the_rest_is_for_the_log(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for _ in range(2):
        for kind in (AnomalyKind.GAP, AnomalyKind.LATE, AnomalyKind.PLACEHOLDER):
            bench.arrivals.take(Anomaly(kind, 1, "seq 4"))
    (notice,) = [e for e in bench.told if isinstance(e, Notice)]
    assert notice.severity is Severity.WARNING
    assert "packets are missing (seq 4)" in notice.text
    assert [r.levelno for r in caplog.records].count(logging.WARNING) == 1
    assert len(caplog.records) == 6
