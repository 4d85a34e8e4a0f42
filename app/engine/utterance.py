"""One utterance on its way through the engine; made new for each request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from app.engine.events import EngineEvent, StageChanged, UtteranceDone
from app.engine.state import Stage, may_follow
from app.metrics.meter import Meter
from app.playback.speech_job import PcmSink, SpeechJob
from decoder.wire.events import Outcome


@dataclass(eq=False)
class Utterance:
    """What was asked for, how far it is, and what will come of it."""

    number: int
    text: str
    meter: Meter
    sinks: Sequence[PcmSink]
    requested_s: float
    finished: asyncio.Future[UtteranceDone]
    tell: Callable[[EngineEvent], None]
    stage: Stage = Stage.QUEUED
    job: SpeechJob | None = None
    received: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once nothing more of it will come from the server."""
    outcome: Outcome | None = None
    reason: str = ""
    link_lost: bool = False
    """Its link ended while it was received, in a way that a fresh link may spare it."""
    follows: Utterance | None = None
    """The one whose sound comes before, if that was not over when this one was begun."""
    decoded: bool = False
    """Nothing more of it will come from the decode thread."""

    @property
    def is_done(self) -> bool:
        """Whether its end has been told."""
        return self.stage is Stage.DONE

    @property
    def was_lost_unheard(self) -> bool:
        """Whether its link was lost before anything came of it, so that it may be sent once more."""
        return self.link_lost and self.stage is Stage.WAITING

    def advance(self, stage: Stage) -> None:
        """Go on to ``stage`` and tell so, if that may follow the one it is in."""
        if may_follow(self.stage, stage):
            self.stage = stage
            self.tell(StageChanged(self.number, self.text, stage))

    def conclude(self, outcome: Outcome, reason: str) -> None:
        """Note how it ends; the first conclusion stands, but a failure replaces a good end."""
        if self.outcome in (None, Outcome.COMPLETE):
            self.outcome, self.reason = outcome, reason

    def stop(self) -> None:
        """Note that it was stopped, whatever would have come of it."""
        self.outcome, self.reason = Outcome.CANCELLED, "stopped"

    def start_over(self) -> None:
        """Forget the try that was lost."""
        self.outcome, self.reason, self.link_lost = None, "", False
        self.received.clear()
