"""What a program asks of the desk."""

from __future__ import annotations

from dataclasses import dataclass

from app.engine.order import Interrupt

__all__ = ["MAX_FIELD_CHARS", "MAX_ID_CHARS", "MAX_PRIORITY", "Interrupt", "Request"]

MAX_PRIORITY = 1000
"""Priorities are from its negative to it."""
MAX_ID_CHARS = 100
MAX_FIELD_CHARS = 4000
"""More than any style in words has."""


@dataclass(frozen=True)
class Request:
    """A text and how it wants to be heard; checked by the desk, which raises RequestError."""

    text: str = ""
    """Empty for a text that arrives in pieces."""
    id: str = ""
    """Printable, up to 100 characters, of no request that is not over yet; made if empty."""
    voice: str | None = None
    """``None`` here and below is what the configuration says."""
    language: str | None = None
    instructions: str | None = None
    """Style in words."""
    priority: int = 0
    """Higher goes first; within one priority it is first come, first heard. -1000 to 1000."""
    interrupt: Interrupt = Interrupt.NO
    ttl_s: float | None = None
    """What has not begun to be heard within these seconds is dropped; ``None`` waits as long as it takes."""
    source: str = ""
    """Who asks, such as ``http``; given back with every event."""
