"""What one who asked holds in hand: the request's id, and its end to wait for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from app.desk.events import Failed, Finished, Interrupted

Final = Finished | Interrupted | Failed


@dataclass(frozen=True)
class Ticket:
    """Given for a request that was taken."""

    id: str
    done: asyncio.Future[Final]
    """The request's last event; never an exception. Whoever is cancelled while awaiting it shields it."""
