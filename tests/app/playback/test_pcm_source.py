"""The callback, driven block by block; each block is filled with 1.0 before, as a device might leave it."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.playback.decoder import Pcm
from app.playback.pcm_source import RAMP_S, STOP_FADE_S, PcmSource
from app.playback.track import Track
from tests.app.audio.sources import ramp, sine

RATE_HZ = 24_000
BLOCK = 256
RAMP = round(RAMP_S * RATE_HZ)
STOP_FADE = round(STOP_FADE_S * RATE_HZ)
STEEPEST = 1 / (RAMP - 1)
"""The largest step that a ramp between 0 and ±1 makes."""
LOUD = 0.9


class Ear:
    """A device that asks for blocks and keeps what it got; its time is the samples' own."""

    def __init__(self, source: PcmSource, start_s: float = 100.0) -> None:
        self.source = source
        self.start_s = start_s
        self.blocks: list[Pcm] = []

    @property
    def samples(self) -> int:
        return sum(len(b) for b in self.blocks)

    @property
    def now_s(self) -> float:
        return self.start_s + self.samples / RATE_HZ

    def hear(self, *block_sizes: int) -> Pcm:
        """Ask for blocks of these sizes and return their sound."""
        before = len(self.blocks)
        for size in block_sizes:
            block = np.ones(size, np.float32)
            now_s = self.now_s
            self.source.read_into(block, now_s)
            assert np.isfinite(block).all()
            assert (np.abs(block) <= 1.0).all()
            self.blocks.append(block)
        return np.concatenate(self.blocks[before:]) if block_sizes else np.zeros(0, np.float32)

    def heard(self) -> Pcm:
        return np.concatenate(self.blocks)


def a_track(pcm: Pcm, *, opened: bool = True, ended: bool = True) -> Track:
    track = Track(RATE_HZ)
    write(track, pcm, opened=opened)
    if ended:
        track.end()
    return track


def write(track: Track, pcm: Pcm, *, opened: bool = True) -> None:
    assert track.ring.write(pcm) == len(pcm)
    if opened:
        track.open()


def constant(samples: int, value: float = LOUD) -> Pcm:
    return np.full(samples, value, np.float32)


def largest_step(pcm: Pcm) -> float:
    return float(np.abs(np.diff(pcm)).max(initial=0.0))


@pytest.fixture
def source() -> PcmSource:
    return PcmSource(RATE_HZ)


@pytest.fixture
def ear(source: PcmSource) -> Ear:
    return Ear(source)


# -- A9: every sample of every block is written ------------------------------------------------------------


def starved(source: PcmSource) -> None:
    track = a_track(ramp(100), ended=False)
    source.add(track)
    source.read_into(np.ones(BLOCK, np.float32), 1.0)


def paused(source: PcmSource) -> None:
    source.add(a_track(ramp(1000)))
    source.pause()


def shut(source: PcmSource) -> None:
    source.add(a_track(ramp(1000), opened=False, ended=False))


def empty(source: PcmSource) -> None:
    source.add(a_track(ramp(0)))


def silent(source: PcmSource) -> None:
    source.add(a_track(constant(1000, 0.0)))


@pytest.mark.parametrize("state", [lambda source: None, paused, shut, empty, silent])
def test_where_nothing_is_played_there_is_silence(
    source: PcmSource, ear: Ear, state: Callable[[PcmSource], None]
) -> None:
    """A9: not what was in the memory before."""
    state(source)
    assert (ear.hear(BLOCK, 1, 7, BLOCK) == 0).all()


def test_a_starved_track_is_silent_after_its_decay(source: PcmSource, ear: Ear) -> None:
    starved(source)
    assert (ear.hear(BLOCK, BLOCK)[RAMP:] == 0).all()


# -- what is played ----------------------------------------------------------------------------------------


def test_a_tail_shorter_than_a_block_arrives_whole(source: PcmSource, ear: Ear) -> None:
    """A10."""
    pcm = ramp(5 * 1024 + 1)
    source.add(a_track(pcm))
    heard = ear.hear(*[1024] * 7)
    np.testing.assert_array_equal(heard[: len(pcm)], pcm)
    assert (heard[len(pcm) + RAMP :] == 0).all()


