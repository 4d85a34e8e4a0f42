"""One utterance, worked off step by step in the test's own thread."""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.playback.chunk_policy import CHUNK_FRAMES, DecodeCost, StartBuffer
from app.playback.decoder import Pcm
from app.playback.facts import (
    ChunkDecoded,
    DecodeFact,
    LeadingSilence,
    PcmRepaired,
    SamplesMissing,
    SinkFailed,
    UtteranceDecoded,
)
from app.playback.speech_job import Context, End, Frames, Item, NewUnit, Samples, SpeechJob
from app.playback.track import Track
from app.playback.utterance_decoder import SPLICE_S, UtteranceDecoder
from tests.app.audio.sources import ramp
from tests.helpers.fake_decoder import SPEC, STEP, FakeDecoder, frames, sound

SAMPLES = SPEC.samples_per_frame
RATE_HZ = SPEC.sample_rate_hz
SPLICE = round(SPLICE_S * RATE_HZ)


class Memory:
    """A recording in memory, with a limit on request."""

    def __init__(self, room_samples: float = np.inf) -> None:
        self._room = room_samples
        self.pcm: list[Pcm] = []

    def write(self, pcm: Pcm) -> None:
        self._room -= len(pcm)
        if self._room < 0:
            raise OSError("disk full")
        self.pcm.append(pcm)


class Case:
    """An utterance with its decoder; ``say`` takes items and works until there is nothing left to do."""

    def __init__(
        self,
        decoder: FakeDecoder | None = None,
        *,
        sinks: Iterable[Memory] = (),
        capacity_s: float = 30.0,
        start_buffer: StartBuffer | None = None,
        cost: DecodeCost | None = None,
        expected_s: float = 0.0,
    ) -> None:
        self.decoder = decoder or FakeDecoder()
        self.facts: list[DecodeFact] = []
        self.track = Track(RATE_HZ, capacity_s)
        self.job = SpeechJob(7, self.track, expected_s, list(sinks))
        self.buffer = start_buffer or StartBuffer(0.0)
        self.work = UtteranceDecoder(
            self.job,
            self.decoder,
            cost or DecodeCost(),
            self.buffer,
            self.facts.append,
            time.perf_counter,
        )

    def say(self, *items: Item) -> Pcm:
        for item in items:
            self.work.take(item)
        heard = [self.read()]
        while self.work.can_advance and not self.work.is_done:
            self.work.advance()
            heard.append(self.read())
        return np.concatenate(heard)

    def read(self) -> Pcm:
        out = np.empty(self.track.ring.readable_samples, np.float32)
        assert self.track.ring.read_into(out) == len(out)
        return out

    def told(self, kind: type[DecodeFact]) -> list[DecodeFact]:
        return [fact for fact in self.facts if isinstance(fact, kind)]


def packet(first: int, count: int, *, fresh: bool = False, arrived_s: float = 0.0) -> Frames:
    return Frames(frames(first, count), arrived_s, fresh)


# -- what comes out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 24, 25, 26, 51])
@pytest.mark.parametrize("last_is_empty", [False, True])
def test_every_frame_becomes_its_samples_however_the_end_comes(count: int, last_is_empty: bool) -> None:
    """B6: an end of its own, with an empty packet before it or not."""
    case = Case()
    items: list[Item] = [packet(0, count)]
    if last_is_empty:
        items.append(packet(0, 0))
    np.testing.assert_array_equal(case.say(*items, End()), sound(0, count))
    assert case.told(UtteranceDecoded) == [UtteranceDecoded(7, count * SAMPLES)]
    assert case.work.is_done
    assert case.track.ended
    assert not case.told(SamplesMissing)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 40), max_size=20), st.integers(1, 12))
def test_any_packing_of_the_frames_gives_the_same_sound(packets: list[int], units: int) -> None:
    """B2, B10: packets of 0 to 40 frames, with units beginning anywhere among them."""
    items: list[Item] = []
    first = 0
    for n, count in enumerate(packets):
        if n % units == 0:
            items.append(NewUnit())
        items.append(packet(first, count))
        first += count
    case = Case()
    np.testing.assert_array_equal(case.say(*items, End()), sound(0, first) if first else ramp(0))
    assert set(case.decoder.chunks) <= set(CHUNK_FRAMES)
    decoded = [n for _, what, numbers in case.decoder.log if what == "decode" for n in numbers]
    assert decoded == list(range(first))


def test_an_utterance_without_a_frame_ends_at_once() -> None:
    """B8."""
    case = Case()
    assert len(case.say(End())) == 0
    assert case.told(UtteranceDecoded) == [UtteranceDecoded(7, 0)]
    assert case.track.ended


