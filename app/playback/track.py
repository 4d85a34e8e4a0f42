"""The sound of one utterance between the decode thread and the audio callback; made new for each.

Every attribute has one writer: the decode thread or the callback. A stopped utterance's track is simply
no longer read, so nothing of it can be heard, whatever is still being decoded into it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.playback.ring_buffer import RingBuffer
from app.playback.stored_sound import StoredSound

CAPACITY_S = 30


class Sound(Protocol):
    """What the callback reads of a track."""

    @property
    def read_samples(self) -> int:
        """Samples ever read."""
        ...

    @property
    def readable_samples(self) -> int:
        """Samples that a read would find now."""
        ...

    def read_into(self, out: NDArray[np.float32]) -> int:
        """Fill ``out`` from its beginning and return how many samples there were."""
        ...

    def skip_to(self, position_samples: int) -> None:
        """Leave out what is before ``position_samples``."""
        ...


class Track:
    """A ring with a gate: the writer opens it, and the reader shuts it when the ring has run dry.

    The gate is two positions in the sound: how far the writer lets it be read, and where the reader last ran
    dry. What is written while the reader is about to shut the gate therefore keeps it open, in any order.
    """

    def __init__(self, rate_hz: int, capacity_s: float = CAPACITY_S) -> None:
        self.rate_hz = rate_hz
        self.ring = RingBuffer(int(rate_hz * capacity_s))

        # Written by the decode thread.
        self.ended = False
        """No sample will follow those in the ring, and all of those may be read."""
        self._opened_to_samples = 0

        # Written by the callback.
        self.first_read_s: float | None = None
        """``perf_counter`` at the callback that took the first sample."""
        self.first_dac_s: float | None = None
        """``perf_counter`` at which the first sample leaves the DAC."""
        self.dry_dac_s: float | None = None
        """``perf_counter`` at which the newest silence in mid-utterance began, while it lasts."""
        self.dry_at_samples = 0
        """How many samples had been read when the ring ran dry last; 0 if it never did."""
        self.underruns = 0
        """How often the sound stopped because the ring was dry, and went on later."""
        self.gap_s = 0.0
        """Seconds of silence in mid-utterance so far."""
        self.finished_dac_s: float | None = None
        """``perf_counter`` at which the last sample has left the DAC."""
        self._read_to_dac_s = 0.0

        # Written by the event loop.
        self.skip_to_samples = 0
        """Where the callback goes on reading, if it has not come so far by itself."""
        self.cut_at_samples: int | None = None
        """Where the callback ends the sound, if it shall end early; all before that is in the ring."""

    @property
    def sound(self) -> Sound:
        """What the callback reads."""
        return self.ring

    @property
    def is_open(self) -> bool:
        """Whether the callback may read."""
        return self.ended or self.cut_at_samples is not None or self._opened_to_samples > self.dry_at_samples

    @property
    def is_dry(self) -> bool:
        """Whether the ring has run dry in mid-utterance and the gate is shut."""
        return self.dry_at_samples > 0 and not self.is_open

    @property
    def buffered_s(self) -> float:
        """Seconds of sound in the ring."""
        return self.ring.readable_samples / self.rate_hz

    @property
    def left_to_cut_samples(self) -> int | None:
        """How many samples may still be read before the cut, if there is one."""
        cut = self.cut_at_samples
        return None if cut is None else max(0, cut - self.sound.read_samples)

    def open(self) -> None:
        """Let the callback read, or go on reading, what is written by now (decode thread)."""
        self._opened_to_samples = self.ring.written_samples

    def end(self) -> None:
        """Let the callback read all there is, and then be done (decode thread)."""
        self.ended = True

    def shut(self, dac_s: float) -> None:
        """Wait until there is enough again (callback); silence begins at ``dac_s``."""
        self.dry_dac_s = dac_s
        self.dry_at_samples = self.ring.read_samples

    def sound_resumes(self, dac_s: float) -> None:
        """Note that there is sound from ``dac_s`` on; a dry spell before was an underrun (callback)."""
        if self.dry_dac_s is not None:
            self.underruns += 1
            self.gap_s += dac_s - self.dry_dac_s
            self.dry_dac_s = None

    def was_read(self, dac_s: float) -> None:
        """Note that the newest sample read leaves the DAC just before ``dac_s`` (callback)."""
        self._read_to_dac_s = dac_s

    def heard_samples(self, now_s: float) -> int:
        """Return how many samples have left the DAC at ``now_s`` (``perf_counter``)."""
        read = self.sound.read_samples
        if self.finished_dac_s is not None and self.finished_dac_s <= now_s:
            return read
        return max(0, read - max(0, round((self._read_to_dac_s - now_s) * self.rate_hz)))

    def set_aside(self) -> None:
        """Let something else be heard meanwhile: a silence from here on is none of this track (callback)."""
        self.dry_dac_s = None

    def finish(self, dac_s: float) -> None:
        """Note that the last sample has left the DAC at ``dac_s``, or before a dry spell (callback)."""
        self.finished_dac_s = dac_s if self.dry_dac_s is None else self.dry_dac_s


class Replay(Track):
    """Sound that is there already, from somewhere in its middle; open from the beginning."""

    def __init__(self, rate_hz: int, stored: StoredSound) -> None:
        super().__init__(rate_hz, capacity_s=0)
        self._stored = stored
        self.ended = True

    @property
    def sound(self) -> Sound:
        """What the callback reads."""
        return self._stored
