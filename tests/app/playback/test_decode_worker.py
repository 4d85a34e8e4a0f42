"""The decode thread itself; whatever a test waits for, it waits for as an event."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from app.playback.chunk_policy import CHUNK_FRAMES, StartBuffer
from app.playback.decode_worker import DecodeWorker
from app.playback.decoder import Decoder, Pcm
from app.playback.facts import (
    ChunkDecoded,
    DecodeFact,
    DecodeFailed,
    DecoderBroken,
    DecoderReady,
    UnitBegins,
    UtteranceDecoded,
)
from app.playback.pcm_source import PcmSource
from app.playback.speech_job import End, Frames, Item, NewUnit, SpeechJob
from app.playback.track import Track
from tests.helpers.fake_decoder import SPEC, FakeDecoder, frames, sound

SAMPLES = SPEC.samples_per_frame
GRACE_S = 10.0


class Facts:
    """What the worker told; tests wait here."""

    def __init__(self) -> None:
        self.all: list[DecodeFact] = []
        self.threads: set[int] = set()
        self._told = threading.Condition()

    def take(self, fact: DecodeFact) -> None:
        with self._told:
            self.all.append(fact)
            self.threads.add(threading.get_ident())
            self._told.notify_all()

    def wait_for(self, condition: Callable[[DecodeFact], bool]) -> DecodeFact:
        def found() -> DecodeFact | None:
            return next((fact for fact in self.all if condition(fact)), None)

        with self._told:
            fact = self._told.wait_for(found, GRACE_S)
        assert fact is not None, f"never told: {self.all}"
        return fact

    def wait_for_end(self, utterance: int) -> DecodeFact:
        return self.wait_for(
            lambda f: isinstance(f, UtteranceDecoded | DecodeFailed) and f.utterance == utterance
        )


class Bench:
    """A running worker over a fake decoder."""

    def __init__(
        self, decoder: FakeDecoder | None = None, open_decoder: Callable[[], Decoder] | None = None
    ) -> None:
        self.decoder = decoder or FakeDecoder()
        self.facts = Facts()
        self.worker = DecodeWorker(open_decoder or (lambda: self.decoder), self.facts.take, StartBuffer(0.0))
        self.jobs = 0

    def start(self) -> Bench:
        self.worker.start()
        self.facts.wait_for(lambda f: isinstance(f, DecoderReady))
        self.decoder.log.clear()
        return self

    def job(self, capacity_s: float = 30.0) -> SpeechJob:
        self.jobs += 1
        job = SpeechJob(self.jobs, Track(SPEC.sample_rate_hz, capacity_s), 0.0)
        self.worker.submit(job)
        return job

    def speak(self, job: SpeechJob, first: int, count: int) -> None:
        self.worker.put(job, NewUnit())
        for n in range(first, first + count):
            self.worker.put(job, Frames(frames(n, 1), time.perf_counter()))
        self.worker.put(job, End())


def heard(job: SpeechJob) -> Pcm:
    out = np.empty(job.track.ring.readable_samples, np.float32)
    job.track.ring.read_into(out)
    return out


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench().start()
    yield bench
    assert bench.worker.close(GRACE_S)


class Doors:
    """Lets the decoder's chunks wait for the test: one that has come in waits until it is let out."""

    def __init__(self) -> None:
        self.shut = False
        self.inside = threading.Event()
        self.out = threading.Event()

    def __call__(self, frames: int) -> None:
        if self.shut:
            self.inside.set()
            assert self.out.wait(GRACE_S)


@pytest.fixture
def doors() -> Iterator[Doors]:
    doors = Doors()
    yield doors
    doors.out.set()


# -- start-up ----------------------------------------------------------------------------------------------


def test_every_chunk_length_is_warmed_up_and_measured_before_the_first_job() -> None:
    """E6."""
    bench = Bench()
    bench.worker.start()
    ready = bench.facts.wait_for(lambda f: isinstance(f, DecoderReady))
    assert isinstance(ready, DecoderReady)
    assert set(bench.decoder.chunks) == set(CHUNK_FRAMES)
    assert ready.rtf >= 0
    assert ready.load_s >= 0
    assert bench.worker.close(GRACE_S)


def test_a_decoder_that_is_warm_already_is_not_measured_and_decodes_all_the_same() -> None:
    """As for a second engine with the same weights: warming up again would hold up the first."""
    bench = Bench()
    bench.worker = DecodeWorker(lambda: bench.decoder, bench.facts.take, StartBuffer(0.0), measures=False)
    bench.worker.start()
    ready = bench.facts.wait_for(lambda f: isinstance(f, DecoderReady))
    assert isinstance(ready, DecoderReady)
    assert bench.decoder.chunks == []
    job = bench.job()
    bench.speak(job, 1, 20)
    bench.facts.wait_for_end(job.utterance)
    assert np.array_equal(heard(job), sound(1, 20))
    assert bench.worker.close(GRACE_S)


