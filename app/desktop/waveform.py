"""How a reading's sound is laid out along a strip: always all of it, from end to end."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from app.desktop.peaks import PEAK_S

SHORTEST_S = 5.0
"""What a strip stands for at least while more is to come."""
ROOM = 1.1
"""How much more than there is a strip shows while more is to come, at least."""
STEP = 1.5
"""By how much the scale changes at once: in steps, for all bars move when it does."""
_LIFT = 0.6
"""Exponent that lifts quiet sound to where it can be seen."""


def span_s(total_s: float, complete: bool) -> float:
    """Return how much time the whole width of a strip stands for when ``total_s`` of sound is there."""
    if complete and total_s > 0:
        return total_s
    wanted_s = total_s * ROOM
    if wanted_s <= SHORTEST_S:
        return SHORTEST_S
    steps = math.ceil(math.log(wanted_s / SHORTEST_S, STEP) - 1e-9)
    return SHORTEST_S * STEP**steps


def bar_heights(peaks: NDArray[np.float32], bars: int, span_s: float) -> NDArray[np.float32]:
    """Return the height, 0 to 1, of each of ``bars`` bars that share ``span_s``; few if there is less sound.

    A bar is as high as the loudest of its peaks; one that falls between two is as high as the earlier.
    """
    if bars <= 0 or not len(peaks):
        return np.zeros(0, dtype=np.float32)
    peaks_per_bar = span_s / PEAK_S / bars
    used = min(bars, math.ceil(len(peaks) / peaks_per_bar))
    starts = np.minimum((np.arange(used) * peaks_per_bar).astype(np.intp), len(peaks) - 1)
    loudest: NDArray[np.float32] = np.maximum.reduceat(peaks, starts)
    heights: NDArray[np.float32] = np.clip(loudest, 0.0, 1.0) ** np.float32(_LIFT)
    return heights