def test_fresh_frames_without_a_frame_still_start_a_new_state() -> None:
    case = Case()
    case.say(packet(0, 1), packet(0, 0, fresh=True), packet(1, 1), End())
    assert case.decoder.log == [(1, "decode", [0]), (2, "decode", [1])]


def test_each_unit_has_a_state_of_its_own_primed_with_its_context() -> None:
    """B4: and frames never pass the boundary in front of them."""
    case = Case()
    items = [
        packet(0, 2),
        NewUnit(),
        Context(frames(90, 3)),
        packet(2, 1),
        packet(3, 1),
        NewUnit(),
        packet(4, 1),
    ]
    heard = case.say(NewUnit(), *items, End())  # what is heard at once leaves no sound for longer chunks
    np.testing.assert_array_equal(heard, sound(0, 5))
    streams = {numbers[0]: stream for stream, what, numbers in case.decoder.log if what == "decode"}
    assert len({streams[0], streams[2], streams[4]}) == 3
    assert [numbers for stream, what, numbers in case.decoder.log if stream == streams[2]] == [
        [90, 91, 92],
        [2],
        [3],
    ]


def test_a_huge_packet_is_decoded_in_bounded_pieces_and_sounds_before_it_is_done() -> None:
    """B15."""
    case = Case(capacity_s=200.0)
    case.work.take(packet(0, 2048))
    case.work.advance()
    assert case.track.is_open
    np.testing.assert_array_equal(case.read(), sound(0, case.decoder.chunks[0]))
    case.work.take(End())
    while not case.work.is_done:
        case.work.advance()
    first = case.decoder.chunks[0]
    np.testing.assert_array_equal(case.read(), sound(first, 2048 - first))
    assert first < 25
    assert max(case.decoder.chunks) == 25


def test_the_last_chunks_cost_what_the_first_did() -> None:
    """B16: two minutes in 25-frame packets; nothing that is kept grows with the utterance."""
    case, times = Case(), []
    for n in range(60):
        started_s = time.thread_time()
        case.say(packet(25 * n, 25))
        times.append(time.thread_time() - started_s)
    assert np.median(times[-20:]) < 3 * np.median(times[:20]) + 0.001


# -- a full ring -------------------------------------------------------------------------------------------


def test_a_full_ring_holds_decoding_up_and_loses_nothing() -> None:
    case = Case(capacity_s=0.1)
    case.work.take(packet(0, 10))
    case.work.take(End())
    heard = []
    while not case.work.is_done:
        while case.work.can_advance and not case.work.is_done:
            case.work.advance()
        assert case.track.is_open, "a full ring is enough to start, whatever the start buffer wants"
        out = np.empty(700, np.float32)
        heard.append(out[: case.track.ring.read_into(out)])
        assert len(case.decoder.chunks) <= sum(map(len, heard)) // SAMPLES + 2
    np.testing.assert_array_equal(np.concatenate([*heard, case.read()]), sound(0, 10))


def test_a_full_ring_opens_the_gate_of_a_start_buffer_larger_than_itself() -> None:
    case = Case(capacity_s=0.1, start_buffer=StartBuffer(5.0))
    case.work.take(packet(0, 10))
    for _ in range(4):
        case.work.advance()
    assert case.work.is_blocked
    assert case.track.is_open


# -- the gate ----------------------------------------------------------------------------------------------


def test_the_gate_stays_shut_until_the_start_buffer_is_filled() -> None:
    case = Case(start_buffer=StartBuffer(0.2))
    case.work.take(packet(0, 2))
    while case.work.can_advance:
        case.work.advance()
    assert not case.track.is_open
    case.work.take(packet(2, 1))
    case.work.advance()
    assert case.track.is_open


def test_an_open_gate_lets_everything_out_that_is_written_later() -> None:
    """Even if the callback ran dry in the very moment in which it was written."""
    case = Case()
    case.say(packet(0, 1))
    case.work.take(packet(1, 1))
    case.work.advance()
    case.track.dry_at_samples = SAMPLES  # what the callback noted late: it had found nothing before the write
    assert case.track.is_open


def test_a_single_stall_teaches_the_start_buffer_no_more_than_to_be_careful() -> None:
    case = Case(start_buffer=StartBuffer(0.16))
    case.say(packet(0, 2, arrived_s=1.0))
    case.track.shut(5.0)
    case.say(packet(2, 4, arrived_s=9.0))
    assert case.buffer.learnt_s == pytest.approx(0.32)
    assert case.track.is_open, "0.32 s are enough after one stall of 8 s"


