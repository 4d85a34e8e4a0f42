"""Small servers of the protocol that decode, or do wrong what only shows in company.

They speak through ``ServerSession`` over real WebSockets. Unrealistic in this: one utterance at a time on a
connection, no cancel, no idle time-out, no HTTP beside the stream, and as fast as the client reads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

import numpy as np
from numpy.typing import NDArray
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from app.headless.calling import dial_to
from app.session.address import server_address
from decoder.spec import CodecSpec
from decoder.wire.packets import Codes
from decoder.wire.server import CloseRequested, ServerSession, ServerTraits, UtteranceRequested
from server.caller import Dial
from server.emulator import SyntheticTalker

Flush = Callable[[], Awaitable[None]]


@dataclass
class PlainServer:
    """Speaks a synthetic talker's frames, one a packet; subclasses change what they say."""

    talker: SyntheticTalker = field(default_factory=SyntheticTalker)
    traits: ServerTraits = field(default_factory=ServerTraits)
    turned_away: frozenset[int] = frozenset()
    """Handshakes that are refused with 503, counted from 0."""
    handshakes: int = 0

    async def speak(self, session: ServerSession, request: UtteranceRequested, flush: Flush) -> None:
        """Say one text as one unit."""
        session.start_unit(request.text)
        for frame in self.frames(request):
            session.send_frames(frame)
            await flush()
        session.end_unit()

    def frames(self, request: UtteranceRequested) -> list[Codes]:
        """Return what to say, frame by frame."""
        codes = self.talker.codes(request.text, request.config.seed)
        return [codes[at : at + 1] for at in range(len(codes))]

    async def _serve(self, socket: ServerConnection) -> None:
        session = ServerSession(self.talker.spec, self.traits, opened_s=time.monotonic())

        async def flush() -> None:
            for message in session.data_to_send():
                await socket.send(message)

        try:
            async for message in socket:
                assert isinstance(message, str)
                for event in session.receive_text(message, time.monotonic()):
                    if isinstance(event, CloseRequested):
                        await flush()
                        return
                    if isinstance(event, UtteranceRequested):
                        await self.speak(session, event, flush)
                        session.end_utterance(time.monotonic())
                await flush()
        except ConnectionClosed:
            return

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        number = self.handshakes
        self.handshakes += 1
        if number in self.turned_away:
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "full\n")
        return None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Serve while the block runs; yields the address."""
        async with serve(
            self._serve, "127.0.0.1", 0, process_request=self._admit, compression=None, close_timeout=0.2
        ) as server:
            port = server.sockets[0].getsockname()[1]
            yield f"ws://127.0.0.1:{port}/v1/audio/speech/stream"


@dataclass
class LeakingServer(PlainServer):
    """Keeps the newest frame in one place for all sessions: whoever comes in between sends another's."""

    _newest: Codes | None = None

    async def speak(self, session: ServerSession, request: UtteranceRequested, flush: Flush) -> None:
        session.start_unit(request.text)
        for frame in self.frames(request):
            self._newest = frame
            await asyncio.sleep(0)
            session.send_frames(self._newest)
            await flush()
        session.end_unit()


@dataclass
class LosingServer(PlainServer):
    """Loses the third frame of whoever is not alone."""

    _speaking: int = 0

    async def speak(self, session: ServerSession, request: UtteranceRequested, flush: Flush) -> None:
        self._speaking += 1
        session.start_unit(request.text)
        for number, frame in enumerate(self.frames(request)):
            await asyncio.sleep(0.001)
            if number != 2 or self._speaking == 1:
                session.send_frames(frame)
                await flush()
        session.end_unit()
        self._speaking -= 1


@dataclass
class BatchedServer(PlainServer):
    """Takes another turn from the fifth frame on when it is not alone, as a GPU does in a larger batch."""

    _speaking: int = 0

    async def speak(self, session: ServerSession, request: UtteranceRequested, flush: Flush) -> None:
        self._speaking += 1
        await asyncio.sleep(0.01)
        session.start_unit(request.text)
        frames, others = self.frames(request), self.talker.codes(request.text, 1_000_000 + self._speaking)
        for number, frame in enumerate(frames):
            turned = number >= 4 and self._speaking > 1
            session.send_frames(others[number : number + 1] if turned else frame)
            await flush()
        session.end_unit()
        self._speaking -= 1


@dataclass
class MoodyServer(PlainServer):
    """Says something else each time, whatever the seed; and in company names another's sentence."""

    _times: int = 0
    _speaking: list[str] = field(default_factory=list)

    async def speak(self, session: ServerSession, request: UtteranceRequested, flush: Flush) -> None:
        self._times += 1
        self._speaking.append(request.text)
        await asyncio.sleep(0.01)
        session.start_unit(self._speaking[0])
        session.send_frames(self.talker.codes(request.text, self._times))
        await flush()
        await asyncio.sleep(0.01)
        session.end_unit()
        self._speaking.remove(request.text)


Decode = Callable[[Codes], NDArray[np.float32]]


def silent_decode(codes: Codes) -> NDArray[np.float32]:
    """Return as much silence as the codes last."""
    return np.zeros(len(codes) * CodecSpec().samples_per_frame, np.float32)


@dataclass
class TwoStageServer(PlainServer):
    """Decodes what its talker says, as ``decode`` does, and sends 16-bit PCM.

    It can be made to say something else from a frame on, to send later, or to give its codes as well.
    """

    decode: Decode = silent_decode
    traits: ServerTraits = field(default_factory=lambda: ServerTraits(codec=False))
    other_from_frame: int | None = None
    later_samples: int = 0
    wavers: bool = False
    """Says something else in every run, from the first frame on."""
    rate_hz: int = 24_000
    _runs: int = 0

    def frames(self, request: UtteranceRequested) -> list[Codes]:
        codes = self.talker.codes(request.text, request.config.seed)
        if self.other_from_frame is not None:
            others = self.talker.codes(request.text, 1_000_000)
            codes[self.other_from_frame :] = others[self.other_from_frame :]
        if self.wavers:
            codes = self.talker.codes(request.text, 2_000_000 + self._runs)
        return [codes[at : at + 1] for at in range(len(codes))]

    async def speak(self, session: ServerSession, request: UtteranceRequested, flush: Flush) -> None:
        self._runs += 1
        if self.traits.codec and request.wants_codec:
            await super().speak(session, request, flush)
            return
        session.start_audio(request.text, self.rate_hz)
        pcm = np.concatenate(
            [np.zeros(self.later_samples, np.float32), self.decode(np.concatenate(self.frames(request)))]
        )
        samples = np.round(pcm.clip(-1.0, 1.0) * 32767).astype("<i2").tobytes()
        for at in range(0, len(samples), 48_000):
            session.send_pcm(samples[at : at + 48_000])
            await flush()
        session.end_audio()


def dial(url: str, open_timeout_s: float = 5.0) -> Dial:
    """Dial as the command does."""
    return dial_to(server_address(url, open_timeout_s=open_timeout_s))