@settings(deadline=None)
@given(st.lists(st.integers(0, 900), min_size=1, max_size=30), st.lists(st.integers(1, 700), max_size=4))
def test_any_block_sizes_play_the_tracks_in_order_and_without_a_gap(
    blocks: list[int], lengths: list[int]
) -> None:
    source, pcm = PcmSource(RATE_HZ), ramp(sum(lengths))
    ear, at = Ear(source), 0
    tracks = []
    for length in lengths:
        tracks.append(a_track(pcm[at : at + length]))
        source.add(tracks[-1])
        at += length
    heard = ear.hear(*blocks, 4000)
    np.testing.assert_array_equal(heard[: len(pcm)], pcm)
    assert (heard[len(pcm) + RAMP :] == 0).all()
    at = 0
    for track, length in zip(tracks, lengths, strict=True):
        assert track.first_dac_s == pytest.approx(ear.start_s + at / RATE_HZ, abs=1e-9)
        at += length
        assert track.finished_dac_s == pytest.approx(ear.start_s + at / RATE_HZ, abs=1e-9)
        assert track.underruns == 0


def test_finished_is_the_instant_the_last_sample_has_left_the_dac(source: PcmSource, ear: Ear) -> None:
    """A11: and not told before, not even where a block ends with the sound."""
    track = a_track(ramp(2 * BLOCK))
    source.add(track)
    ear.hear(BLOCK, BLOCK)
    assert track.finished_dac_s is None
    ear.hear(BLOCK)
    assert track.finished_dac_s == pytest.approx(ear.start_s + 2 * BLOCK / RATE_HZ, abs=1e-9)


def test_an_utterance_without_sound_finishes_at_once(source: PcmSource, ear: Ear) -> None:
    """B8."""
    track = a_track(ramp(0))
    source.add(track)
    ear.hear(BLOCK)
    assert track.finished_dac_s == ear.start_s
    assert track.first_dac_s is None


def test_the_first_read_is_told_by_the_clock_and_the_first_dac_by_the_device() -> None:
    source = PcmSource(RATE_HZ, clock=lambda: 99.9)
    track = a_track(ramp(BLOCK))
    source.add(track)
    Ear(source).hear(BLOCK)
    assert (track.first_read_s, track.first_dac_s) == (99.9, 100.0)


def test_a_track_is_not_heard_before_its_gate_opens(source: PcmSource, ear: Ear) -> None:
    """A22: a short utterance below the start buffer plays when its end is told."""
    pcm = ramp(1920)
    track = a_track(pcm, opened=False, ended=False)
    source.add(track)
    assert (ear.hear(*[BLOCK] * 4) == 0).all()
    track.end()
    heard = ear.hear(*[BLOCK] * 9)
    np.testing.assert_array_equal(heard[:1920], pcm)
    assert track.finished_dac_s is not None
    assert track.underruns == 0


# -- gaps --------------------------------------------------------------------------------------------------


