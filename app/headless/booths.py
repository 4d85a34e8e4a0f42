"""Engines that nobody hears, for sound that is sent somewhere: made when needed, kept warm for a while."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from app.config import Config
from app.engine.engine import Engine
from app.errors import QueueFull
from app.within import within

log = logging.getLogger("nearfield.booths")

IDLE_S = 60.0
"""How long an engine that nobody uses is kept."""
GIVEN_BACK_S = 2.0
"""How long an engine that is lent may take to be given back once all are to be closed."""


@dataclass(eq=False)
class _Booth:
    engine: Engine
    made_of: Config
    closing: asyncio.TimerHandle | None = None


class Booths:
    """Lends each request an engine of its own; who finds none waits in line, and a long line turns away."""

    def __init__(
        self,
        make_engine: Callable[[Config], Engine],
        config: Callable[[], Config],
        idle_s: float = IDLE_S,
    ) -> None:
        """``config`` returns the configuration in use, by which an engine is made and its number bounded."""
        self._make_engine = make_engine
        self._config = config
        self._idle_s = idle_s
        self._free: list[_Booth] = []
        self._lent = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._closing: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._given_back = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many wait in line."""
        return len(self._line)

    @asynccontextmanager
    async def engine(self) -> AsyncIterator[Engine]:
        """Lend an engine for the block, which leaves it silent; it is thrown away if the block raised.

        Raises:
            QueueFull: too many wait.
            ConfigError: no engine can be made as configured.
            CheckpointError: the decoder is not there.

        """
        await self._wait_for_turn()
        booth: _Booth | None = None
        is_well = False
        try:
            booth = await self._take()
            yield booth.engine
            is_well = True
        except (asyncio.CancelledError, GeneratorExit, ConnectionError):
            is_well = True  # whoever asked has gone
            raise
        finally:
            self._lent -= 1
            self._given_back.set()
            self._call_next()
            if booth is not None:
                self._give_back(booth) if is_well and not self._is_closed else self._close(booth)

    async def aclose(self) -> None:
        """Close all engines; whoever has one, or waits for one, was told to end and gives it back soon."""
        self._is_closed = True
        for booth in tuple(self._free):
            self._close(booth)
        with contextlib.suppress(asyncio.TimeoutError):
            await within(GIVEN_BACK_S, self._all_given_back())
        while self._closing:
            await asyncio.wait(self._closing)

    # -- inside -----------------------------------------------------------------------------------------

    async def _all_given_back(self) -> None:
        while self._lent:
            self._given_back.clear()
            await self._given_back.wait()

    async def _wait_for_turn(self) -> None:
        kiosk = self._config().kiosk
        if self._lent >= kiosk.speech_parallel or self._line:
            if len(self._line) >= kiosk.speech_waiting:
                raise QueueFull(f"{len(self._line)} requests wait already")
            turn = asyncio.get_running_loop().create_future()
            self._line.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._lent -= 1
                    self._given_back.set()
                    self._call_next()
                raise
            finally:
                with contextlib.suppress(ValueError):
                    self._line.remove(turn)
            return
        self._lent += 1

    def _call_next(self) -> None:
        while self._line and self._lent < self._config().kiosk.speech_parallel:
            turn = self._line.popleft()
            if not turn.done():
                self._lent += 1
                turn.set_result(None)

    async def _take(self) -> _Booth:
        config = self._config()
        # What an engine is made of, patience apart: whoever asks over HTTP is told at once, and asks again.
        made_of = replace(Config(), server=replace(config.server, patience_s=0.0), decoder=config.decoder)
        for booth in tuple(self._free):
            if booth.made_of != made_of:
                self._close(booth)
        if self._free:
            booth = self._free.pop()
            if booth.closing is not None:
                booth.closing.cancel()
            return booth
        booth = _Booth(self._make_engine(made_of), made_of)
        try:
            await booth.engine.start()
        except BaseException:
            self._close(booth)
            raise
        return booth

    def _give_back(self, booth: _Booth) -> None:
        self._free.append(booth)
        booth.closing = asyncio.get_running_loop().call_later(self._idle_s, self._close, booth)

    def _close(self, booth: _Booth) -> None:
        if booth.closing is not None:
            booth.closing.cancel()
        if booth in self._free:
            self._free.remove(booth)
        task = asyncio.create_task(booth.engine.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closed)

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("an engine could not be closed", exc_info=error)
