"""Would a player have run dry?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.caller import Arrival
from server.load.continuity import gaps_s, needed_buffer_s

MS = 1e-3

waits_ms = st.lists(
    st.tuples(st.integers(0, 400), st.sampled_from([0, 80, 160, 240])), min_size=1, max_size=40
)
"""Of each message: milliseconds after the one before, and milliseconds of sound."""


def arrivals(steps: list[tuple[int, int]], begin_ms: int = 0) -> list[Arrival]:
    at_ms, found = begin_ms, []
    for wait_ms, sound_ms in steps:
        at_ms += wait_ms
        found.append(Arrival(at_ms * MS, sound_ms * MS))
    return found


def player_runs_dry(steps: list[tuple[int, int]], buffer_ms: int) -> bool:
    """Play it millisecond by millisecond: the naive way, which the formula must agree with."""
    at_ms, due = 0, []
    for wait_ms, sound_ms in steps:
        at_ms += wait_ms
        due.append((at_ms, sound_ms))
    now_ms = due[0][0]
    left_ms, waits_ms = 0, buffer_ms
    while due:
        while due and due[0][0] <= now_ms:
            left_ms += due.pop(0)[1]
        if not due:
            return False
        if waits_ms:
            waits_ms -= 1
        elif left_ms == 0:
            return True
        else:
            left_ms -= 1
        now_ms += 1
    return False


@given(waits_ms, st.integers(0, 500))
def test_it_agrees_with_a_player_that_plays(steps: list[tuple[int, int]], buffer_ms: int) -> None:
    needed = round(needed_buffer_s(arrivals(steps)) / MS)
    assert player_runs_dry(steps, buffer_ms) == (needed > buffer_ms)


@given(waits_ms)
def test_what_comes_sooner_never_needs_more(steps: list[tuple[int, int]]) -> None:
    sooner = [(wait_ms // 2, sound_ms) for wait_ms, sound_ms in steps]
    assert needed_buffer_s(arrivals(sooner)) <= needed_buffer_s(arrivals(steps)) + 1e-9


@given(waits_ms, st.integers(0, 10_000))
def test_when_it_begins_does_not_matter(steps: list[tuple[int, int]], begin_ms: int) -> None:
    later = needed_buffer_s(arrivals(steps, begin_ms))
    assert later == pytest.approx(needed_buffer_s(arrivals(steps)), abs=1e-9)


@given(st.integers(1, 40), st.integers(0, 80))
def test_whoever_sends_in_real_time_or_faster_needs_no_buffer(frames: int, wait_ms: int) -> None:
    assert needed_buffer_s(arrivals([(wait_ms, 80)] * frames)) == pytest.approx(0, abs=1e-9)


def test_a_pause_needs_a_buffer_of_its_length_past_what_is_in_hand() -> None:
    assert needed_buffer_s(arrivals([(0, 80), (0, 80), (400, 80), (80, 80)])) == pytest.approx(0.24)


def test_nothing_needs_nothing() -> None:
    assert needed_buffer_s([]) == 0
    assert gaps_s([]) == []


def test_gaps_are_between_messages() -> None:
    assert gaps_s(arrivals([(70, 80), (90, 80), (10, 160)])) == pytest.approx([0.09, 0.01])
