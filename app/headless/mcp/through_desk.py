"""A speaker of this process's own, for when no kiosk runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from app.desk.desk import Desk
from app.desk.events import Failed, Finished, Interrupted
from app.desk.request import Interrupt, Request
from app.desk.ticket import Final
from app.headless.http.told import status_of
from app.headless.mcp.speaker import SOURCE, Spoken, Voices
from app.headless.voices import KnownVoices


class ThroughDesk:
    """Speaks through ``desk``, which its owner closes."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._voices = KnownVoices(lambda: desk.config)

    async def speak(self, text: str, voice: str | None, interrupt: str, wait: bool) -> Spoken:
        """Have a text spoken; raises RequestError."""
        request = Request(text=text, voice=voice, interrupt=Interrupt(interrupt), source=SOURCE)
        ticket = self._desk.speak(request)
        if not wait:
            return Spoken(ticket.id, "queued")
        try:
            return _spoken(await asyncio.shield(ticket.done))
        except asyncio.CancelledError:
            self._desk.stop(ticket.id)
            raise

    async def stop(self, id: str | None) -> bool:  # noqa: A002
        """End a text, or all of them."""
        return self._desk.stop(id)

    async def status(self) -> dict[str, Any]:
        """Return what the desk is doing."""
        return status_of(self._desk.status(), None)

    async def voices(self) -> Voices:
        """Return the server's voices, or the one that is configured."""
        return Voices(list(await self._voices.names()), self._desk.config.voice.name or None)

    async def aclose(self) -> None:
        """Nothing is held."""


def _spoken(final: Final) -> Spoken:
    played_ms = round(1000 * final.played_s)
    match final:
        case Finished():
            return Spoken(final.id, "finished", played_ms)
        case Interrupted():
            return Spoken(final.id, "interrupted", played_ms, final.why)
        case Failed():
            return Spoken(final.id, "failed", played_ms, final.reason)


@asynccontextmanager
async def of_this_process(desk: Desk) -> AsyncIterator[ThroughDesk]:
    """Yield a speaker; what it was asked for is heard to the end of its sentence when the block ends."""
    speaker = ThroughDesk(desk)
    try:
        yield speaker
    finally:
        await desk.aclose(desk.config.kiosk.grace_s)
