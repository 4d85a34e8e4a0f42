"""One utterance on its way through the engine; made new for each request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.audio.resample import StreamResampler
from app.engine.events import UtteranceDone
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
    give_up_s: float
    """The clock's reading after which a server that cannot be reached is not waited for."""
    finished: asyncio.Future[UtteranceDone]
    stage: Stage = Stage.QUEUED
    job: SpeechJob | None = None
    received: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once nothing more of it will come from the server."""
    outcome: Outcome | None = None
    reason: str = ""
    link_lost: bool = False
    resampler: StreamResampler | None = None
    decoded: bool = False

    @property
    def is_done(self) -> bool:
        """Whether its end has been told."""
        return self.stage is Stage.DONE

    def conclude(self, outcome: Outcome, reason: str) -> None:
        """Note how it ends; the first conclusion stands, but a failure replaces a good end."""
        if self.outcome is None or (self.outcome is Outcome.COMPLETE and outcome is not Outcome.COMPLETE):
            self.outcome, self.reason = outcome, reason

    def may_become(self, stage: Stage) -> bool:
        """Whether ``stage`` may follow the one it is in."""
        return may_follow(self.stage, stage)
