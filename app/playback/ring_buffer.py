"""The crossing from the decode thread to the audio callback: a ring for one writer and one reader.

No lock: each side owns one counter that only grows and reads the other's. An assignment of an int is
atomic in CPython, and the counter is moved after the samples are, so the other side sees either nothing
or finished samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class RingBuffer:
    """Float32 samples in a preallocated ring; one thread writes, one thread reads."""

    def __init__(self, capacity_samples: int) -> None:
        self._samples = np.zeros(capacity_samples, np.float32)
        self._written = 0
        self._read = 0

    @property
    def written_samples(self) -> int:
        """Samples ever written."""
        return self._written

    @property
    def read_samples(self) -> int:
        """Samples ever read."""
        return self._read

    @property
    def readable_samples(self) -> int:
        """Samples that a read would find now; for the reader, never more than there are."""
        # The slower counter first: for a third thread, too, the difference is never negative.
        read = self._read
        return self._written - read

    @property
    def writable_samples(self) -> int:
        """Room for a write now; for the writer, never more than there is."""
        return len(self._samples) - (self._written - self._read)

    def write(self, pcm: NDArray[np.float32]) -> int:
        """Copy as much of ``pcm`` as there is room for and return how many samples that was."""
        count = min(len(pcm), self.writable_samples)
        start = self._written % len(self._samples)
        first = min(count, len(self._samples) - start)
        self._samples[start : start + first] = pcm[:first]
        self._samples[: count - first] = pcm[first:count]
        self._written += count
        return count

    def read_into(self, out: NDArray[np.float32]) -> int:
        """Fill ``out`` from its beginning and return how many samples there were."""
        count = min(len(out), self.readable_samples)
        start = self._read % len(self._samples)
        first = min(count, len(self._samples) - start)
        out[:first] = self._samples[start : start + first]
        out[first:count] = self._samples[: count - first]
        self._read += count
        return count

    def skip_to(self, position_samples: int) -> None:
        """Leave out what is before ``position_samples``, counted from the first ever written (reader)."""
        self._read = max(self._read, min(position_samples, self._written))
