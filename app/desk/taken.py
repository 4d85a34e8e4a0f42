"""One request on its way: what has been given to the engine of it, and what became of that."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass, field

from app.desk.events import Failed, Finished, Interrupted
from app.desk.numbers import joined
from app.desk.request import Request
from app.desk.ticket import Final, Ticket
from app.engine.events import UtteranceDone
from app.engine.order import Order
from decoder.wire.events import Outcome
from decoder.wire.messages import SessionConfig


@dataclass(frozen=True)
class Part:
    """What is one utterance, or a sentence that becomes a part of one."""

    text: str
    asked_s: float
    """When it arrived, on the desk's clock."""


@dataclass(eq=False)
class Taken:
    """Made by the desk for each request, and forgotten when it is over."""

    request: Request
    ticket: Ticket
    group: str
    """Its utterances' name in the engine; no two requests have the same, whatever their ids."""
    how: SessionConfig
    taken_s: float
    text: str
    """As far as it has arrived."""
    is_open: bool = False
    """More of its text is to come."""
    in_pieces: bool = False
    """Its text came, or comes, in pieces."""
    unsent: deque[Part] = field(default_factory=deque)
    """Utterances that the engine was not given yet."""
    given: deque[Part] = field(default_factory=deque)
    """Those that it was given and that are not over, oldest first."""
    has_started: bool = False
    sentence: str = ""
    """The one that is heard."""
    sentences: int = 0
    """How many have begun to be heard."""
    why_ended: str = ""
    """Why somebody ended it; empty if nobody did."""
    reason: str = ""
    """What went wrong first; empty if nothing did."""
    played_s: float = 0.0
    """Of the utterances that are over."""
    ends: list[UtteranceDone] = field(default_factory=list)
    deadline: asyncio.TimerHandle | None = None
    """When it expires, if it has not begun by then."""

    @property
    def id(self) -> str:
        """As its source knows it."""
        return self.ticket.id

    @property
    def is_over(self) -> bool:
        """Whether its end has been told."""
        return self.ticket.done.done()

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing of it waits, is in the engine, or is to come."""
        return not (self.is_open or self.unsent or self.given)

    def order(self, part: Part, now_s: float) -> Order:
        """Return how ``part``, which is given to the engine now, wants to be heard."""
        age_s = now_s - part.asked_s
        if self.has_started:  # it interrupts once, and cannot expire any more
            return Order(self.group, self.request.priority, age_s=age_s)
        ttl_s = math.inf if self.request.ttl_s is None else self.taken_s + self.request.ttl_s - now_s
        return Order(self.group, self.request.priority, self.request.interrupt, ttl_s, age_s)

    def take_back(self) -> None:
        """Have what the engine was given wait again, in front of what does: it goes to another engine."""
        self.unsent.extendleft(reversed(self.given))
        self.given.clear()

    def note_end(self, done: UtteranceDone) -> None:
        """Take note of the end of the oldest utterance that the engine has."""
        self.given.popleft()
        self.played_s += done.heard_s
        self.ends.append(done)
        if done.outcome is Outcome.CANCELLED:
            self.why_ended = self.why_ended or done.reason
        elif done.outcome is not Outcome.COMPLETE:
            self.reason = self.reason or done.reason or done.outcome.value

    def final(self) -> Final:
        """Return the event that its end is told by."""
        if self.why_ended:
            return Interrupted(self.id, self.request.source, self.played_s, self.why_ended)
        if self.reason or not self.ends:
            reason = self.reason or "there was nothing to say in this text"
            return Failed(self.id, self.request.source, self.played_s, reason)
        return Finished(self.id, self.request.source, self.played_s, joined([d.report for d in self.ends]))
