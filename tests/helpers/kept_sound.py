"""Keeps the sound of a reading in memory, as a recording does on the disk."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FULL_SCALE = 32_768


class Kept:
    """A sink and what it was given; not realistic: it never fails and has no bound."""

    def __init__(self) -> None:
        self._samples = np.zeros(0, np.int16)

    @property
    def samples(self) -> int:
        return len(self._samples)

    def write(self, pcm: NDArray[np.float32]) -> None:
        self._samples = np.concatenate([self._samples, np.rint(pcm * FULL_SCALE).astype(np.int16)])

    def read(self, start: int, stop: int) -> NDArray[np.int16]:
        return self._samples[start:stop]
