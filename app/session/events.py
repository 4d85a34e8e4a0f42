"""What a session tells, besides what the wire tells."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from decoder.wire.events import Event


class LinkState(Enum):
    """Whether the server is reached."""

    CONNECTING = "connecting"
    READY = "ready"
    OFFLINE = "offline"
    ASLEEP = "asleep"
    """Not reached because nobody needs it: the next text connects. Told by the engine, never by a session."""


@dataclass(frozen=True)
class LinkChanged:
    """The link's state, with the reason and the wait before the next try if it is offline.

    A link that ends is told before the end of the utterance that was on it. A try to connect that was not
    waited for any more ends offline without a reason.
    """

    state: LinkState
    detail: str = ""
    retry_in_s: float | None = None
    trying_again_helps: bool = True
    """False if what came cannot be taken, and would not be on a fresh link either."""
    refused: bool = False
    """Whether the server answered no, so that only another address, key or setting helps."""


@dataclass(frozen=True)
class BytesArrived:
    """A message came in."""

    count: int


SessionEvent = Event | LinkChanged | BytesArrived
