"""The shape of a sound for the eye: the largest magnitude in each 20 ms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PEAK_S = 0.02
"""What one peak stands for."""

Peaks = NDArray[np.float32]


class GrowingPeaks:
    """Peaks of a stream; one thread adds while another looks, without a lock.

    The count is moved once the values are in place, and values that are counted never change.
    """

    def __init__(self, rate_hz: int) -> None:
        self._every = peak_samples(rate_hz)
        self._values = np.zeros(1024, np.float32)
        self._count = 0
        self._tail_samples = 0
        """Samples of the piece that is not complete."""
        self._tail_peak = 0.0

    def add(self, pcm: NDArray[np.float32]) -> None:
        """Take the next ``float32 [samples]``; for the thread that writes."""
        magnitude = np.minimum(np.abs(np.nan_to_num(pcm, nan=0.0, posinf=1.0, neginf=-1.0)), 1.0)
        if self._tail_samples:
            head, magnitude = np.split(magnitude, [self._every - self._tail_samples])
            self._tail_peak = max(self._tail_peak, float(head.max(initial=0.0)))
            self._tail_samples += len(head)
            if self._tail_samples < self._every:
                return
            self._append(np.array([self._tail_peak], np.float32))
            self._tail_samples, self._tail_peak = 0, 0.0
        whole = len(magnitude) // self._every * self._every
        self._append(peaks_of(magnitude[:whole], self._every))
        self._tail_samples = len(magnitude) - whole
        self._tail_peak = float(magnitude[whole:].max(initial=0.0))

    def end(self) -> None:
        """Give the last, shorter piece its peak."""
        if self._tail_samples:
            self._append(np.array([self._tail_peak], np.float32))
            self._tail_samples = 0

    def so_far(self) -> Peaks:
        """Return the peaks of all complete pieces; nobody writes to them any more."""
        # The count first: the array that is looked at afterwards has at least as many.
        count = self._count
        view = self._values[:count]
        view.setflags(write=False)
        return view

    def _append(self, peaks: Peaks) -> None:
        count = self._count + len(peaks)
        if count > len(self._values):
            # A new array, so that what was handed out stays as it is.
            bigger = np.zeros(max(count, 2 * len(self._values)), np.float32)
            bigger[: self._count] = self._values[: self._count]
            self._values = bigger
        self._values[self._count : count] = peaks
        self._count = count


def peaks_of(pcm: NDArray[np.floating[Any]], every: int) -> Peaks:
    """Return the largest magnitude in each ``every`` samples, the last piece maybe shorter."""
    if not len(pcm):
        return np.zeros(0, np.float32)
    peaks: Peaks = np.maximum.reduceat(np.abs(pcm), np.arange(0, len(pcm), every)).astype(np.float32)
    return peaks


def peak_samples(rate_hz: int) -> int:
    """Return how many samples one peak stands for."""
    return round(PEAK_S * rate_hz)


def load_peaks(path: Path) -> Peaks | None:
    """Read kept peaks; ``None`` if there are none, or what is there is something else."""
    try:
        kept = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return kept if isinstance(kept, np.ndarray) and kept.dtype == np.float32 and kept.ndim == 1 else None


def save_peaks(path: Path, peaks: Peaks) -> None:
    """Keep peaks; where that is not possible they are computed again the next time."""
    unfinished = path.with_name(path.name + ".new")
    try:
        with unfinished.open("wb") as file:
            np.save(file, peaks, allow_pickle=False)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
