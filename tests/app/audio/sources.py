"""Sources for outputs under test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class ListSource:
    """Plays ``pcm`` once, then silence, and notes when each block is heard."""

    def __init__(self, pcm: NDArray[np.float32] | None = None, rate_hz: int = 24_000) -> None:
        self.pcm = np.zeros(0, np.float32) if pcm is None else pcm.astype(np.float32)
        self.rate_hz = rate_hz
        self.at = 0
        self.error: BaseException | None = None
        self.asked_for: list[tuple[int, float]] = []
        """Position of the block's first sample since the beginning, and its ``dac_s``."""
        self._samples = 0

    def read_into(self, out: NDArray[np.float32], dac_s: float) -> None:
        if self.error is not None:
            raise self.error
        self.asked_for.append((self._samples, dac_s))
        self._samples += len(out)
        piece = self.pcm[self.at : self.at + len(out)]
        out[: len(piece)] = piece
        out[len(piece) :] = 0.0
        self.at += len(piece)

    def readable_samples(self) -> int:
        return len(self.pcm) - self.at


def ramp(samples: int) -> NDArray[np.float32]:
    """Samples that are all different and none 0 or 1, so that a lost or repeated one shows."""
    return ((np.arange(samples) + 1) / 2**20).astype(np.float32)


def sine(samples: int, hz: float = 220.0, rate_hz: int = 24_000) -> NDArray[np.float32]:
    return (0.5 * np.sin(2 * np.pi * hz * np.arange(samples) / rate_hz)).astype(np.float32)
