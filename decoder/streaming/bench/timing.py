"""Timing cases in turn, and what the samples say. Needs no torch; the clock is an argument."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """Something to time.

    Attributes:
        name: unique among the cases of a run.
        run: the work to time. Called once before timing starts, so that allocation and kernel
            selection are not what is measured.
        repeats: runs within a round; many for what takes milliseconds.
        prepare: called before each run, not timed.

    """

    name: str
    run: Callable[[], object]
    repeats: int = 1
    prepare: Callable[[], object] | None = None


@dataclass
class Timing:
    """Seconds of one case, in the order they were taken."""

    samples_s: list[float] = field(default_factory=list)
    """By the wall clock."""
    cpu_samples_s: list[float] = field(default_factory=list)
    """Of all of this process's threads together; what other processes do touches it less."""

    @property
    def median_s(self) -> float:
        """The middle one; NaN without samples."""
        return quantile(self.samples_s, 0.5)

    @property
    def p95_s(self) -> float:
        """What 95 % stay within; the largest of fewer than twenty samples, about."""
        return quantile(self.samples_s, 0.95)

    @property
    def median_cpu_s(self) -> float:
        """The middle one of the CPU times; NaN without samples."""
        return quantile(self.cpu_samples_s, 0.5)

    @property
    def best_s(self) -> float:
        """The smallest: what an undisturbed run takes."""
        return min(self.samples_s, default=math.nan)


def quantile(samples: Sequence[float], share: float) -> float:
    """Return the value that ``share`` (0 to 1) of the samples do not exceed, between neighbours linearly."""
    if not samples:
        return math.nan
    ordered = sorted(samples)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def time_in_turn(
    cases: Sequence[Case],
    *,
    rounds: int,
    limit_s: float = math.inf,
    clock: Callable[[], float] = time.perf_counter,
    cpu_clock: Callable[[], float] = time.process_time,
    progress: Callable[[int], object] | None = None,
) -> dict[str, Timing]:
    """Run every case once untimed, then all of them in turn, ``rounds`` times.

    A disturbance of a second or more so meets all cases alike. Every second round goes backwards, so
    that no case always follows the same one.

    Args:
        cases: in any order; names differ.
        rounds: at most.
        limit_s: no new round starts later than this after the first one's start; the first round is
            always whole.
        clock: seconds, from anywhere.
        cpu_clock: seconds that this process has computed.
        progress: told the number of each round that is done.

    Returns:
        A Timing for each name.

    """
    timings = {case.name: Timing() for case in cases}
    if len(timings) != len(cases):
        raise ValueError("two cases have the same name")
    for case in cases:
        _once(case, clock, cpu_clock)
    start = clock()
    for number in range(rounds):
        if number and clock() - start > limit_s:
            break
        for case in cases if number % 2 == 0 else cases[::-1]:
            timing = timings[case.name]
            for _ in range(case.repeats):
                wall_s, cpu_s = _once(case, clock, cpu_clock)
                timing.samples_s.append(wall_s)
                timing.cpu_samples_s.append(cpu_s)
        if progress is not None:
            progress(number + 1)
    return timings


def _once(case: Case, clock: Callable[[], float], cpu_clock: Callable[[], float]) -> tuple[float, float]:
    """Return wall and CPU seconds."""
    if case.prepare is not None:
        case.prepare()
    start, cpu_start = clock(), cpu_clock()
    case.run()
    return clock() - start, cpu_clock() - cpu_start
