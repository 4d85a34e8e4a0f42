"""Time that passes only when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class HandTime:
    """Clock and sleep that move only by `advance`."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now_s + seconds, wake))
        await wake

    async def advance(self, seconds: float, each: Callable[[], None] = lambda: None) -> None:
        """Pass time, waking who is due; ``each`` runs every 50 ms, before them."""
        end_s = self.now_s + seconds
        while self.now_s < end_s - 1e-9:
            self.now_s = min(self.now_s + 0.05, end_s)
            each()
            await self._wake()

    async def leap(self, seconds: float) -> None:
        """Pass time, stopping only where somebody is due: for hours."""
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            due_s = [at_s for at_s, wake in self._sleepers if not wake.done()]
            self.now_s = max(self.now_s, min([*due_s, end_s]))
            await self._wake()

    async def _wake(self) -> None:
        for sleeper in [sleeper for sleeper in self._sleepers if sleeper[0] <= self.now_s + 1e-9]:
            self._sleepers.remove(sleeper)
            if not sleeper[1].done():
                sleeper[1].set_result(None)
        await settle()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
