"""A test tone, or as much silence, for an output to ask for; it notes that it was asked."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

TONE_HZ = 440.0
TONE_S = 1.5
LEVEL = 0.1
"""Of full scale: -20 dB, a voice's level."""
_RAMP_S = 0.05


def tone(rate_hz: int, duration_s: float = TONE_S, level: float = LEVEL) -> NDArray[np.float32]:
    """Return a sine of `TONE_HZ`, faded in and out, float32 ``[samples]``."""
    times_s = np.arange(round(duration_s * rate_hz)) / rate_hz
    ramp = np.clip(np.minimum(times_s, duration_s - times_s) / _RAMP_S, 0.0, 1.0)
    return (level * ramp * np.sin(2 * np.pi * TONE_HZ * times_s)).astype(np.float32)


class ProbeSignal:
    """A sample source that plays ``pcm`` once, then silence."""

    def __init__(
        self, pcm: NDArray[np.float32], rate_hz: int, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._pcm = pcm
        self._rate_hz = rate_hz
        self._clock = clock
        self._taken_samples = 0
        self.calls = 0
        """How often samples were asked for."""
        self.over_s: float | None = None
        """When the last sample of it is heard, on the clock's scale; ``None`` before it was asked for."""

    @property
    def rate_hz(self) -> int:
        """Samples per second."""
        return self._rate_hz

    @property
    def taken_s(self) -> float:
        """How much of it was asked for, in seconds."""
        return self._taken_samples / self._rate_hz

    def read_into(self, out: NDArray[np.float32], dac_s: float) -> None:
        """Fill ``out``, whose first sample is heard at ``dac_s``."""
        self.calls += 1
        at = self._taken_samples
        count = min(len(out), len(self._pcm) - at)
        out[:count] = self._pcm[at : at + count]
        out[count:] = 0.0
        self._taken_samples = at + count
        if self.over_s is None and self._taken_samples == len(self._pcm):
            self.over_s = dac_s + count / self._rate_hz