def test_a_decoder_that_cannot_be_loaded_is_told_and_the_thread_ends() -> None:
    def fail() -> Decoder:
        raise OSError("no such checkpoint")

    bench = Bench(open_decoder=fail)
    bench.worker.start()
    broken = bench.facts.wait_for(lambda f: isinstance(f, DecoderBroken))
    assert isinstance(broken, DecoderBroken)
    assert str(broken.error) == "no such checkpoint"
    bench.speak(bench.job(), 0, 1)
    assert bench.worker.close(GRACE_S)


def test_a_decoder_that_fails_to_warm_up_is_as_broken() -> None:
    bench = Bench(FakeDecoder(fails_at=0))
    bench.worker.start()
    bench.facts.wait_for(lambda f: isinstance(f, DecoderBroken))
    assert bench.worker.close(GRACE_S)


def test_a_worker_that_was_never_started_can_be_closed() -> None:
    assert Bench().worker.close(GRACE_S)


def test_jobs_submitted_while_the_decoder_loads_are_worked_off_when_it_is_there() -> None:
    loaded, decoder = threading.Event(), FakeDecoder()

    def load() -> Decoder:
        assert loaded.wait(GRACE_S)
        return decoder

    bench = Bench(decoder, load)
    bench.worker.start()
    job = bench.job()
    bench.speak(job, 0, 3)
    loaded.set()
    bench.facts.wait_for_end(job.utterance)
    np.testing.assert_array_equal(heard(job), sound(0, 3))
    assert bench.worker.close(GRACE_S)


# -- many utterances ---------------------------------------------------------------------------------------


def test_fifty_utterances_are_decoded_in_order_by_one_thread_that_keeps_nothing(bench: Bench) -> None:
    """E3, E4."""
    threads = threading.active_count()
    tracks = []
    for n in range(50):
        job = bench.job()
        bench.speak(job, n, 1 + n % 7)
        bench.facts.wait_for_end(job.utterance)
        np.testing.assert_array_equal(heard(job), sound(n, 1 + n % 7))
        tracks.append(weakref.ref(job.track))
        del job
    assert threading.active_count() == threads
    assert len(bench.facts.threads) == 1
    gc.collect()
    assert sum(track() is not None for track in tracks) <= 1


def test_an_utterance_is_the_same_whatever_came_before_it(bench: Bench) -> None:
    """B4: one that ended, one that was cancelled half-way, one that failed."""
    alone = Bench().start()
    job = alone.job()
    alone.speak(job, 40, 30)
    alone.facts.wait_for_end(job.utterance)
    reference = heard(job)
    assert alone.worker.close(GRACE_S)

    ended, cancelled, failed = bench.job(), bench.job(), bench.job()
    bench.speak(ended, 0, 5)
    bench.worker.put(cancelled, Frames(frames(10, 3), 0.0))
    bench.facts.wait_for(lambda f: isinstance(f, ChunkDecoded) and f.utterance == cancelled.utterance)
    bench.worker.cancel(cancelled)
    bench.decoder.fails_at = 2
    bench.speak(failed, 20, 5)
    assert isinstance(bench.facts.wait_for_end(failed.utterance), DecodeFailed)
    bench.decoder.fails_at = None
    after = bench.job()
    bench.speak(after, 40, 30)
    bench.facts.wait_for_end(after.utterance)
    np.testing.assert_array_equal(heard(after), reference)


def test_an_exception_in_a_chunk_ends_its_utterance_and_no_other(bench: Bench) -> None:
    """B1: what was decoded before may be heard, and the track finishes."""
    bench.decoder.fails_at = 3
    job, following = bench.job(), bench.job()
    for n in range(4):
        bench.worker.put(job, Frames(frames(n, 1), 0.0))
    failed = bench.facts.wait_for_end(job.utterance)
    assert isinstance(failed, DecodeFailed)
    assert "frame 3" in str(failed.error)
    assert job.track.ended
    assert job.track.is_open
    bench.worker.put(job, End())
    bench.decoder.fails_at = None
    bench.speak(following, 0, 2)
    bench.facts.wait_for_end(following.utterance)
    np.testing.assert_array_equal(heard(following), sound(0, 2))


def test_a_decoder_that_has_no_room_for_a_state_fails_one_utterance_and_no_thread(bench: Bench) -> None:
    bench.decoder.refuses_streams = True
    job = bench.job()
    assert isinstance(bench.facts.wait_for_end(job.utterance), DecodeFailed)
    assert job.track.ended
    bench.decoder.refuses_streams = False
    following = bench.job()
    bench.speak(following, 0, 2)
    assert isinstance(bench.facts.wait_for_end(following.utterance), UtteranceDecoded)


