"""One utterance on its way through the engine; made new for each request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from app.engine.agenda import Place
from app.engine.events import EngineEvent, StageChanged, UtteranceDone
from app.engine.order import Order
from app.engine.reading import Part, Reading
from app.engine.state import Stage, may_follow
from app.metrics.meter import Meter
from app.playback.speech_job import PcmSink, SpeechJob
from decoder.wire.events import Outcome
from decoder.wire.messages import SessionConfig


@dataclass(frozen=True)
class Sentence:
    """A part of an utterance, as the server cut it."""

    text: str
    starts_samples: int


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
    how: SessionConfig = field(default_factory=SessionConfig)
    """Voice, language and style, as the server is told."""
    reading: Reading | None = None
    """What it is a part of, if its sound is kept."""
    part: Part | None = None
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
    place: Place = field(default_factory=lambda: Place(Order(), "", 0, 0))
    """Where it stands in the queue."""
    sentences: list[Sentence] = field(default_factory=list)
    """Those that were decoded so far, or of which the decoding has begun."""
    sentences_heard: int = 0
    """How many of them have begun to be heard."""
    ends_after_sentence: str = ""
    """Why it shall end where its next sentence would begin; empty if it shall not."""

    @property
    def is_heard(self) -> bool:
        """Whether the first of its sound was handed to the device."""
        return self.job is not None and self.job.track.first_dac_s is not None

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
            self.tell(StageChanged(self.number, self.text, stage, self.place.order.group))

    def conclude(self, outcome: Outcome, reason: str) -> None:
        """Note how it ends; the first conclusion stands, but a failure replaces a good end."""
        if self.outcome in (None, Outcome.COMPLETE):
            self.outcome, self.reason = outcome, reason

    def stop(self, reason: str = "stopped") -> None:
        """Note that it was stopped, whatever would have come of it."""
        self.outcome, self.reason = Outcome.CANCELLED, reason

    def expire(self) -> None:
        """Note that its time was over before it began."""
        self.outcome, self.reason = Outcome.FAILED, "expired"

    def withdraw(self, meter: Meter) -> Utterance:
        """Be over without an end that anybody is told of; the one that is returned takes its place."""
        anew = replace(
            self,
            meter=meter,
            stage=Stage.QUEUED,
            job=None,
            received=asyncio.Event(),
            outcome=None,
            reason="",
            link_lost=False,
            follows=None,
            decoded=False,
            sentences=[],
            sentences_heard=0,
        )
        self.stage, self.follows = Stage.DONE, None
        self.received.set()
        return anew

    def start_over(self) -> None:
        """Forget the try that was lost."""
        self.outcome, self.reason, self.link_lost = None, "", False
        self.received.clear()
