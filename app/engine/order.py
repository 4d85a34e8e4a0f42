"""In which order, and for how long, a text wants to be heard: said with each text, kept by the agenda."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum


class Interrupt(Enum):
    """What an order that is as urgent, or more so, does to what is heard when it comes."""

    NO = "no"
    """It waits for its turn among its equals."""
    NOW = "now"
    """What is heard ends at once, with the short fade of a stop."""
    AFTER_SENTENCE = "after_sentence"
    """What is heard ends where its next sentence begins."""
    AFTER_UTTERANCE = "after_utterance"
    """It goes in front of all that waits and is no more urgent; what is heard is heard to its end."""


@dataclass(frozen=True)
class Order:
    """How urgent a text is; the plain one waits for its turn."""

    group: str = ""
    """Texts that belong together, such as those of one request, have one name; an interrupt and a stop are
    of whole groups. Each text without a name is a group of its own."""
    priority: int = 0
    """Higher goes first; within one priority it is first come, first heard."""
    interrupt: Interrupt = Interrupt.NO
    ttl_s: float = math.inf
    """What has not begun to be heard within this time is dropped."""
    age_s: float = 0.0
    """How long ago it was asked for, if somebody kept it until now: what is old waits for no server."""