def test_a_gap_teaches_the_start_buffer_once_and_the_usual_wait_counts() -> None:
    case = Case(start_buffer=StartBuffer(0.16))
    case.say(packet(0, 1, arrived_s=-2.0), packet(1, 1, arrived_s=1.0))
    case.track.shut(5.0)
    for n in range(3):
        case.work.take(packet(2 + n, 1, arrived_s=2.0 + n / 10))
        while case.work.can_advance:
            case.work.advance()
    assert case.buffer.learnt_s == pytest.approx(1.1)
    assert case.track.is_dry, "0.24 s are less than the 1.1 s wanted by now"
    case.say(End())
    assert case.buffer.learnt_s == pytest.approx(1.1), "an utterance with a gap is not a clean one"


def test_a_clean_utterance_lets_the_start_buffer_shrink() -> None:
    buffer = StartBuffer(0.16, learnt_s=1.0)
    Case(start_buffer=buffer).say(packet(0, 20), End())
    assert buffer.learnt_s == pytest.approx(0.7)


def test_sound_that_the_server_decoded_does_not_wait_for_a_slow_decoder() -> None:
    cost = DecodeCost({n: n * SPEC.frame_s * 3 for n in CHUNK_FRAMES})
    case = Case(start_buffer=StartBuffer(0.16), cost=cost, expected_s=60.0)
    case.work.take(Samples(ramp(RATE_HZ), 1.0))
    case.work.advance()
    assert case.track.is_open


# -- what a decoder gets wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [[1] * 8, [8], [3, 5]])
def test_missing_samples_are_told_once_at_the_end(cut: list[int]) -> None:
    """B3."""
    case = Case(FakeDecoder(missing_samples=5))
    first = 0
    for count in cut:
        case.say(packet(first, count))
        first += count
    assert not case.told(SamplesMissing)
    case.say(End())
    assert case.told(SamplesMissing) == [SamplesMissing(7, 5 * len(case.decoder.chunks))]


def test_no_samples_at_all_do_no_harm() -> None:
    case = Case(FakeDecoder(missing_samples=25 * SAMPLES))
    assert len(case.say(packet(0, 3), End())) == 0
    assert case.told(SamplesMissing) == [SamplesMissing(7, 3 * SAMPLES)]
    assert case.track.ended


def test_what_is_not_finite_or_too_loud_is_mended_and_told_once() -> None:
    """B5."""
    case = Case(FakeDecoder(spoilt={0: np.nan, 1: np.inf, 2: -np.inf, 3: 1e9, 5: -1.5}))
    heard = case.say(packet(0, 4), packet(4, 4), End())
    expected = sound(0, 8)
    expected[[0, SAMPLES, 2 * SAMPLES]] = 0.0
    expected[3 * SAMPLES], expected[5 * SAMPLES] = 1.0, -1.0
    np.testing.assert_array_equal(heard, expected)
    assert case.told(PcmRepaired) == [PcmRepaired(7, 3, 2)]


def test_sound_in_range_is_not_touched_and_nothing_is_told() -> None:
    case = Case()
    case.say(Samples(np.array([1.0, -1.0, 0.5], np.float32), 0.0), End())
    assert not case.told(PcmRepaired)


def test_an_exception_of_the_decoder_is_the_callers() -> None:
    case = Case(FakeDecoder(fails_at=2))
    with pytest.raises(RuntimeError, match="frame 2"):
        case.say(packet(0, 5))


# -- splices -----------------------------------------------------------------------------------------------


def test_frames_after_a_hole_start_a_new_state_without_a_click_or_a_sample_more() -> None:
    case = Case()
    heard = case.say(packet(0, 2), packet(1500, 2, fresh=True), End())
    assert len(heard) == 4 * SAMPLES
    np.testing.assert_array_equal(heard[: 2 * SAMPLES], sound(0, 2))
    np.testing.assert_array_equal(heard[2 * SAMPLES + SPLICE :], sound(1500, 2)[SPLICE:])
    steps = np.abs(np.diff(heard))
    assert steps.max() <= 1 / (SPLICE - 1) + STEP
    assert len({stream for stream, _, _ in case.decoder.log}) == 2
    assert case.decoder.log[-1][2][0] >= 1500


def test_a_hole_in_the_first_packet_fades_in_from_silence() -> None:
    heard = Case().say(packet(1500, 1, fresh=True), End())
    assert heard[0] == 0.0
    assert np.abs(np.diff(heard)).max() <= 1 / (SPLICE - 1)