def test_a_gap_in_mid_speech_has_no_step_and_loses_nothing(source: PcmSource, ear: Ear) -> None:
    """A21: the tone stands at its loudest when the ring runs dry, ten samples before the block's end."""
    pcm = sine(6000, 100.0) * np.float32(1.8)
    track = a_track(pcm[: BLOCK * 3 - 10], ended=False)
    source.add(track)
    ear.hear(*[BLOCK] * 6)
    assert track.is_dry
    write(track, pcm[BLOCK * 3 - 10 :])
    track.end()
    ear.hear(*[BLOCK] * 24)
    heard = ear.heard()
    assert largest_step(heard) <= STEEPEST + largest_step(pcm)
    np.testing.assert_array_equal(heard[: BLOCK * 3 - 10], pcm[: BLOCK * 3 - 10])
    resumed = BLOCK * 6
    rest = pcm[BLOCK * 3 - 10 :]
    np.testing.assert_array_equal(heard[resumed + RAMP : resumed + len(rest)], rest[RAMP:])
    np.testing.assert_allclose(
        heard[resumed : resumed + RAMP], rest[:RAMP] * np.linspace(0, 1, RAMP), atol=1e-6
    )
    assert track.underruns == 1
    assert track.gap_s == pytest.approx((BLOCK * 3 + 10) / RATE_HZ, abs=1e-9)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.integers(1, 400), min_size=2, max_size=40),
    st.lists(st.tuples(st.integers(0, 400), st.sampled_from(["more", "more", "pause", "resume", "wait"]))),
)
def test_whatever_starves_or_pauses_it_no_sample_is_lost_and_no_step_is_heard(
    blocks: list[int], happenings: list[tuple[int, str]]
) -> None:
    """A21: all of it is at its loudest, so any edge without a ramp would show."""
    source = PcmSource(RATE_HZ)
    ear, track, written = Ear(source), Track(RATE_HZ), 0
    source.add(track)
    for size, (samples, what) in zip(blocks, happenings, strict=False):
        if what == "more" and samples:
            write(track, constant(samples))
            written += samples
        elif what == "pause":
            source.pause()
        elif what == "resume":
            source.resume()
        ear.hear(size)
        assert track.ring.read_samples <= written
    source.resume()
    track.end()
    ear.hear(*[BLOCK] * (written // BLOCK + 3))
    assert track.ring.read_samples == written
    assert track.finished_dac_s is not None
    heard = np.trim_zeros(ear.heard(), "f")  # a track's beginning is as it is
    assert largest_step(heard) <= STEEPEST * LOUD + 1e-6
    assert (heard[-BLOCK:] == 0).all()


def test_sound_that_goes_on_within_the_decay_makes_no_step(source: PcmSource, ear: Ear) -> None:
    track = a_track(constant(100), ended=False)
    source.add(track)
    ear.hear(110)
    write(track, constant(400))
    ear.hear(30, 300)
    assert largest_step(ear.heard()) <= LOUD * STEEPEST + 1e-6


def test_the_next_track_begins_as_it_is_even_after_a_dry_end(source: PcmSource, ear: Ear) -> None:
    """No fade at a beginning: the recording and the sound are the same."""
    first, second = a_track(ramp(100), ended=False), a_track(ramp(600))
    source.add(first)
    source.add(second)
    ear.hear(BLOCK, BLOCK)
    first.end()
    np.testing.assert_array_equal(ear.hear(BLOCK, BLOCK), ramp(512))
    assert first.underruns == 0


# -- pause -------------------------------------------------------------------------------------------------


def test_a_pause_loses_nothing_and_clicks_nowhere(source: PcmSource, ear: Ear) -> None:
    pcm = constant(4000)
    track = a_track(pcm)
    source.add(track)
    ear.hear(BLOCK, BLOCK)
    source.pause()
    assert source.is_paused
    silence = ear.hear(BLOCK, BLOCK)
    assert (silence[RAMP:] == 0).all()
    assert track.ring.read_samples == 2 * BLOCK
    source.resume()
    ear.hear(*[BLOCK] * 16)
    assert track.ring.read_samples == 4000
    assert largest_step(ear.heard()) <= LOUD * STEEPEST + 1e-6
    assert track.underruns == 0
    assert track.finished_dac_s == pytest.approx(ear.start_s + (4000 + 2 * BLOCK) / RATE_HZ, abs=1e-9)


def test_stopping_a_pause_is_silent(source: PcmSource, ear: Ear) -> None:
    """Nothing was sounding, so there is nothing to fade."""
    source.add(a_track(constant(4000)))
    ear.hear(BLOCK)
    source.pause()
    ear.hear(BLOCK)
    source.stop()
    assert not source.is_paused
    assert (ear.hear(BLOCK, BLOCK) == 0).all()


# -- stop --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 7, 64, 240, 256, 1024])
def test_stop_fades_and_then_nothing_follows(source: PcmSource, ear: Ear, block: int) -> None:
    """A11, B17: silent within 100 ms, whatever is still written into the track."""
    track = a_track(constant(4000), ended=False)
    source.add(track)
    ear.hear(*[block] * (1 + 300 // block))
    source.stop()
    write(track, constant(4000))
    after = ear.hear(*[block] * (1 + 2400 // block))
    assert largest_step(ear.heard()) <= LOUD * STEEPEST + 1e-6
    assert (after[STOP_FADE + RAMP :] == 0).all()
    assert 0 < np.count_nonzero(after) <= STOP_FADE + RAMP
    assert track.ring.read_samples <= 4000


def test_stop_before_the_first_sample_lets_none_out(source: PcmSource, ear: Ear) -> None:
    for state in (paused, shut, empty):
        state(source)
        source.stop()
        assert (ear.hear(BLOCK, BLOCK) == 0).all()


def test_a_track_added_after_stop_follows_the_fade_as_it_is(source: PcmSource, ear: Ear) -> None:
    source.add(a_track(constant(4000)))
    ear.hear(BLOCK)
    source.stop()
    source.add(a_track(ramp(600)))
    heard = ear.hear(1024)
    np.testing.assert_array_equal(heard[STOP_FADE : STOP_FADE + 600], ramp(600))
    assert largest_step(heard) <= LOUD * STEEPEST + 1e-3


def test_stop_in_a_dry_spell_or_in_its_decay_makes_no_sound_of_its_own(source: PcmSource, ear: Ear) -> None:
    track = a_track(constant(BLOCK - 20), ended=False)
    source.add(track)
    ear.hear(BLOCK)
    write(track, constant(1000), opened=False)
    source.stop()
    after = ear.hear(BLOCK, BLOCK)
    assert (after[RAMP - 20 :] == 0).all()
    assert largest_step(ear.heard()) <= LOUD * STEEPEST + 1e-6
    assert track.ring.read_samples == BLOCK - 20


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(st.integers(1, 300), st.sampled_from(["stop", "add", "go", "stop stop"])), max_size=40)
)
def test_stops_in_any_number_make_no_step_and_leak_nothing(steps: list[tuple[int, str]]) -> None:
    source = PcmSource(RATE_HZ)
    ear = Ear(source)
    rising = np.minimum(np.arange(3000, dtype=np.float32) * np.float32(STEEPEST / 2), np.float32(LOUD))
    for size, what in steps:
        if "stop" in what:
            for _ in what.split():
                source.stop()
        elif what == "add":
            source.add(a_track(rising, ended=False))
        ear.hear(size)
    source.stop()
    after = ear.hear(*[BLOCK] * 4)
    assert (after[STOP_FADE + RAMP :] == 0).all()
    assert largest_step(ear.heard()) <= 2 * STEEPEST + 1e-6


# -- lead-in -----------------------------------------------------------------------------------------------


def test_the_lead_in_wakes_the_sink_after_idleness_only_and_is_not_counted() -> None:
    """A18."""
    source = PcmSource(RATE_HZ, lead_in_s=0.1)
    ear = Ear(source)
    first, second = a_track(ramp(3000)), a_track(ramp(3000))
    source.add(first)
    heard = ear.hear(*[1000] * 6)
    assert (heard[:2400] == 0).all()
    np.testing.assert_array_equal(heard[2400:5400], ramp(3000))
    assert first.first_dac_s == pytest.approx(ear.start_s + 0.1, abs=1e-9)
    assert first.finished_dac_s == pytest.approx(ear.start_s + 0.1 + 3000 / RATE_HZ, abs=1e-9)
    ear.hear(RATE_HZ)
    source.add(second)
    np.testing.assert_array_equal(ear.hear(3000), ramp(3000))
    ear.hear(*[RATE_HZ] * 3)
    third = a_track(ramp(3000))
    source.add(third)
    heard = ear.hear(6000)
    assert (heard[:2400] == 0).all()
    np.testing.assert_array_equal(heard[2400:5400], ramp(3000))


def test_an_utterance_without_sound_has_no_lead_in() -> None:
    """B8: idle within a second even if the lead-in were longer."""
    source = PcmSource(RATE_HZ, lead_in_s=5.0)
    track = a_track(ramp(0))
    source.add(track)
    Ear(source).hear(BLOCK)
    assert track.finished_dac_s is not None


def test_stop_in_the_lead_in_is_silent() -> None:
    source = PcmSource(RATE_HZ, lead_in_s=0.1)
    ear = Ear(source)
    source.add(a_track(constant(3000)))
    ear.hear(1000)
    source.stop()
    assert (ear.hear(*[1000] * 5) == 0).all()


# -- for outputs without a clock ---------------------------------------------------------------------------


def test_an_output_without_a_clock_can_take_exactly_what_is_there(source: PcmSource, ear: Ear) -> None:
    assert source.readable_samples() == 0
    first, second = a_track(ramp(300)), a_track(ramp(200), ended=False)
    source.add(first)
    source.add(second)
    taken = []
    while count := source.readable_samples():
        taken.append(ear.hear(count))
    np.testing.assert_array_equal(np.concatenate(taken), np.concatenate([ramp(300), ramp(200)]))
    assert first.finished_dac_s is not None
    assert second.finished_dac_s is None
    second.end()
    assert source.readable_samples() == 1
    ear.hear(1)
    assert second.finished_dac_s is not None
    assert source.readable_samples() == 0


def test_nothing_is_readable_while_paused_or_shut(source: PcmSource) -> None:
    paused(source)
    assert source.readable_samples() == 0
    source.stop()
    shut(source)
    assert source.readable_samples() == 0


# -- A12 ---------------------------------------------------------------------------------------------------


def test_a_callback_takes_a_small_part_of_its_block(source: PcmSource) -> None:
    """A12: 99 of 100 callbacks of 10 ms take less than 2 ms of processor time, in speech and at its edges."""
    out, times = np.ones(240, np.float32), []
    for n in range(1500):
        if n % 50 == 0:
            source.stop()
            source.add(a_track(ramp(240 * 30 + 7), ended=n % 100 == 0))
        started_s = time.thread_time()
        source.read_into(out, n / 100)
        times.append(time.thread_time() - started_s)
    assert np.percentile(times, 99) < 0.002


def test_a_callback_keeps_nothing(source: PcmSource) -> None:
    """A12: memory does not grow with the blocks played."""
    import tracemalloc

    source.add(a_track(ramp(240 * 2000)))
    out = np.ones(240, np.float32)
    for _ in range(10):
        source.read_into(out, 1.0)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(1500):
            source.read_into(out, 1.0)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 2000
    assert peak - before < 8000


# -- a cut, and what is dropped ----------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [0, 1, 100, BLOCK, BLOCK + 1, 1000])
def test_a_cut_ends_a_track_at_exactly_that_sample_and_without_a_step(
    source: PcmSource, ear: Ear, cut: int
) -> None:
    track = a_track(constant(3000), ended=False)
    source.add(track)
    track.cut_at_samples = cut
    pcm = ear.hear(*[BLOCK] * 12)
    assert np.array_equal(pcm[:cut], constant(cut))
    assert largest_step(pcm[max(0, cut - 1) :]) <= STEEPEST + 1e-6
    assert not pcm[cut + RAMP :].any()
    assert track.finished_dac_s is not None
    assert track.ring.read_samples == cut
    assert track.underruns == 0


def test_a_cut_that_is_behind_what_was_heard_ends_the_track_now(source: PcmSource, ear: Ear) -> None:
    track = a_track(constant(3000), ended=False)
    source.add(track)
    ear.hear(BLOCK, BLOCK)
    track.cut_at_samples = BLOCK
    pcm = ear.hear(*[BLOCK] * 4)
    assert largest_step(np.concatenate([constant(1), pcm])) <= STEEPEST + 1e-6
    assert track.finished_dac_s == pytest.approx(ear.start_s + 2 * BLOCK / RATE_HZ)


def test_what_follows_a_cut_is_heard_as_it_is_but_for_the_decay(source: PcmSource, ear: Ear) -> None:
    track, follower = a_track(constant(3000)), a_track(constant(1000, 0.1))
    source.add(track)
    source.add(follower)
    track.cut_at_samples = 500
    pcm = ear.hear(*[BLOCK] * 8)
    assert np.array_equal(pcm[500 + RAMP : 1500], constant(1000 - RAMP, 0.1))
    assert largest_step(pcm[499:1500]) <= 0.1 + STEEPEST + 1e-6


def test_a_cut_opens_a_gate_that_nobody_would_open_any_more(source: PcmSource, ear: Ear) -> None:
    track = a_track(constant(1000), opened=False, ended=False)
    source.add(track)
    assert not ear.hear(BLOCK).any()
    track.cut_at_samples = 600
    pcm = ear.hear(*[BLOCK] * 4)
    assert np.array_equal(pcm[:600], constant(600))
    assert track.finished_dac_s is not None


def test_dropping_what_is_heard_fades_it_out_and_the_rest_follows(source: PcmSource, ear: Ear) -> None:
    heard, next_one, last = a_track(constant(5000)), a_track(constant(300, 0.2)), a_track(constant(300, 0.3))
    for track in (heard, next_one, last):
        source.add(track)
    ear.hear(BLOCK)
    source.drop([heard, next_one])
    pcm = ear.hear(*[BLOCK] * 4)
    assert largest_step(pcm[: STOP_FADE - 1]) < 0.01
    assert np.array_equal(pcm[STOP_FADE + RAMP : STOP_FADE + 300], constant(300 - RAMP, 0.3))
    assert next_one.ring.read_samples == 0
    assert not pcm[STOP_FADE + 300 + RAMP :].any()


def test_dropping_what_is_not_heard_yet_is_not_heard_either(source: PcmSource, ear: Ear) -> None:
    heard, dropped, last = a_track(ramp(1000)), a_track(constant(1000)), a_track(ramp(500))
    for track in (heard, dropped, last):
        source.add(track)
    ear.hear(BLOCK)
    source.drop([dropped])
    ear.hear(*[BLOCK] * 7)
    assert np.array_equal(ear.heard()[:1500], np.concatenate([ramp(1000), ramp(500)]))
    assert dropped.ring.read_samples == 0
    assert dropped.first_dac_s is None


def test_dropping_nothing_that_is_there_does_nothing(source: PcmSource, ear: Ear) -> None:
    source.drop([a_track(constant(10))])
    heard = a_track(ramp(1000))
    source.add(heard)
    source.drop([a_track(constant(10))])
    assert np.array_equal(ear.hear(*[BLOCK] * 4)[:1000], ramp(1000))
