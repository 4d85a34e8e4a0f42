"""Timing in turn, with a clock that the test moves."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.streaming.bench.timing import Case, Timing, quantile, time_in_turn


class Clock:
    """Stands still but for what the cases add."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s

    def takes(self, seconds: float) -> Callable[[], None]:
        def work() -> None:
            self.now_s += seconds

        return work


def test_cases_run_in_turn_forwards_and_backwards() -> None:
    """Once each untimed, then a round forwards, one backwards, with their repeats."""
    order: list[str] = []
    cases = [
        Case("a", lambda: order.append("a"), repeats=2),
        Case("b", lambda: order.append("b")),
    ]
    rounds: list[int] = []
    timings = time_in_turn(cases, rounds=2, progress=rounds.append)
    assert "".join(order) == "ab" + "aab" + "baa"
    assert {name: len(timing.samples_s) for name, timing in timings.items()} == {"a": 4, "b": 2}
    assert rounds == [1, 2]


def test_only_the_work_is_timed() -> None:
    clock = Clock()
    case = Case("a", clock.takes(0.25), prepare=clock.takes(9.0))
    assert time_in_turn([case], rounds=3, clock=clock)["a"].samples_s == [0.25] * 3


def test_cpu_time_is_told_beside() -> None:
    """Of waiting there is none in it."""
    clock, cpu_clock = Clock(), Clock()

    def work() -> None:
        clock.now_s += 0.5
        cpu_clock.now_s += 0.125

    timing = time_in_turn([Case("a", work)], rounds=2, clock=clock, cpu_clock=cpu_clock)["a"]
    assert timing.cpu_samples_s == [0.125, 0.125]
    assert (timing.median_s, timing.median_cpu_s) == (0.5, 0.125)


@pytest.mark.parametrize(("limit_s", "rounds"), [(0.0, 1), (2.5, 2), (math.inf, 4)])
def test_the_limit_ends_it_after_a_whole_round(limit_s: float, rounds: int) -> None:
    clock = Clock()
    cases = [Case("a", clock.takes(2.0)), Case("b", clock.takes(0.5))]
    timings = time_in_turn(cases, rounds=4, limit_s=limit_s, clock=clock)
    assert [len(timing.samples_s) for timing in timings.values()] == [rounds, rounds]


def test_names_differ() -> None:
    with pytest.raises(ValueError, match="same name"):
        time_in_turn([Case("a", int), Case("a", int)], rounds=1)


def test_what_the_samples_say() -> None:
    timing = Timing([0.4, 0.1, 0.2, 0.3])
    assert timing.median_s == pytest.approx(0.25)
    assert timing.p95_s == pytest.approx(0.385)
    assert timing.best_s == 0.1
    assert math.isnan(Timing().median_s)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1), st.floats(0, 1))
def test_quantiles_lie_between_the_samples_and_do_not_cross(
    samples: list[float], share: float, other: float
) -> None:
    lower, upper = sorted((share, other))
    assert min(samples) <= quantile(samples, lower) <= quantile(samples, upper) + 1e-6
    assert quantile(samples, upper) <= max(samples) + 1e-6
    assert quantile(samples, 0.0) == min(samples)
    assert quantile(samples, 1.0) == max(samples)
