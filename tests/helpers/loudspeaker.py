"""A sound output for the engine that keeps what was heard.

Not realistic: it runs in the event loop instead of a thread of its own, so it can never read while the
loop works; it has no latency; and at a ``speed`` other than 1 its seconds are shorter than those of its DAC
times.
"""

from __future__ import annotations

import asyncio
import time

import numpy as np
from numpy.typing import NDArray

from app.playback.pcm_source import PcmSource

BLOCK_S = 0.02


class Loudspeaker:
    """Asks ``source`` for a block whenever one is due, ``speed`` times as often as a device would."""

    def __init__(self, source: PcmSource, speed: float = 1.0) -> None:
        self._source = source
        self._period_s = BLOCK_S / speed
        self._task: asyncio.Task[None] | None = None
        self._blocks: list[NDArray[np.float32]] = []
        self.asked_between_utterances = 0
        self.dropped = 0
        """How often it was asked to throw away what it holds, which is nothing."""
        self.devices: list[str] = []
        """Which devices were asked for, in turn."""
        self.is_closed = False
        self.underflows = 0
        self.holds_up_utterances: asyncio.Event | None = None
        """While it is there and not set, the output is busy changing its device."""

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def use(self, device: str) -> None:
        self.devices.append(device)

    async def drop(self) -> None:
        self.dropped += 1

    async def between_utterances(self) -> None:
        self.asked_between_utterances += 1
        if self.holds_up_utterances is not None:
            await self.holds_up_utterances.wait()

    async def aclose(self) -> None:
        self.is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def heard(self) -> NDArray[np.float32]:
        """All samples so far, silence included."""
        return np.concatenate([np.zeros(0, np.float32), *self._blocks])

    @property
    def sounded(self) -> NDArray[np.float32]:
        """All samples so far that were not zero."""
        heard = self.heard
        return heard[heard != 0]

    async def _run(self) -> None:
        due_s = time.perf_counter()
        while True:
            await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
            block = np.ones(round(BLOCK_S * self._source.rate_hz), np.float32)
            self._source.read_into(block, time.perf_counter())
            self._blocks.append(block)
            due_s = max(due_s + self._period_s, time.perf_counter() - 1.0)
