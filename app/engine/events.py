"""What the engine tells a front end: values to show, in the order in which they happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from app.audio.output import OutputInfo
from app.engine.state import Stage
from app.metrics.report import Report
from app.session.session import LinkState
from decoder.wire.events import Mode, Outcome


class Severity(Enum):
    """How much a notice matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Notice:
    """Something a person should know, with the next step in the text."""

    severity: Severity
    text: str
    template: str = field(default="", compare=False)
    """The text with places for ``values``, ``{0}`` and so on, for another language; may be empty."""
    values: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, severity: Severity, template: str, *values: object) -> Notice:
        """Make a notice of a ``template`` and what belongs into its places."""
        shown = tuple(str(value) for value in values)
        return cls(severity, template.format(*shown), template, shown)


@dataclass(frozen=True)
class DecoderState:
    """The decoder is being prepared, is ready, or cannot be used."""

    ready: bool
    detail: str
    rtf: float | None = None
    """Real-time factor measured while warming up."""
    is_broken: bool = False
    """Whether it cannot be used, for the reason in ``detail``."""


@dataclass(frozen=True)
class LinkStatus:
    """Whether the server is reached and who decodes."""

    state: LinkState
    mode: Mode
    detail: str
    retry_in_s: float | None = None
    refused: bool = False
    """Whether the server answered no: trying again does not help."""


@dataclass(frozen=True)
class OutputChanged:
    """Sound goes to another device, or to none."""

    info: OutputInfo | None
    detail: str


@dataclass(frozen=True)
class StageChanged:
    """An utterance has gone on to another stage."""

    utterance: int
    text: str
    stage: Stage
    group: str = ""
    """Of its order."""


@dataclass(frozen=True)
class Progress:
    """The numbers of an utterance in flight, several times a second."""

    utterance: int
    stage: Stage
    report: Report


@dataclass(frozen=True)
class UtteranceDone:
    """An utterance has ended, the last of it heard."""

    utterance: int
    text: str
    outcome: Outcome
    reason: str
    report: Report
    group: str = ""
    """Of its order."""
    heard_s: float = 0.0
    """Seconds of its sound that have left the device."""


@dataclass(frozen=True)
class GroupEnded:
    """Nothing of a group will be heard any more, except the rest of the sentence that is heard."""

    group: str
    reason: str


@dataclass(frozen=True)
class SentenceHeard:
    """A sentence begins to be heard now."""

    utterance: int
    text: str
    """As the server gave it back; it may have been normalised."""
    starts_samples: int
    """In the utterance's sound."""
    group: str = ""
    """Of its order."""


@dataclass(frozen=True)
class SentenceDecoded:
    """A sentence begins at ``starts_samples`` of a reading's sound; it is decoded from there on."""

    reading: int
    utterance: int
    text: str
    """As the server gave it back; it may have been normalised."""
    starts_samples: int


@dataclass(frozen=True)
class Heard:
    """How far a reading was heard; told with every look while it sounds."""

    reading: int
    samples: int
    """The samples before this one have left the device."""
    is_over: bool = False
    """What was replayed has been heard to its end; what of the reading is in flight, if any, follows."""


@dataclass(frozen=True)
class PauseChanged:
    """The sound is held, or goes on."""

    is_paused: bool


EngineEvent = (
    Notice
    | DecoderState
    | LinkStatus
    | OutputChanged
    | StageChanged
    | Progress
    | UtteranceDone
    | SentenceDecoded
    | SentenceHeard
    | GroupEnded
    | Heard
    | PauseChanged
)
