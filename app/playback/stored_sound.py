"""Sound that is there already, read like a ring: what was heard before and is heard again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_FULL_SCALE = 32_768.0


class StoredSound:
    """16-bit samples with a reader's position; nobody writes to them any more.

    ``end`` says, in samples of this sound, where to stop; it is asked with every read, in the callback. So a
    replay ends exactly where the live sound behind it goes on, however far that was read meanwhile.
    """

    def __init__(self, samples: NDArray[np.int16], end: Callable[[], int] | None = None) -> None:
        self._samples = samples
        self._end = end
        self._read = 0

    @property
    def read_samples(self) -> int:
        """Samples ever read."""
        return self._read

    @property
    def readable_samples(self) -> int:
        """Samples that a read would find now."""
        end = len(self._samples) if self._end is None else min(self._end(), len(self._samples))
        return max(0, end - self._read)

    def skip_to(self, position_samples: int) -> None:
        """Leave out what is before ``position_samples``."""
        self._read = max(self._read, min(position_samples, self._read + self.readable_samples))

    def read_into(self, out: NDArray[np.float32]) -> int:
        """Fill ``out`` from its beginning and return how many samples there were."""
        count = min(len(out), self.readable_samples)
        np.divide(self._samples[self._read : self._read + count], np.float32(_FULL_SCALE), out=out[:count])
        self._read += count
        return count
