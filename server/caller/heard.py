"""What came of one text: sound with its instants, bytes, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from decoder.spec import CodecSpec
from decoder.wire.assembler import Anomaly
from decoder.wire.events import (
    ContextArrived,
    Event,
    FramesArrived,
    Mode,
    Outcome,
    PcmArrived,
    UnitStarted,
    UtteranceEnded,
)
from decoder.wire.packets import Codes


@dataclass(frozen=True)
class Arrival:
    """A message that brought sound: the instant, and how many seconds of it."""

    at_s: float
    sound_s: float


@dataclass
class Heard:
    """What came of one text; it grows until ``outcome`` is known. Instants are of the caller's clock."""

    text: str
    sent_s: float
    """The last message of the text was handed over."""
    mode: Mode = Mode.UNKNOWN
    arrivals: list[Arrival] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    """What the server says that each unit says; empty where it does not."""
    messages: list[bytes] = field(default_factory=list)
    """Every binary message as it came, also those that a client drops."""
    received_bytes: int = 0
    """Of all messages, with their WebSocket headers."""
    anomalies: list[Anomaly] = field(default_factory=list)
    outcome: Outcome | None = None
    reason: str = ""
    """Why it is not complete, in words."""
    ended_s: float = 0.0
    rate_hz: int = 0
    """Of the PCM; 0 without any."""
    _codes: list[Codes] = field(default_factory=list)
    _context: list[Codes] = field(default_factory=list)
    _pcm: list[NDArray[np.float32]] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether it was spoken to its end, and nothing is missing."""
        return self.outcome is Outcome.COMPLETE

    @property
    def sound_s(self) -> float:
        """Seconds of sound that came."""
        return sum(arrival.sound_s for arrival in self.arrivals)

    def codes(self, codebooks: int) -> Codes:
        """Return the frames that a client decodes, int16 ``[frames, codebooks]``."""
        return np.concatenate([np.zeros((0, codebooks), np.int16), *self._codes])

    def context(self, codebooks: int) -> Codes:
        """Return the reference frames that are decoded first and not heard; mostly there are none."""
        return np.concatenate([np.zeros((0, codebooks), np.int16), *self._context])

    @property
    def pcm(self) -> NDArray[np.float32]:
        """The samples of a server that decodes, float32, ±1, at ``rate_hz``."""
        return np.concatenate([np.zeros(0, np.float32), *self._pcm])

    def end(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """Note how it ended; the first word counts."""
        if self.outcome is None:
            self.outcome, self.reason, self.ended_s = outcome, reason, now_s

    def take(self, event: Event, spec: CodecSpec, now_s: float) -> None:
        """Note what the wire made of a message."""
        match event:
            case UnitStarted():
                self.units.append(event.text)
            case ContextArrived():
                self._context.append(event.codes)
            case FramesArrived():
                self._codes.append(event.codes)
                self.arrivals.append(Arrival(now_s, len(event.codes) * spec.frame_s))
            case PcmArrived():
                self._pcm.append(event.pcm)
                self.rate_hz = event.rate_hz
                self.arrivals.append(Arrival(now_s, len(event.pcm) / event.rate_hz))
            case Anomaly():
                self.anomalies.append(event)
            case UtteranceEnded():
                self.end(event.outcome, event.reason, now_s)


def on_the_wire_bytes(payload_bytes: int) -> int:
    """Return what a message of a server takes: RFC 6455's header without a mask, and the payload."""
    header_bytes = 2 if payload_bytes < 126 else 4 if payload_bytes < 65_536 else 10
    return header_bytes + payload_bytes
