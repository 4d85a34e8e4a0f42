"""What the player shows at one moment: a value, made new with every change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from app.desktop.latency import Numbers
from decoder.wire.events import Outcome


class Phase(Enum):
    """What the player does, as one who waits for sound would say."""

    IDLE = "idle"
    PREPARING = "preparing"
    """The decoder is not warm yet."""
    CONNECTING = "connecting"
    WAITING = "waiting for the server"
    BUFFERING = "buffering"
    PLAYING = "playing"
    STALLED = "waiting for more"
    PAUSED = "paused"


@dataclass(frozen=True)
class Sentence:
    """A sentence of the reading, and where it begins in the sound."""

    start: int
    """Offset into the text in code points."""
    end: int
    starts_s: float


@dataclass(frozen=True)
class PlayerState:
    """One reading, or none."""

    phase: Phase = Phase.IDLE
    reading: int | None = None
    """A number, new for every text and every replay."""
    recording: str = ""
    """What the history knows its sound by."""
    text: str = ""
    heard_s: float = 0.0
    """How far it was heard: the sound that leaves the device now."""
    decoded_s: float = 0.0
    """How much of its sound there is."""
    is_whole: bool = False
    """No more sound will come."""
    sentences: tuple[Sentence, ...] = ()
    """Those whose sound has begun to arrive, in order."""
    sentence: int | None = None
    """The one that is heard: an index into ``sentences``."""
    numbers: Numbers | None = None
    outcome: Outcome | None = None
    """How it ended, once nothing more of it is to be heard."""
    reason: str = ""
    """Why it did not end well."""

    @property
    def is_speaking(self) -> bool:
        """Whether something is heard, or on its way."""
        return self.phase is not Phase.IDLE
