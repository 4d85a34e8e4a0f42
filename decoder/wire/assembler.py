"""From the packets of one unit to frames a decoder may see: order, gaps, refusals, placeholders."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from decoder.spec import CodecSpec
from decoder.wire.packets import (
    SEQ_MODULUS,
    Codes,
    Flags,
    Packet,
    placeholder_rows,
    valid_rows,
)


class AnomalyKind(Enum):
    """What a server did that a client survives and reports."""

    GAP = "packets are missing"
    REPEAT = "a packet came twice"
    STEP_BACK = "a packet came late"
    REFUSED = "codes outside the codebook"
    PLACEHOLDER = "all-zero placeholder frames"
    SNAPSHOT = "a packet repeats all frames so far"
    BAD_PACKET = "a binary message that is no packet"
    BAD_MESSAGE = "a message that cannot be read"
    UNKNOWN_MESSAGE = "a message of an unknown type"
    LATE = "frames of an utterance that has ended"
    TOTALS = "another number of frames than announced"
    BAD_CONTEXT = "reference codes that cannot be used"


@dataclass(frozen=True)
class Anomaly:
    """Something odd, how often (frames or messages), and the details for a log."""

    kind: AnomalyKind
    count: int
    detail: str = ""


@dataclass(frozen=True)
class FrameRun:
    """Consecutive frames, ``[n, codebooks]``, all of them valid codes.

    ``fresh`` says that they do not continue what came before: decode them from a new state.
    """

    codes: Codes
    fresh: bool


@dataclass
class UnitAssembler:
    """Takes the packets of one unit in order of arrival; one object a unit."""

    spec: CodecSpec
    frames_arrived: int = 0
    """Frames in packets that were not repeats, bad and placeholder frames included."""
    ended: bool = False
    """EOS has arrived."""
    damage: str = ""
    """What the listener misses; empty while nothing is lost."""
    _next_seq: int = 0
    _pending_fresh: bool = False
    _loss: str = ""
    _delivered: bool = False
    _previous: Codes = field(default_factory=lambda: np.zeros((0, 0), np.int16))

    def take(self, packet: Packet) -> list[FrameRun | Anomaly]:
        """Return what ``packet`` brings; nothing is decoded that must not be."""
        found: list[FrameRun | Anomaly] = []
        ahead = (packet.seq - self._next_seq) % SEQ_MODULUS
        if ahead >= SEQ_MODULUS // 2:
            kind = AnomalyKind.REPEAT if ahead == SEQ_MODULUS - 1 else AnomalyKind.STEP_BACK
            return [Anomaly(kind, 1, f"seq {packet.seq}, expected {self._next_seq}")]
        if ahead:
            found.append(Anomaly(AnomalyKind.GAP, ahead, f"seq {packet.seq}, expected {self._next_seq}"))
            self._lose(f"{ahead} packets did not arrive")
        self._next_seq = (packet.seq + 1) % SEQ_MODULUS
        if packet.flags & Flags.RESET:
            self._pending_fresh = True
        codes = packet.codes
        if self._is_snapshot(codes):
            found.append(Anomaly(AnomalyKind.SNAPSHOT, len(self._previous)))
            codes = codes[len(self._previous) :]
        self._previous = packet.codes
        self.frames_arrived += len(codes)
        found += self._split(codes)
        if packet.flags & Flags.EOS:
            self.ended = True
        return found

    def _is_snapshot(self, codes: Codes) -> bool:
        """Whether ``codes`` begin with the whole previous packet and go on.

        Two equal frames in a row are legal and so are equal packets of silence; only a longer packet that
        repeats at least two differing frames is taken for a cumulative snapshot.
        """
        known = self._previous
        if not 2 <= len(known) < len(codes) or not np.array_equal(codes[: len(known)], known):
            return False
        return bool((known != known[0]).any())

    def _split(self, codes: Codes) -> list[FrameRun | Anomaly]:
        found: list[FrameRun | Anomaly] = []
        if len(codes) == 0:
            return found
        valid = valid_rows(codes, self.spec.codebook_size)
        placeholder = placeholder_rows(codes)
        if placeholder.any():
            found.append(Anomaly(AnomalyKind.PLACEHOLDER, int(placeholder.sum())))
        if not valid.all():
            worst = codes[~valid][0]
            outside = worst[(worst < 0) | (worst >= self.spec.codebook_size)][0]
            detail = f"code {outside}, the codebook has 0..{self.spec.codebook_size - 1}"
            found.append(Anomaly(AnomalyKind.REFUSED, int((~valid).sum()), detail))
        real = valid & ~placeholder
        # A refused frame is a hole, a placeholder is not: runs end where frames were refused.
        for run in np.split(np.arange(len(codes)), np.flatnonzero(~valid)):
            if len(run) and not valid[run[0]]:
                self._lose("frames with impossible codes were refused")
            kept = run[real[run]]
            if len(kept):
                found.append(self._deliver(codes[kept]))
        return found

    def _lose(self, what: str) -> None:
        self._pending_fresh = True
        self._loss = what

    def _deliver(self, codes: Codes) -> FrameRun:
        # Only what is missing between frames is heard as missing; a bad tail (a stop token) is not.
        self.damage = self.damage or self._loss
        fresh = self._pending_fresh and self._delivered
        self._pending_fresh, self._delivered = False, True
        return FrameRun(codes, fresh)
