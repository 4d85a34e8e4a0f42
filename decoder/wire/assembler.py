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
    start_of_snapshot,
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
    packets_arrived: int = 0
    """Packets that were not repeats."""
    ended: bool = False
    """EOS has arrived."""
    damage: str = ""
    """What the listener misses; empty while nothing is lost."""
    _next_seq: int = 0
    _pending_fresh: bool = False
    _refused: bool = False
    _delivered: bool = False
    _cumulative: bool = False
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
            self._pending_fresh = True
            self.damage = self.damage or f"{ahead} packet{'s' if ahead > 1 else ''} did not arrive"
        self.packets_arrived += 1
        self._next_seq = (packet.seq + 1) % SEQ_MODULUS
        if packet.flags & Flags.RESET:
            self._pending_fresh = True
        news = self._news(packet.codes)
        if len(news) < packet.n_frames:
            found.append(Anomaly(AnomalyKind.SNAPSHOT, packet.n_frames - len(news)))
        self.frames_arrived += len(news)
        found += self._split(news)
        if packet.flags & Flags.EOS:
            self.ended = True
        return found

    def _news(self, codes: Codes) -> Codes:
        """Return what ``codes`` add: all of them, or what a cumulative snapshot has behind the last one.

        Two equal frames in a row are legal and so are equal packets of silence; only a longer packet that
        repeats at least two differing frames is taken for a snapshot. (A snapshot of one frame is therefore
        heard twice.) Once there was one, the same packet again has nothing new.
        """
        known = self._previous
        if len(codes) == 0:
            return codes
        self._previous = codes
        if self._cumulative and np.array_equal(codes, known):
            return codes[:0]
        start = start_of_snapshot(codes, known) if (known != known[:1]).any() else None
        self._cumulative = start is not None
        if start is None:
            return codes
        self._previous = codes[start:]
        return codes[start + len(known) :]

    def _split(self, codes: Codes) -> list[FrameRun | Anomaly]:
        """Return the frames that can be decoded, in runs that end where frames were refused."""
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
        # A refused frame is a hole, a placeholder is not. A hole is heard once something follows it; a bad
        # tail (a stop token) is not.
        refused = np.cumsum(~valid)
        kept = np.flatnonzero(valid & ~placeholder)
        runs = np.split(kept, np.flatnonzero(np.diff(refused[kept])) + 1) if len(kept) else []
        before = 0
        for run in runs:
            self._refused = self._refused or bool(refused[run[0]] > before)
            before = refused[run[0]]
            found.append(self._deliver(codes[run]))
        self._refused = self._refused or bool(refused[-1] > before)
        return found

    def _deliver(self, codes: Codes) -> FrameRun:
        if self._refused:
            self.damage = self.damage or "frames with impossible codes were refused"
        fresh = (self._pending_fresh or self._refused) and self._delivered
        self._pending_fresh, self._refused, self._delivered = False, False, True
        return FrameRun(codes, fresh)
