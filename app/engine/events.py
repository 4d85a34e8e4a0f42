"""What the engine tells a front end: values to show, in the order in which they happened."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class DecoderState:
    """The decoder is being prepared, is ready, or cannot be used."""

    ready: bool
    detail: str
    rtf: float | None = None
    """Real-time factor measured while warming up."""


@dataclass(frozen=True)
class LinkStatus:
    """Whether the server is reached and who decodes."""

    state: LinkState
    mode: Mode
    detail: str
    retry_in_s: float | None = None


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


EngineEvent = Notice | DecoderState | LinkStatus | OutputChanged | StageChanged | Progress | UtteranceDone
