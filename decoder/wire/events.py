"""What a client learns from one connection: the values that its ``ClientSession`` returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from decoder.wire.assembler import Anomaly
from decoder.wire.packets import Codes


class Mode(Enum):
    """Who decodes."""

    UNKNOWN = "unknown"
    CODEC = "codec tokens"
    PCM = "PCM"


class Outcome(Enum):
    """How an utterance ended."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    EMPTY = "no audio"
    CUT_OFF = "cut off"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True)
class ModeKnown:
    """It is now known who decodes, and why."""

    mode: Mode
    reason: str


@dataclass(frozen=True)
class UnitStarted:
    """A unit of the utterance begins; its frames start from a new decoder state."""

    sentence_index: int
    text: str


@dataclass(frozen=True)
class ContextArrived:
    """Reference codes ``[frames, codebooks]`` that prime the decoder of this unit and are not heard."""

    codes: Codes


@dataclass(frozen=True)
class FramesArrived:
    """Frames to decode, in order; ``fresh`` asks for a new state with a short fade."""

    codes: Codes
    fresh: bool


@dataclass(frozen=True)
class PcmArrived:
    """Samples that the server decoded: float32, ±1, mono, at ``rate_hz``."""

    pcm: NDArray[np.float32]
    rate_hz: int


@dataclass(frozen=True)
class UnitEnded:
    """A unit has ended, with the number of frames that came (0 in PCM mode)."""

    sentence_index: int
    frames: int


@dataclass(frozen=True)
class UtteranceEnded:
    """Nothing more of this utterance will come."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class WireReady:
    """The server has finished with the last utterance: the next one may be sent."""


@dataclass(frozen=True)
class LinkUseless:
    """The connection cannot carry another utterance: close it and open a fresh one."""

    reason: str


@dataclass(frozen=True)
class ServerSaid:
    """An ``error`` outside of any utterance, for people."""

    message: str


Event = (
    ModeKnown
    | UnitStarted
    | ContextArrived
    | FramesArrived
    | PcmArrived
    | UnitEnded
    | UtteranceEnded
    | WireReady
    | LinkUseless
    | ServerSaid
    | Anomaly
)