def test_frames_that_follow_a_hole_wait_behind_it() -> None:
    case = Case()
    case.say(
        packet(0, 1), packet(5, 1, fresh=True), packet(6, 1), packet(9, 1, fresh=True), packet(10, 1), End()
    )
    assert [(stream, numbers) for stream, _, numbers in case.decoder.log] == [
        (1, [0]),
        (2, [5]),
        (2, [6]),
        (3, [9]),
        (3, [10]),
    ]


# -- sinks -------------------------------------------------------------------------------------------------


def test_sinks_get_what_the_ring_gets() -> None:
    sinks = [Memory(), Memory()]
    heard = Case(sinks=sinks).say(packet(0, 9), End())
    for sink in sinks:
        np.testing.assert_array_equal(np.concatenate(sink.pcm), heard)


def test_a_sink_that_fails_is_told_once_and_left_alone() -> None:
    """H5: playback and the other recording go on."""
    broken, good = Memory(room_samples=3 * SAMPLES), Memory()
    case = Case(sinks=[broken, good])
    np.testing.assert_array_equal(case.say(*(packet(n, 1) for n in range(9)), End()), sound(0, 9))
    np.testing.assert_array_equal(np.concatenate(good.pcm), sound(0, 9))
    (fact,) = case.told(SinkFailed)
    assert isinstance(fact, SinkFailed)
    assert str(fact.error) == "disk full"
    assert len(np.concatenate(broken.pcm)) <= 3 * SAMPLES


# -- samples that need no decoding -------------------------------------------------------------------------


def test_samples_of_a_server_that_decodes_are_played_as_they_are() -> None:
    sink = Memory()
    case = Case(sinks=[sink])
    heard = case.say(Samples(ramp(1000), 0.0), Samples(ramp(0), 0.0), Samples(ramp(333), 0.0), End())
    np.testing.assert_array_equal(heard, np.concatenate([ramp(1000), ramp(333)]))
    np.testing.assert_array_equal(np.concatenate(sink.pcm), heard)
    assert case.decoder.chunks == []
    assert not case.told(ChunkDecoded)
    assert not case.told(SamplesMissing)
    assert case.told(UtteranceDecoded) == [UtteranceDecoded(7, 1333)]


# -- facts -------------------------------------------------------------------------------------------------


def test_leading_silence_ends_with_the_first_audible_sample() -> None:
    """B14: nine silent frames, then something."""
    case = Case()
    pcm = np.zeros(9 * SAMPLES + 100, np.float32)
    pcm[9 * SAMPLES + 24] = 0.5
    pcm[100] = 0.001
    case.say(*(Samples(pcm[at : at + 1000], 0.0) for at in range(0, len(pcm), 1000)), End())
    assert case.told(LeadingSilence) == [LeadingSilence(7, (9 * SAMPLES + 24) / RATE_HZ)]


def test_an_utterance_of_silence_tells_no_first_audible_sample() -> None:
    case = Case()
    case.say(Samples(np.zeros(9000, np.float32), 0.0), End())
    assert not case.told(LeadingSilence)


def test_a_chunk_tells_when_its_first_frame_arrived_and_how_long_it_took() -> None:
    case = Case()
    case.say(packet(0, 1, arrived_s=3.0), packet(1, 2, arrived_s=4.0), End())
    chunks = [fact for fact in case.facts if isinstance(fact, ChunkDecoded)]
    assert [(c.frames, c.samples) for c in chunks] == [(n, n * SAMPLES) for n in case.decoder.chunks]
    assert chunks[0].arrived_s == 3.0
    assert all(c.started_s <= c.ended_s for c in chunks)
    assert sum(c.samples for c in chunks) == 3 * SAMPLES


# -- cancelled ---------------------------------------------------------------------------------------------


def test_a_chunk_in_the_decoder_at_a_cancel_is_thrown_away() -> None:
    """B17: nothing of it is written, recorded, measured or told."""
    sink, cost = Memory(), DecodeCost({1: 0.5})
    decoder = FakeDecoder()
    case = Case(decoder, sinks=[sink], cost=cost)

    def cancel(frames: int) -> None:
        case.job.cancelled = True

    decoder.before_chunk = cancel
    case.work.take(packet(0, 1))
    case.work.advance()
    assert decoder.chunks == [1]
    assert case.track.ring.written_samples == 0
    assert sink.pcm == []
    assert case.facts == []
    assert cost.measured_s == {1: 0.5}
    assert not case.track.ended
