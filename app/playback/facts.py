"""What the decode thread tells: values with their instants (``perf_counter`` seconds)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DecoderReady:
    """The decoder is loaded and warm."""

    load_s: float
    warm_up_s: float
    rtf: float
    """Real-time factor of the longest chunk, measured while warming up."""


@dataclass(frozen=True)
class DeviceMissing:
    """The device that was asked for is not there; another decodes."""

    wanted: str
    used: str


@dataclass(frozen=True)
class DecoderBroken:
    """The decoder cannot be loaded."""

    error: Exception


@dataclass(frozen=True)
class ChunkDecoded:
    """Frames became samples."""

    utterance: int
    started_s: float
    ended_s: float
    frames: int
    samples: int
    arrived_s: float
    """When the first of the frames arrived."""
    buffered_s: float
    """Sound in the ring before this chunk was added."""


@dataclass(frozen=True)
class UnitBegins:
    """The utterance's sound from ``at_samples`` on says ``text``."""

    utterance: int
    text: str
    at_samples: int


@dataclass(frozen=True)
class LeadingSilence:
    """How long the utterance is silent before its first audible sample."""

    utterance: int
    silence_s: float


@dataclass(frozen=True)
class PcmRepaired:
    """Samples that were not finite, or beyond full scale, were mended; told once an utterance."""

    utterance: int
    not_finite: int
    clipped: int


@dataclass(frozen=True)
class SamplesMissing:
    """The decoder gave fewer samples than its frames stand for."""

    utterance: int
    samples: int


@dataclass(frozen=True)
class UtteranceDecoded:
    """All that will come of the utterance is in the ring."""

    utterance: int
    samples: int


@dataclass(frozen=True)
class DecodeFailed:
    """The utterance ends here, the worker goes on."""

    utterance: int
    error: Exception


@dataclass(frozen=True)
class SinkFailed:
    """A recording cannot go on; playback does."""

    utterance: int
    error: Exception


DecodeFact = (
    DecoderReady
    | DeviceMissing
    | DecoderBroken
    | ChunkDecoded
    | UnitBegins
    | LeadingSilence
    | PcmRepaired
    | SamplesMissing
    | UtteranceDecoded
    | DecodeFailed
    | SinkFailed
)
