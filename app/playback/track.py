"""The sound of one utterance between the decode thread and the audio callback; made new for each.

Every attribute has one writer: the decode thread or the callback. A stopped utterance's track is simply
no longer read, so nothing of it can be heard, whatever is still being decoded into it.
"""

from __future__ import annotations

from app.playback.ring_buffer import RingBuffer

CAPACITY_S = 30


class Track:
    """A ring with a gate: the writer opens it, and the reader shuts it when the ring has run dry."""

    def __init__(self, rate_hz: int, capacity_s: float = CAPACITY_S) -> None:
        self.rate_hz = rate_hz
        self.ring = RingBuffer(int(rate_hz * capacity_s))

        # Written by the decode thread.
        self.ended = False
        """No sample will follow those in the ring."""
        self.underruns = 0
        """How often the sound stopped in mid-utterance because the ring was dry."""
        self._opened = 0

        # Written by the callback.
        self.first_read_s: float | None = None
        """``perf_counter`` at the callback that took the first sample."""
        self.first_dac_s: float | None = None
        """``perf_counter`` at which the first sample leaves the DAC."""
        self.dry_dac_s: float | None = None
        """``perf_counter`` at which the newest silence in mid-utterance began, while it lasts."""
        self.gap_s = 0.0
        """Seconds of silence in mid-utterance so far."""
        self.finished_dac_s: float | None = None
        """``perf_counter`` at which the last sample has left the DAC."""
        self._shut = 0

    @property
    def is_open(self) -> bool:
        """Whether the callback may read."""
        return self._opened > self._shut

    @property
    def is_dry(self) -> bool:
        """Whether the ring has run dry in mid-utterance and the gate is shut."""
        return self._shut > 0 and not self.is_open

    @property
    def buffered_s(self) -> float:
        """Seconds of sound in the ring."""
        return self.ring.readable_samples / self.rate_hz

    def open(self) -> None:
        """Let the callback read (decode thread); a dry spell with more to come was an underrun."""
        if self.is_open:
            return
        if self._shut and self.ring.readable_samples:
            self.underruns += 1
        self._opened = self._shut + 1

    def shut(self, dac_s: float) -> None:
        """Wait until there is enough again (callback); silence begins at ``dac_s``."""
        self.dry_dac_s = dac_s
        self._shut += 1

    def sound_resumes(self, dac_s: float) -> None:
        """Note that samples are heard again from ``dac_s`` on (callback)."""
        if self.dry_dac_s is not None:
            self.gap_s += dac_s - self.dry_dac_s
            self.dry_dac_s = None

    def finish(self, dac_s: float) -> None:
        """Note that the last sample has left the DAC at ``dac_s``, or before a dry spell (callback)."""
        self.finished_dac_s = dac_s if self.dry_dac_s is None else self.dry_dac_s
