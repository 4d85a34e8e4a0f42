"""Who speaks: the kiosk that runs, else one of this process's own, made once and kept warm."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, TypeVar

from app.headless.mcp.speaker import Speaker, Spoken, Voices
from app.headless.mcp.through_http import NoKiosk

log = logging.getLogger("nearfield.mcp")

T = TypeVar("T")


class FoundSpeaker:
    """A speaker that finds one when it is first used, and another when that has gone.

    A kiosk that is started later is not looked for while this process speaks by itself: texts that wait here
    and there would be spoken at the same time.
    """

    def __init__(
        self,
        find: Callable[[], Awaitable[Speaker]],
        make: Callable[[], AbstractAsyncContextManager[Speaker]],
    ) -> None:
        """``find`` raises NoKiosk if none runs; ``make`` then makes one."""
        self._find = find
        self._make = make
        self._finding = asyncio.Lock()
        self._speaker: Speaker | None = None
        self._own = AsyncExitStack()

    async def get(self) -> FoundSpeaker:
        """Return this one, with somebody who speaks."""
        async with self._finding:
            if self._speaker is None:
                try:
                    self._speaker = await self._find()
                    log.info("a kiosk runs already: it speaks")
                except NoKiosk as reason:
                    log.info("%s: this process speaks", reason)
                    self._speaker = await self._own.enter_async_context(self._make())
        return self

    async def speak(self, text: str, voice: str | None, interrupt: str, wait: bool) -> Spoken:
        """Have a text spoken."""
        return await self._ask(lambda speaker: speaker.speak(text, voice, interrupt, wait))

    async def stop(self, id: str | None) -> bool:  # noqa: A002
        """End a text, or all of them."""
        return await self._ask(lambda speaker: speaker.stop(id))

    async def status(self) -> dict[str, Any]:
        """Return what is going on."""
        return await self._ask(lambda speaker: speaker.status())

    async def voices(self) -> Voices:
        """Return the voices."""
        return await self._ask(lambda speaker: speaker.voices())

    async def aclose(self) -> None:
        """Let go of whoever speaks."""
        speaker, self._speaker = self._speaker, None
        if speaker is not None:
            await speaker.aclose()
        await self._own.aclose()

    async def _ask(self, asked: Callable[[Speaker], Awaitable[T]]) -> T:
        for is_last in (False, True):
            await self.get()
            speaker = self._speaker
            assert speaker is not None, "one was found or made"
            try:
                return await asked(speaker)
            except NoKiosk:
                # It has gone since; what was asked was not taken.
                if is_last:
                    raise
                if self._speaker is speaker:
                    self._speaker = None
                    with contextlib.suppress(Exception):
                        await speaker.aclose()
        raise AssertionError("the last try returns or raises")
