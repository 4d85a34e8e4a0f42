"""How late this process itself is: what a server is not to be blamed for."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType

EVERY_S = 0.01
"""How often it is looked at."""


class LagMeter:
    """Sleeps a moment again and again while its ``async with`` block runs, and notes how late it woke.

    The event loop wakes it as late as it takes in a message, so this is about the error of every instant that
    is measured at the same time.
    """

    def __init__(self) -> None:
        self.samples_s: list[tuple[float, float]] = []
        """The instant, and how many seconds late it was."""
        self.cpu_share = 0.0
        """CPU time of this process ÷ time that went by; 1 is one CPU, and all that an event loop can use."""
        self._task: asyncio.Task[None] | None = None
        self._began_s = self._cpu_began_s = 0.0

    async def __aenter__(self) -> LagMeter:
        """Begin."""
        self._began_s, self._cpu_began_s = time.perf_counter(), time.process_time()
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, and leave no task behind."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        wall_s = time.perf_counter() - self._began_s
        self.cpu_share = (time.process_time() - self._cpu_began_s) / wall_s if wall_s else 0.0

    async def _run(self) -> None:
        while True:
            due_s = time.perf_counter() + EVERY_S
            await asyncio.sleep(EVERY_S)
            now_s = time.perf_counter()
            self.samples_s.append((now_s, max(0.0, now_s - due_s)))
