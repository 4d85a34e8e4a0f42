"""What a client on a slow link gets that asks for ``packet_frames``: larger packets, and none too early."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, repeat

import numpy as np

from decoder.wire.packets import Codes

MAX_AHEAD_S = 10.0
"""So much sound may leave before it is due.

A talker that is faster than real time fills a slow link, and its server's pings wait behind the sound: one
that gives up 20 s after a ping would leave a client that listens.
"""


def packet_sizes(packet_frames: int | None) -> Iterator[int]:
    """Return the sizes of a unit's packets, in frames, one after the other and without end.

    The first holds one frame, so that the first sound is not late, each later one ``packet_frames``; ``None``
    is one frame a packet.

    Raises:
        ValueError: ``packet_frames`` is less than 1.

    """
    if packet_frames is not None and packet_frames < 1:
        raise ValueError(f"packets of {packet_frames} frames cannot be made, 1 is the least")
    return chain([1], repeat(packet_frames or 1))


class Coalescer:
    """Cuts the frames of one unit into packets of :func:`packet_sizes`; pure, one object a unit.

    The last packet holds what is left. No frame is reordered, dropped or repeated.
    """

    def __init__(self, packet_frames: int | None) -> None:
        self._sizes = packet_sizes(packet_frames)
        self._wanted_frames = next(self._sizes)
        self._held: list[Codes] = []
        self._held_frames = 0

    def take(self, codes: Codes) -> list[Codes]:
        """Take int16 ``[n, codebooks]`` and return the packets that are complete now, oldest first."""
        complete = []
        rest = codes
        while len(rest):
            missing_frames = self._wanted_frames - self._held_frames
            part, rest = rest[:missing_frames], rest[missing_frames:]
            self._held.append(part)
            self._held_frames += len(part)
            if self._held_frames == self._wanted_frames:
                complete.append(self._release())
                self._wanted_frames = next(self._sizes)
        return complete

    def flush(self) -> Codes | None:
        """Return the frames that are left at the end of a unit, ``None`` if there are none."""
        return self._release() if self._held else None

    def _release(self) -> Codes:
        packet = np.concatenate(self._held)
        self._held, self._held_frames = [], 0
        return packet


class Lead:
    """How far the sound of one utterance is ahead of its own time; pure, time is an argument."""

    def __init__(self, frame_s: float) -> None:
        self._frame_s = frame_s
        self._heard_s = -math.inf
        """The instant at which all that has left could have been heard."""

    def hold_s(self, frames: int, now_s: float) -> float:
        """Return how long to wait before the next packet, one of ``frames``, leaves."""
        wait_s = max(0.0, self._heard_s - now_s - MAX_AHEAD_S)
        self._heard_s = max(self._heard_s, now_s + wait_s) + frames * self._frame_s
        return wait_s
