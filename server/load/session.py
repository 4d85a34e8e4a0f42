"""One session under load: connects, speaks its own text as often as is asked, and notes what came."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from decoder.spec import CodecSpec
from decoder.wire.events import Mode
from decoder.wire.messages import SessionConfig
from server.caller import Caller, CallError, Contact, Dial, Heard
from server.load.crosstalk import Frames, codec_frames, pcm_frames
from server.load.results import SessionResult, of_heard

_FAILURES_IN_A_ROW = 3
"""A session that fails so often says no more: what fails at once would be asked for ever faster."""


@dataclass(frozen=True)
class Target:
    """The server, and how it is spoken to."""

    dial: Dial
    config: SessionConfig
    """Voice and language; each session puts its own seed in."""
    contact: Contact
    limit_s: float
    """A text that is not spoken in this time has failed."""

    async def call(self, seed: int) -> Caller:
        """Open a connection for one session; raises CallError as ``Caller.call``."""
        config = replace(self.config, seed=seed)
        mode = Mode.PCM if self.contact.mode is Mode.PCM else Mode.UNKNOWN
        return await Caller.call(self.dial, self.contact.spec, config, mode=mode)

    def frames(self, heard: Heard) -> Frames:
        """Return what came, frame by frame, as it is compared."""
        if heard.rate_hz:
            return pcm_frames(heard.messages, heard.rate_hz, CodecSpec().frame_s)
        return codec_frames(heard.messages, self.contact.spec)


class Gate:
    """Opens when everybody has arrived, so that all speak at once; who gave up has arrived, too."""

    def __init__(self, awaited: int) -> None:
        self._awaited = awaited
        self._open = asyncio.Event()
        if awaited <= 0:
            self._open.set()

    def arrive(self) -> None:
        """Note that one more is there."""
        self._awaited -= 1
        if self._awaited <= 0:
            self._open.set()

    async def wait(self) -> None:
        """Wait for the others."""
        await self._open.wait()


Judge = Callable[[SessionResult, Heard, Frames], None]
"""Takes what a session heard, once it has ended."""


class LoadSession:
    """Carries one session through; ``result`` grows with it, and stands whatever ends it."""

    def __init__(self, target: Target, result: SessionResult, take: Judge) -> None:
        self.result = result
        self._target = target
        self._take = take
        self._caller: Caller | None = None

    async def run(self, gate: Gate, delay_s: float, goes_on: Callable[[int], bool]) -> None:
        """Speak while ``goes_on(texts so far)``; what fails is noted, never raised."""
        try:
            try:
                await asyncio.sleep(delay_s)
                await self._connect()
            finally:
                gate.arrive()
            await gate.wait()
            while goes_on(len(self.result.utterances)) and not self._has_given_up:
                await self._speak()
        except CallError as error:
            self.result.failure = str(error)
        except asyncio.CancelledError:
            self.result.interrupted = True
            raise
        finally:
            if self._caller is not None:
                await self._caller.hang_up()

    @property
    def _has_given_up(self) -> bool:
        last = self.result.utterances[-_FAILURES_IN_A_ROW:]
        return len(last) == _FAILURES_IN_A_ROW and all(utterance.failure for utterance in last)

    async def _connect(self) -> Caller:
        began_s = time.perf_counter()
        self._caller = await self._target.call(self.result.seed)
        self.result.connects_s.append(time.perf_counter() - began_s)
        return self._caller

    async def _speak(self) -> None:
        caller = self._caller
        if caller is None or not caller.is_usable:
            # A server that ends the connection after each text, or was left because it did not end.
            if caller is not None:
                self._caller = None
                await caller.hang_up()
            caller = await self._connect()
        heard = await caller.ask(self.result.text, self._target.limit_s)
        self.result.utterances.append(of_heard(heard))
        self._take(self.result, heard, self._target.frames(heard))
