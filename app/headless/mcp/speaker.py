"""What the tools need of whoever speaks: a kiosk that runs already, or one of this process's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

SOURCE = "mcp"


@dataclass(frozen=True)
class Spoken:
    """What became of a text."""

    id: str
    """Of the request, for `stop`."""
    outcome: str
    """``queued`` if it was not waited for, else ``finished``, ``interrupted`` or ``failed``."""
    played_ms: int | None = None
    """How much of its sound was heard."""
    detail: str = ""
    """Why it was interrupted or failed."""


@dataclass(frozen=True)
class Voices:
    """What there is to choose from."""

    voices: list[str]
    configured: str | None
    """The one that is used where none is named; ``None`` leaves it to the server."""


class Speaker(Protocol):
    """Every method raises NearfieldError with words for the assistant, and its next step."""

    async def speak(self, text: str, voice: str | None, interrupt: str, wait: bool) -> Spoken:
        """Have a text spoken; with ``wait`` return when its last sample was heard, however it ended.

        Whoever is cancelled while waiting ends the text, too.
        """
        ...

    async def stop(self, id: str | None) -> bool:  # noqa: A002  # as everywhere
        """End a text, or all of them; whether there was one."""
        ...

    async def status(self) -> dict[str, Any]:
        """Return what is going on, as plain values."""
        ...

    async def voices(self) -> Voices:
        """Return the voices."""
        ...

    async def aclose(self) -> None:
        """Let go; what was asked for and not waited for is spoken to its end if others do that."""
        ...
