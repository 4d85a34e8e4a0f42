"""A text spoken into bytes: pieces of it through an engine, its samples through an encoder."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.engine.engine import Engine
from app.engine.events import UtteranceDone
from app.errors import RecordingError, Refused
from app.playback.decoder import Pcm
from decoder.wire.events import Outcome
from decoder.wire.messages import SessionConfig

MOST_AHEAD_BYTES = 2 * 2**20
"""Encoded sound that may wait for a slow reader before the next piece of the text is begun."""
PIECES_AT_ONCE = 2
"""The second is received while the first is decoded, as an engine does with what it plays."""


class Encoder(Protocol):
    """One stream: samples in, bytes out. Calls come from one thread at a time."""

    def encode(self, pcm: Pcm) -> bytes:
        """Return what can be sent after these samples; it may lag behind them."""
        ...

    def end(self) -> bytes:
        """Return the rest."""
        ...


class _Outlet:
    """A sink: encodes in the decode thread and hands the bytes to the event loop."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._loop = asyncio.get_running_loop()
        self._ready: deque[bytes] = deque()
        self.changed = asyncio.Event()
        self.failure: Exception | None = None
        self.bytes_waiting = 0

    def write(self, pcm: Pcm) -> None:
        """Take the next samples (decode thread)."""
        try:
            data = self._encoder.encode(pcm)
        except Exception as error:
            self.failure = error
            raise
        self._loop.call_soon_threadsafe(self.put, data)

    def put(self, data: bytes) -> None:
        """Add bytes (event loop)."""
        if data:
            self._ready.append(data)
            self.bytes_waiting += len(data)
            self.changed.set()

    def take(self) -> bytes:
        """Return all bytes that wait."""
        data = b"".join(self._ready)
        self._ready.clear()
        self.bytes_waiting = 0
        return data

    def end(self) -> None:
        """Add what the encoder held back, once nothing more is written."""
        self.put(self._encoder.end())


@dataclass(eq=False)
class Recital:
    """One text on its way into bytes; made new for each request."""

    engine: Engine
    pieces: Sequence[str]
    how: SessionConfig
    encoder: Encoder
    frames: int = 0
    """Codec frames received so far."""
    audio_s: float = 0.0
    _waiting: deque[asyncio.Future[UtteranceDone]] = field(default_factory=deque)
    _next: int = 0

    async def sound(self) -> AsyncGenerator[bytes, None]:
        """Yield the sound as it is made; leaving early stops the engine, and the server is told.

        Raises:
            Refused: the sound ends before the text does.
            RecordingError: it cannot be encoded.
            NearfieldError: the server or the decoder cannot be used.
            DecoderError: the decoder cannot be used.

        """
        outlet = _Outlet(self.encoder)
        await self.engine.connect()
        await self.engine.prepared()
        try:
            async with aclosing(self._speak(outlet)) as sound:
                async for data in sound:
                    yield data
        finally:
            if self._waiting:
                self.engine.stop()
        outlet.end()
        if data := outlet.take():
            yield data

    async def _speak(self, outlet: _Outlet) -> AsyncGenerator[bytes, None]:
        while True:
            self._begin(outlet)
            if data := outlet.take():
                yield data
                continue
            if not self._waiting:
                break
            await self._change(outlet)
            while self._waiting and self._waiting[0].done():
                self._take_end(self._waiting.popleft().result(), outlet)

    def _begin(self, outlet: _Outlet) -> None:
        while (
            self._next < len(self.pieces)
            and len(self._waiting) < PIECES_AT_ONCE
            and outlet.bytes_waiting < MOST_AHEAD_BYTES
        ):
            self._waiting.append(self.engine.speak(self.pieces[self._next], (outlet,), how=self.how))
            self._next += 1

    async def _change(self, outlet: _Outlet) -> None:
        """Wait until there are bytes or a piece has ended."""
        outlet.changed.clear()
        changed = asyncio.ensure_future(outlet.changed.wait())
        either: set[asyncio.Future[Any]] = {changed, self._waiting[0]}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
            await asyncio.gather(changed, return_exceptions=True)

    def _take_end(self, done: UtteranceDone, outlet: _Outlet) -> None:
        self.frames += done.report.frames
        self.audio_s += done.report.audio_s
        if outlet.failure is not None:
            raise RecordingError(f"the sound cannot be encoded: {outlet.failure}")
        if done.outcome is not Outcome.COMPLETE:
            reason = f" ({done.reason})" if done.reason else ""
            raise Refused(f"the server did not speak all of it: {done.outcome.value}{reason}")
