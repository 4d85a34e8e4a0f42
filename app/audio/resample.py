"""Resampling that keeps its state between blocks, so that no seam clicks and no tail is lost."""

from __future__ import annotations

import numpy as np
import soxr
from numpy.typing import NDArray

from app.audio.output import SampleSource

# Small enough not to read far ahead of the device, large enough to keep the calls few.
_PULL_S = 0.01


class StreamResampler:
    """Chunks in, chunks out, for one utterance; make a new one for the next."""

    def __init__(self, from_hz: int, to_hz: int) -> None:
        self._soxr = None if from_hz == to_hz else soxr.ResampleStream(from_hz, to_hz, 1, dtype="float32")

    def push(self, pcm: NDArray[np.float32]) -> NDArray[np.float32]:
        """Resample the next ``float32 [samples]``; the answer lags behind, and may be empty."""
        return self._run(pcm, last=False)

    def flush(self) -> NDArray[np.float32]:
        """Deliver what lagged behind: all chunks together are ``round(N · to / from)`` ± 1 samples."""
        return self._run(np.zeros(0, np.float32), last=True)

    def _run(self, pcm: NDArray[np.float32], *, last: bool) -> NDArray[np.float32]:
        pcm = np.ascontiguousarray(pcm, np.float32)
        if self._soxr is None:
            return pcm
        resampled: NDArray[np.float32] = self._soxr.resample_chunk(pcm, last=last)
        return resampled


class ResamplingSource:
    """A `SampleSource` at the device's rate, over one at another rate.

    It reads a few ten milliseconds ahead of the device, as the filter needs; the tail comes out
    since the source goes on with silence. ``dac_s`` handed on is that of the very sample.
    """

    def __init__(self, source: SampleSource, rate_hz: int) -> None:
        self._source = source
        self._from_hz = source.rate_hz
        self._to_hz = rate_hz
        self._soxr = soxr.ResampleStream(self._from_hz, rate_hz, 1, dtype="float32")
        self._pulled = np.zeros(max(1, round(_PULL_S * self._from_hz)), np.float32)
        self._pulled_samples = 0
        self._delivered_samples = 0
        # soxr hands out what it made in bursts: a second of room is several times the largest.
        self._ready = np.zeros(rate_hz, np.float32)
        self._ready_from = 0
        self._ready_to = 0
        # soxr makes its tables at first use, which is no work for a real-time thread.
        for _ in range(round(1 / _PULL_S)):
            self._soxr.resample_chunk(self._pulled)
        self._soxr.clear()

    @property
    def rate_hz(self) -> int:
        """The device's rate."""
        return self._to_hz

    def read_into(self, out: NDArray[np.float32], dac_s: float) -> None:
        """Fill ``out``, reading the source as often as that needs."""
        filled = 0
        while filled < len(out):
            if self._ready_from == self._ready_to:
                self._pull(dac_s)
                continue
            count = min(len(out) - filled, self._ready_to - self._ready_from)
            out[filled : filled + count] = self._ready[self._ready_from : self._ready_from + count]
            self._ready_from += count
            filled += count
        self._delivered_samples += filled

    def _pull(self, dac_s: float) -> None:
        # Output sample k is the input at k / to_hz: soxr takes its own delay out. So the next input
        # sample is heard this much later than the first sample of the block being filled.
        ahead_s = self._pulled_samples / self._from_hz - self._delivered_samples / self._to_hz
        self._source.read_into(self._pulled, dac_s + ahead_s)
        self._pulled_samples += len(self._pulled)
        made = self._soxr.resample_chunk(self._pulled)
        self._ready[: len(made)] = made
        self._ready_from = 0
        self._ready_to = len(made)
