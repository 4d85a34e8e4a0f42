"""How many frames go into one packet: what a client on a slow link asks for with ``packet_frames``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

import numpy as np

from decoder.wire.packets import Codes


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
