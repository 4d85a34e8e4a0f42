"""The voices that other programs are offered: asked for in the background, because they do not wait long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from app.headless.voices import DEFAULT


class Offered:
    """Made once, closed once."""

    def __init__(self, ask: Callable[[], Awaitable[Sequence[str]]], answer_s: float) -> None:
        """``ask`` returns the names that there are, and never raises; ``answer_s`` is all that is waited."""
        self._ask = ask
        self._answer_s = answer_s
        self._names: tuple[str, ...] = (DEFAULT,)
        self._asking: asyncio.Task[None] | None = None

    def refresh(self) -> asyncio.Task[None]:
        """Ask, unless that is being done."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._take())
        return self._asking

    async def names(self) -> tuple[str, ...]:
        """Return what is known after a moment: the placeholder if there was no answer yet."""
        await asyncio.wait({self.refresh()}, timeout=self._answer_s)
        return self._names

    async def aclose(self) -> None:
        """Wait for no answer any more."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait({self._asking})

    async def _take(self) -> None:
        self._names = tuple(await self._ask())
