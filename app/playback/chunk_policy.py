"""How many frames to decode together, and when the sound may start: pure functions of what was measured.

Streaming is exact for any cut, so chunks decide latency and cost only. Small chunks cost more per frame;
the decoder must never be asked for a chunk that takes longer than the sound that is still buffered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

CHUNK_FRAMES = (1, 2, 4, 8, 12, 25)
"""The few chunk lengths that are used: primitive caches and graphs are kept per shape."""
SAFETY_S = 0.03
"""Left in the ring when a chunk is done: one scheduling hiccup."""
SUSTAINABLE = 0.85
"""A chunk keeps up if it takes less than this share of its own sound."""
MAX_START_BUFFER_S = 3.0
ARRIVAL_MARGIN = 1.1
_SMOOTHING = 0.25


def start_buffer_s(base_s: float, packet_frames: int, frame_s: float) -> float:
    """Return the sound wanted before the start, if frames were asked for in packets of ``packet_frames``.

    A packet comes when its last frame is made: while that lasts, what is there has to be enough. 0 is one
    frame a packet, and so many are in ``base_s`` already.
    """
    return base_s + max(0, packet_frames - 1) * frame_s


@dataclass
class DecodeCost:
    """Measured seconds a chunk takes, by its frames; between measured lengths it is interpolated."""

    measured_s: dict[int, float] = field(default_factory=dict)

    def observe(self, frames: int, seconds: float) -> None:
        """Take a measurement; newer ones count more, a single slow one does not decide."""
        known = self.measured_s.get(frames)
        self.measured_s[frames] = seconds if known is None else known + _SMOOTHING * (seconds - known)

    def chunk_s(self, frames: int) -> float:
        """Return the seconds a chunk of ``frames`` is expected to take; 0 if nothing was measured."""
        if not self.measured_s:
            return 0.0
        lengths = sorted(self.measured_s)
        costs = [self.measured_s[n] for n in lengths]
        if frames > lengths[-1]:
            return costs[-1] * frames / lengths[-1]
        return float(np.interp(frames, lengths, costs))

    def rtf(self, frame_s: float, frames: int = CHUNK_FRAMES[-1]) -> float:
        """Return the expected real-time factor of chunks of ``frames`` frames."""
        return self.chunk_s(frames) / (frames * frame_s)


def next_chunk_frames(
    pending_frames: int,
    buffered_s: float,
    cost: DecodeCost,
    frame_s: float,
    lengths: Sequence[int] = CHUNK_FRAMES,
) -> int:
    """Return how many of ``pending_frames`` to decode now: one of ``lengths``, or 0 if there are none.

    The longest chunk that is done before the buffered sound is over; if none is (at the start, after an
    underrun), the shortest that keeps up with its own sound, so that sound starts as early as it can last.
    """
    available = [n for n in lengths if n <= pending_frames]
    if not available:
        return 0
    in_time = [n for n in available if cost.chunk_s(n) + SAFETY_S <= buffered_s]
    if in_time:
        return in_time[-1]
    keeps_up = [n for n in available if cost.chunk_s(n) <= SUSTAINABLE * n * frame_s]
    return keeps_up[0] if keeps_up else available[-1]


@dataclass
class Waits:
    """How long one utterance's packets let wait; one object an utterance."""

    longest_s: float = 0.0
    usual_s: float = 0.0
    """The second longest: one stall of a link teaches nothing, a second one is how the link is."""

    def note(self, wait_s: float) -> None:
        """Take the time between two packets."""
        if wait_s > self.longest_s:
            self.longest_s, self.usual_s = wait_s, self.longest_s
        else:
            self.usual_s = max(self.usual_s, wait_s)


@dataclass
class StartBuffer:
    """How much sound must be ready before it starts, or goes on after a gap; learns from gaps.

    One object for as long as a server is used: what one utterance taught helps the next.
    """

    base_s: float
    learnt_s: float = 0.0

    @property
    def target_s(self) -> float:
        """Seconds wanted for arrival alone."""
        return max(self.base_s, self.learnt_s)

    def may_start(
        self,
        *,
        buffered_s: float,
        waiting_s: float,
        next_chunk_s: float,
        decode_rtf: float,
        expected_s: float,
    ) -> bool:
        """Whether the sound will last from now on, with about ``expected_s`` of it still to be heard.

        ``buffered_s`` is decoded sound, ``waiting_s`` the sound of frames that arrived and are not decoded
        yet, of which the next chunk takes ``next_chunk_s``. What has arrived must cover the link's pauses,
        what is decoded the next chunk. A decoder slower than real time makes ``1/rtf`` seconds of sound a
        second: with ``expected·(1-1/rtf)`` in hand it just lasts, one pause in front and no stutter.
        """
        if buffered_s <= 0:
            return False
        ahead_s = expected_s * (1 - 1 / decode_rtf) if decode_rtf > 1 else 0.0
        covers_decoding = buffered_s >= (next_chunk_s + SAFETY_S if waiting_s else 0.0)
        return covers_decoding and buffered_s >= ahead_s and buffered_s + waiting_s >= self.target_s

    def after_underrun(self, usual_wait_s: float) -> None:
        """Learn from a gap, given the usual pause of the link (see :class:`Waits`)."""
        wanted_s = max(2 * self.target_s, ARRIVAL_MARGIN * usual_wait_s)
        self.learnt_s = min(MAX_START_BUFFER_S, wanted_s)

    def after_clean_utterance(self, usual_wait_s: float = 0.0) -> None:
        """Forget slowly, a link that was bad once need not stay slow to start; but not its usual pauses."""
        usual_s = min(self.learnt_s, ARRIVAL_MARGIN * usual_wait_s)
        self.learnt_s = max(0.7 * self.learnt_s, usual_s)
