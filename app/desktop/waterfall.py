"""Where the bars of the latency's waterfall lie: each hop begins where the one before it ended."""

from __future__ import annotations

from dataclasses import dataclass

from app.desktop.figures import rounded_up
from app.desktop.latency import Hop, Numbers

SHORTEST_SCALE_S = 0.1
"""What the whole width stands for at least: a few milliseconds should look like few."""


@dataclass(frozen=True)
class Bar:
    """A hop as a part of the whole width; ``None`` instead of its ends is not known yet."""

    hop: Hop
    duration_s: float | None
    starts: float | None
    ends: float | None
    is_slowest: bool
    is_within_ttfa: bool
    """Connecting comes before the text is sent, and the silence after the first sample is heard."""


@dataclass(frozen=True)
class Waterfall:
    """All hops on one scale."""

    bars: tuple[Bar, ...]
    scale_s: float
    """What the whole width stands for."""


def waterfall(numbers: Numbers | None) -> Waterfall:
    """Lay out the hops of ``numbers``; a hop after one that is not known has no place yet."""
    hops = dict.fromkeys(Hop) if numbers is None else numbers.hops()
    slowest = None if numbers is None else numbers.slowest()
    total_s = sum(duration_s or 0.0 for duration_s in hops.values())
    scale_s = max(SHORTEST_SCALE_S, rounded_up(total_s) if total_s > 0 else 0.0)
    bars = []
    at_s: float | None = 0.0
    for hop, duration_s in hops.items():
        starts_s = at_s
        at_s = None if starts_s is None or duration_s is None else starts_s + duration_s
        bars.append(
            Bar(
                hop,
                duration_s,
                None if at_s is None or starts_s is None else starts_s / scale_s,
                None if at_s is None else at_s / scale_s,
                is_slowest=hop is slowest,
                is_within_ttfa=hop not in (Hop.BEFORE, Hop.SILENCE),
            )
        )
    return Waterfall(tuple(bars), scale_s)
