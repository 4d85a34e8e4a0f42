"""The crossing from the event loop to the decode thread: one utterance's inbox, and what it is made into."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from app.playback.decoder import Codes, Pcm
from app.playback.track import Track


class PcmSink(Protocol):
    """Something besides the ring that wants the samples, such as a recording."""

    def write(self, pcm: Pcm) -> None:
        """Take the next samples; may raise, and is then not asked again for this utterance."""
        ...


@dataclass(frozen=True)
class NewUnit:
    """Frames that follow start from a new decoder state; they say ``text``."""

    text: str = ""


@dataclass(frozen=True)
class Context:
    """Reference codes that prime the new state and are not heard."""

    codes: Codes


@dataclass(frozen=True)
class Frames:
    """Frames to decode, with the instant (``perf_counter``) they arrived."""

    codes: Codes
    arrived_s: float
    fresh: bool = False
    """They do not continue what came before: a new state, with a short fade."""


@dataclass(frozen=True)
class Samples:
    """Sound that needs no decoding, already at the track's rate."""

    pcm: Pcm
    arrived_s: float


@dataclass(frozen=True)
class End:
    """Nothing follows."""


Item = NewUnit | Context | Frames | Samples | End


@dataclass
class SpeechJob:
    """One utterance; made by the loop, worked off by the decode thread."""

    utterance: int
    track: Track
    expected_s: float
    """Roughly how long the utterance will be, for a decoder that is slower than real time."""
    sinks: Sequence[PcmSink] = ()
    inbox: deque[Item] = field(default_factory=deque)
    """Appended to by the loop, emptied by the decode thread; bounded by the wire's speech budget."""
    cancelled: bool = False
