"""The policy by itself, and replayed with the real decoder loop, track and callback on a fake clock."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.playback.chunk_policy import (
    CHUNK_FRAMES,
    MAX_START_BUFFER_S,
    SAFETY_S,
    SUSTAINABLE,
    DecodeCost,
    StartBuffer,
    next_chunk_frames,
)
from tests.app.playback.simulation import RATE_HZ, Simulation, linear, live, played
from tests.helpers.fake_decoder import SPEC, sound

FRAME_S = SPEC.frame_s
FAST = linear(0.003, 0.1)
SLOW_SINGLES = linear(0.08, 0.3)
"""A frame alone takes 0.104 s, longer than it sounds; pairs and more keep up."""


def known(cost_s: Callable[[int], float]) -> DecodeCost:
    return DecodeCost({n: cost_s(n) for n in CHUNK_FRAMES})


# -- cost --------------------------------------------------------------------------------------------------


def test_unmeasured_costs_nothing() -> None:
    assert DecodeCost().chunk_s(25) == 0.0
    assert DecodeCost().rtf(FRAME_S) == 0.0


def test_cost_is_interpolated_between_lengths_and_proportional_beyond() -> None:
    cost = DecodeCost({2: 0.02, 4: 0.06})
    assert cost.chunk_s(1) == cost.chunk_s(2) == 0.02
    assert cost.chunk_s(3) == pytest.approx(0.04)
    assert cost.chunk_s(8) == pytest.approx(0.12)
    assert DecodeCost({25: 1.0}).rtf(FRAME_S) == pytest.approx(0.5)


def test_one_slow_chunk_does_not_decide_and_many_do() -> None:
    cost = DecodeCost()
    cost.observe(1, 0.01)
    cost.observe(1, 1.0)
    assert cost.chunk_s(1) < 0.3
    for _ in range(30):
        cost.observe(1, 1.0)
    assert cost.chunk_s(1) > 0.95


# -- chunk length ------------------------------------------------------------------------------------------


def test_the_first_chunk_is_the_shortest_that_keeps_up() -> None:
    assert next_chunk_frames(100, 0.0, known(FAST), FRAME_S) == 1
    assert next_chunk_frames(100, 0.0, known(SLOW_SINGLES), FRAME_S) == 2
    assert next_chunk_frames(1, 0.0, known(SLOW_SINGLES), FRAME_S) == 1
    assert next_chunk_frames(100, 0.0, known(linear(0.0, 3.0)), FRAME_S) == CHUNK_FRAMES[-1]
    assert next_chunk_frames(0, 1.0, known(FAST), FRAME_S) == 0


@settings(deadline=None)
@given(
    st.integers(1, 3000),
    st.floats(0, 30),
    st.floats(0, 0.2),
    st.floats(0.01, 3),
    st.sampled_from(CHUNK_FRAMES),
)
def test_no_chunk_takes_longer_than_the_sound_in_hand_if_that_can_be(
    pending: int, buffered_s: float, per_chunk_s: float, rtf: float, other: int
) -> None:
    cost = known(linear(per_chunk_s, rtf))
    frames = next_chunk_frames(pending, buffered_s, cost, FRAME_S)
    assert frames in CHUNK_FRAMES
    assert frames <= pending

    def in_time(n: int) -> bool:
        return n <= pending and cost.chunk_s(n) + SAFETY_S <= buffered_s

    if in_time(other):
        assert in_time(frames)
        assert frames >= other
    elif not in_time(frames) and other <= pending and cost.chunk_s(other) <= SUSTAINABLE * other * FRAME_S:
        assert frames <= other


# -- start -------------------------------------------------------------------------------------------------


def may_start(buffer: StartBuffer, **changes: float) -> bool:
    facts = {"buffered_s": 0.16, "waiting_s": 0.0, "next_chunk_s": 0.0, "decode_rtf": 0.1, "expected_s": 5.0}
    return buffer.may_start(**{**facts, **changes})


def test_sound_starts_once_it_covers_the_links_pauses_and_the_next_chunk() -> None:
    buffer = StartBuffer(0.16)
    assert may_start(buffer)
    assert not may_start(buffer, buffered_s=0.08)
    assert not may_start(buffer, buffered_s=0.0, waiting_s=9.0)
    assert may_start(buffer, buffered_s=0.08, waiting_s=0.08, next_chunk_s=0.05)
    assert not may_start(buffer, buffered_s=0.08, waiting_s=0.08, next_chunk_s=0.06)
    assert may_start(StartBuffer(0.0), buffered_s=0.001)


def test_a_decoder_slower_than_real_time_gets_ahead_first() -> None:
    """E8: at RTF 2, half of what is to be heard."""
    buffer = StartBuffer(0.16)
    assert not may_start(buffer, decode_rtf=2.0, expected_s=10.0, buffered_s=4.9)
    assert may_start(buffer, decode_rtf=2.0, expected_s=10.0, buffered_s=5.0)
    assert may_start(buffer, decode_rtf=1.0, expected_s=10.0)


def test_a_gap_teaches_and_clean_utterances_let_it_be_forgotten() -> None:
    buffer = StartBuffer(0.16)
    buffer.after_underrun(0.5)
    assert buffer.target_s == pytest.approx(0.55)
    buffer.after_underrun(0.5)
    assert buffer.target_s == pytest.approx(1.1)
    for _ in range(5):
        buffer.after_underrun(60.0)
    assert buffer.target_s == MAX_START_BUFFER_S
    for _ in range(20):
        buffer.after_clean_utterance(0.5)
    assert buffer.target_s == pytest.approx(0.55), "the link still pauses that long"
    for _ in range(20):
        buffer.after_clean_utterance(0.08)
    assert buffer.target_s == 0.16


def test_pauses_that_made_no_gap_teach_nothing() -> None:
    buffer = StartBuffer(0.16)
    buffer.after_clean_utterance(2.0)
    assert buffer.target_s == 0.16


# -- replayed ----------------------------------------------------------------------------------------------


def assert_all_was_heard(simulation: Simulation, frames: int) -> None:
    """Every sample that no ramp touched is there, in order, none twice; the rest is counted."""
    assert simulation.track.ring.read_samples == frames * SPEC.samples_per_frame
    heard = played(simulation.sound)
    assert (np.diff(heard) > 0).all()
    assert np.isin(heard, sound(0, frames)).all()
    touched_at_most = 130 * (simulation.track.underruns + 1)
    assert len(heard) >= frames * SPEC.samples_per_frame - touched_at_most
    assert set(simulation.decoder.chunks) <= set(CHUNK_FRAMES)


def longest_silences_s(simulation: Simulation) -> list[float]:
    """Silences between the first and the last sample, longer than 20 ms."""
    heard = np.trim_zeros(simulation.sound)
    edges = np.diff((heard == 0).astype(np.int8), prepend=0, append=0)
    lengths = (np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)) / RATE_HZ
    return [float(each) for each in lengths if each > 0.02]


@pytest.mark.parametrize("packet_frames", [1, 2, 4, 25])
@pytest.mark.parametrize("cost_s", [FAST, linear(0.01, 0.5), linear(0.0, 0.7)])
def test_a_live_server_and_a_decoder_that_keeps_up_have_no_gap(
    packet_frames: int, cost_s: Callable[[int], float]
) -> None:
    """And sound starts as soon as the start buffer has arrived and a chunk of it is decoded."""
    simulation = Simulation(cost_s)
    arrivals = live(200, packet_frames)
    simulation.run(arrivals, arrivals[-1][0])
    assert_all_was_heard(simulation, 200)
    assert simulation.track.underruns == 0
    enough_s = next(at for n, (at, _) in enumerate(arrivals) if (n + 1) * packet_frames >= 2)
    assert simulation.first_sound_s <= enough_s + 2 * cost_s(1) + 0.05


@pytest.mark.parametrize("cost_s", [FAST, linear(0.01, 0.5), linear(0.02, 0.75), SLOW_SINGLES])
def test_an_unpaced_server_is_decoded_in_ever_longer_chunks_that_are_always_in_time(
    cost_s: Callable[[int], float],
) -> None:
    simulation = Simulation(cost_s)
    simulation.run([(0.1, 2048)], 0.1)
    assert_all_was_heard(simulation, 2048)
    assert simulation.track.underruns == 0
    assert simulation.too_slow == []
    assert simulation.decoder.chunks[0] < 8
    assert 25 in simulation.decoder.chunks


def test_a_decoder_slow_with_single_frames_learns_after_one_gap_at_most() -> None:
    """A live server sends frame by frame; single frames do not keep up, so it lags until pairs wait."""
    buffer = StartBuffer(0.16)
    for underruns in (1, 0):
        simulation = Simulation(SLOW_SINGLES, buffer)
        arrivals = live(200)
        simulation.run(arrivals, arrivals[-1][0])
        assert_all_was_heard(simulation, 200)
        assert simulation.track.underruns <= underruns


@pytest.mark.parametrize("rtf", [1.2, 2.0, 3.0])
@pytest.mark.parametrize("guess", [0.5, 1.0, 2.0])
def test_a_decoder_slower_than_real_time_waits_once_and_does_not_stutter(rtf: float, guess: float) -> None:
    """E8: wherever the guess of the length was; what has arrived is known, and so is an end."""
    simulation = Simulation(linear(0.01, rtf), expected_s=guess * 100 * FRAME_S)
    simulation.run([(0.1, 100)], 0.1)
    assert_all_was_heard(simulation, 100)
    assert simulation.track.underruns <= 1
    decoding_s = sum(linear(0.01, rtf)(n) for n in simulation.decoder.chunks)
    assert simulation.first_sound_s <= 0.1 + decoding_s
    live_one = Simulation(linear(0.01, rtf), expected_s=100 * FRAME_S)
    live_one.run(live(100), 8.1)
    assert_all_was_heard(live_one, 100)
    assert live_one.track.underruns <= 1


def test_a_slow_decoder_does_not_wait_for_more_than_it_needs() -> None:
    """At RTF 2 half of it suffices: the second half is decoded while the first is heard."""
    simulation = Simulation(linear(0.0, 2.0), expected_s=1000.0)
    simulation.run([(0.1, 100)], 0.1)
    assert simulation.first_sound_s < 0.1 + 0.75 * 100 * FRAME_S * 2
    assert simulation.track.underruns == 0


def test_one_frame_then_a_pause_then_real_time_in_large_packets() -> None:
    """B12."""
    arrivals = [(0.1, 1), *((1.1 + 2.0 * n, 25) for n in range(6))]
    simulation = Simulation(FAST)
    simulation.run(arrivals, arrivals[-1][0])
    assert_all_was_heard(simulation, 151)
    assert simulation.track.underruns <= 1


@pytest.mark.parametrize("packet_frames", [1, 2, 4])
@pytest.mark.parametrize("jitter_s", [0.03, 0.1, 0.3])
def test_a_link_that_pauses_makes_a_gap_or_two_in_many_utterances(
    packet_frames: int, jitter_s: float
) -> None:
    """The start buffer learns for the utterances that follow."""
    buffer, random, underruns = StartBuffer(0.16), np.random.default_rng(4), []
    for _ in range(8):
        late = [at + float(random.uniform(0, jitter_s)) for at, _ in live(152, packet_frames)]
        arrivals = [(at, packet_frames) for at in np.maximum.accumulate(late).tolist()]
        simulation = Simulation(FAST, buffer)
        simulation.run(arrivals, arrivals[-1][0])
        assert_all_was_heard(simulation, 152)
        underruns.append(simulation.track.underruns)
    assert sum(underruns) <= 2, underruns


def test_a_stall_and_a_burst_make_exactly_one_gap() -> None:
    """B13: nothing is skipped, and nobody is told that it finished in the gap."""
    arrivals = [(0.12, 4), (0.14, 4), (1.34, 4), *[(1.34, 4)] * 5]
    simulation = Simulation(FAST)
    finished_in_gap: list[bool] = []
    simulation.clock.at(
        simulation.started_s + 1.3,
        lambda: finished_in_gap.append(simulation.track.finished_dac_s is not None),
    )
    simulation.run(arrivals, 1.34)
    assert_all_was_heard(simulation, 32)
    assert simulation.track.underruns == 1
    assert len(longest_silences_s(simulation)) == 1
    assert longest_silences_s(simulation)[0] == pytest.approx(simulation.track.gap_s, abs=0.012)
    assert finished_in_gap == [False]


@pytest.mark.parametrize("frames", [1, 2])
def test_an_utterance_shorter_than_the_start_buffer_plays_at_its_end(frames: int) -> None:
    """A22."""
    simulation = Simulation(FAST, StartBuffer(0.3))
    simulation.run([(0.1, frames)], 0.6)
    assert_all_was_heard(simulation, frames)
    assert 0.59 < simulation.first_sound_s < 0.65
    assert simulation.track.underruns == 0


def test_an_end_that_comes_late_with_nothing_behind_it_is_no_underrun() -> None:
    simulation = Simulation(FAST)
    simulation.run([(0.1, 4)], 3.0)
    assert_all_was_heard(simulation, 4)
    assert (simulation.track.underruns, simulation.track.gap_s) == (0, 0.0)
    assert simulation.start_buffer.learnt_s == 0.0
    assert simulation.track.finished_dac_s is not None
    assert simulation.track.finished_dac_s - simulation.started_s < 0.6


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0, 0.6), st.integers(1, 30)), min_size=1, max_size=15),
    st.floats(0, 0.1),
    st.floats(0.05, 1.5),
    st.floats(0, 1),
)
def test_whatever_arrives_when_all_of_it_is_heard_in_order(
    steps: list[tuple[float, int]], per_chunk_s: float, rtf: float, start_buffer_s: float
) -> None:
    at_s, arrivals = 0.1, []
    for wait_s, frames in steps:
        at_s += wait_s
        arrivals.append((at_s, frames))
    simulation = Simulation(linear(per_chunk_s, rtf), StartBuffer(start_buffer_s), expected_s=2.0)
    simulation.run(arrivals, at_s)
    total = sum(frames for _, frames in arrivals)
    assert_all_was_heard(simulation, total)
    assert len(longest_silences_s(simulation)) <= simulation.track.underruns
