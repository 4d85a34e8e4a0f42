"""What the desk tells of a request: values, in the order in which they happened.

::

    Queued ─▶ Started ─▶ SentenceAudible … ─▶ Finished
       │          └──────────┴──────────────▶ Interrupted | Failed
       └────────────────────────────────────▶ Interrupted | Failed
"""

from __future__ import annotations

from dataclasses import dataclass

from app.metrics.report import Report


@dataclass(frozen=True)
class DeskEvent:
    """Something that happened to a request."""

    id: str
    source: str


@dataclass(frozen=True)
class Queued(DeskEvent):
    """The request was taken and waits for its turn."""

    text: str
    """Cleaned; empty if it arrives in pieces."""
    priority: int


@dataclass(frozen=True)
class Started(DeskEvent):
    """The first of its sound leaves the device."""


@dataclass(frozen=True)
class SentenceAudible(DeskEvent):
    """A sentence begins to be heard now."""

    text: str
    """As the server gave it back; it may have been normalised."""
    index: int
    """Counted from 0 within the request."""


@dataclass(frozen=True)
class Ending(DeskEvent):
    """Nothing more will be told of the request."""

    played_s: float
    """Seconds of its sound that have left the device; the silences of pauses and gaps are not counted."""


@dataclass(frozen=True)
class Finished(Ending):
    """All of it was heard."""

    report: Report
    """Of its utterances together: latencies of the first, sums of the rest."""


@dataclass(frozen=True)
class Interrupted(Ending):
    """Somebody ended it before it was over, or before it began."""

    why: str
    """``stopped``, ``interrupted`` (by a more urgent request), ``aborted`` (by the one who was sending it),
    ``closing`` or ``settings changed``."""


@dataclass(frozen=True)
class Failed(Ending):
    """It could not be heard to its end."""

    reason: str
    """``expired`` if its time to live was over before it began; otherwise in words, for people."""