# -- cancel and close --------------------------------------------------------------------------------------


def test_cancel_with_a_chunk_in_the_decoder_leaks_nothing_and_the_next_goes_on(doors: Doors) -> None:
    """B17."""
    bench = Bench(FakeDecoder(before_chunk=doors)).start()
    doors.shut = True
    job, following = bench.job(), bench.job()
    bench.speak(job, 0, 5)
    assert doors.inside.wait(GRACE_S)
    bench.worker.cancel(job)
    bench.speak(following, 100, 2)
    doors.out.set()
    bench.facts.wait_for_end(following.utterance)
    assert job.track.ring.written_samples == 0
    np.testing.assert_array_equal(heard(following), sound(100, 2))
    told = [f for f in bench.facts.all if getattr(f, "utterance", None) == job.utterance]
    assert told == [UnitBegins(job.utterance, "", 0)], "what was told before, and nothing since"
    assert bench.worker.close(GRACE_S)


def test_cancel_wakes_a_worker_that_waits_for_more_or_for_room(bench: Bench) -> None:
    waiting, full, following = bench.job(), bench.job(capacity_s=0.01), bench.job()
    bench.worker.put(waiting, Frames(frames(0, 1), 0.0))
    bench.facts.wait_for(lambda f: isinstance(f, ChunkDecoded) and f.utterance == waiting.utterance)
    bench.worker.cancel(waiting)
    bench.speak(full, 0, 3)
    bench.facts.wait_for(lambda f: isinstance(f, ChunkDecoded) and f.utterance == full.utterance)
    bench.worker.cancel(full)
    bench.speak(following, 0, 1)
    bench.facts.wait_for_end(following.utterance)


def test_a_job_that_is_cancelled_before_its_turn_is_passed_over(bench: Bench) -> None:
    first, second, third = bench.job(), bench.job(), bench.job()
    bench.worker.cancel(second)
    bench.speak(third, 0, 1)
    bench.speak(first, 0, 1)
    bench.facts.wait_for_end(third.utterance)
    assert second.track.ring.written_samples == 0


def test_close_ends_a_worker_that_waits_for_more(bench: Bench) -> None:
    job = bench.job()
    bench.worker.put(job, Frames(frames(0, 1), 0.0))
    bench.facts.wait_for(lambda f: isinstance(f, ChunkDecoded))
    assert bench.worker.close(GRACE_S)


def test_close_does_not_wait_for_a_stuck_decoder(doors: Doors) -> None:
    """D4."""
    bench = Bench(FakeDecoder(before_chunk=doors)).start()
    doors.shut = True
    bench.speak(bench.job(), 0, 1)
    assert doors.inside.wait(GRACE_S)
    started_s = time.monotonic()
    assert not bench.worker.close(0.05)
    assert time.monotonic() - started_s < GRACE_S / 2
    doors.out.set()
    assert bench.worker.close(GRACE_S)


# -- with a callback at the other end ----------------------------------------------------------------------


def test_a_full_ring_is_refilled_as_it_is_read(bench: Bench) -> None:
    job = bench.job(capacity_s=0.05)
    bench.speak(job, 0, 40)
    source, block, played = PcmSource(SPEC.sample_rate_hz), np.empty(960, np.float32), []
    source.add(job.track)
    give_up_s = time.monotonic() + GRACE_S
    while job.track.finished_dac_s is None:
        assert time.monotonic() < give_up_s
        if count := min(source.readable_samples(), len(block)):
            source.read_into(block[:count], 0.0)
            played.append(block[:count].copy())
    np.testing.assert_array_equal(np.concatenate(played)[: 40 * SAMPLES], sound(0, 40))


def test_no_utterance_hangs_between_a_hasty_callback_and_the_decode_thread(bench: Bench) -> None:
    """The callback runs dry all the time, also in the moment in which the end is told."""
    source, block = PcmSource(SPEC.sample_rate_hz), np.empty(600, np.float32)
    for n in range(60):
        job = bench.job()
        source.add(job.track)
        items: list[Item] = [*(Frames(frames(k, 1), time.perf_counter()) for k in range(4)), End()]
        give_up_s, callbacks = time.monotonic() + GRACE_S, 0
        while job.track.finished_dac_s is None:
            assert time.monotonic() < give_up_s, f"utterance {n} never finishes"
            source.read_into(block, time.perf_counter())
            callbacks += 1
            if items and callbacks % (1 + n % 9) == 0:
                bench.worker.put(job, items.pop(0))
        assert job.track.ring.read_samples == 4 * SAMPLES
