"""One client of the Wyoming server: its events in, sound out while it is made."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe
from wyoming.ping import Ping, Pong
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from app.audio.wav import int16_bytes
from app.config import Config
from app.engine.build import session_config
from app.errors import NearfieldError, QueueFull, RequestError, SessionError
from app.headless.booths import Booths
from app.headless.languages import name_of
from app.headless.recital import Recital
from app.headless.voices import asked_for
from app.headless.wyoming.info import info
from app.headless.wyoming.texts import Text
from app.headless.wyoming.wire import BadEvent, read_event, write_event
from app.playback.decoder import Pcm
from app.within import within
from decoder.errors import DecoderError
from decoder.wire.messages import SessionConfig

log = logging.getLogger("nearfield.wyoming")

RATE_HZ = 24_000
SAMPLE_BYTES = 2
CHUNK_BYTES = 8192
"""Of sound in one event, about 0.17 s."""
IDLE_S = 600.0
"""A client that says nothing for so long, and waits for nothing, is let go."""
PIECE_S = 120.0
"""How long a text in pieces may pause: a language model may think for a while, but it holds an engine."""
MOST_TEXTS = 8
"""How many texts of one client may wait."""


class _Pcm:
    """16-bit samples, little-endian, with nothing around them."""

    def encode(self, pcm: Pcm) -> bytes:
        return int16_bytes(pcm)

    def end(self) -> bytes:
        return b""


class Client:
    """Made for each connection, and over with it: whoever leaves is spoken to no more."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        booths: Booths,
        config: Callable[[], Config],
        voices: Callable[[], Awaitable[Sequence[str]]],
        take: Callable[[], float],
    ) -> None:
        """``take`` counts a text; it returns 0, or after how many seconds the next may come."""
        self._reader = reader
        self._writer = writer
        self._booths = booths
        self._config = config
        self._voices = voices
        self._take = take
        self._texts: asyncio.Queue[tuple[Text, SessionConfig]] = asyncio.Queue(MOST_TEXTS)
        self._arriving: Text | None = None
        """The text that comes in pieces, between its start and its stop."""
        self._waiting = 0
        """How many texts are not over."""

    async def run(self) -> None:
        """Talk until the client is gone, or something went wrong that it was told."""
        speaking = asyncio.create_task(self._speak_all())
        reading = asyncio.create_task(self._read_all())
        try:
            await asyncio.wait({speaking, reading}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            speaking.cancel()
            reading.cancel()
            ended = await asyncio.gather(speaking, reading, return_exceptions=True)
        for error in ended:
            await self._tell(error)

    # -- what the client says ---------------------------------------------------------------------------

    async def _read_all(self) -> None:
        limit = self._config().kiosk.request_bytes
        while (event := await self._next(limit)) is not None:
            await self._handle(event)

    async def _next(self, limit_bytes: int) -> Event | None:
        """Return the next event, ``None`` if the client is gone or has been idle for too long."""
        reading = asyncio.ensure_future(read_event(self._reader, limit_bytes))
        try:
            while not (await asyncio.wait({reading}, timeout=IDLE_S))[0]:
                if not self._waiting:
                    return None
            return reading.result()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _handle(self, event: Event) -> None:
        try:
            await self._answer(event)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadEvent(f"{event.type[:40]} with fields that it does not have ({error})") from None

    async def _answer(self, event: Event) -> None:
        if Describe.is_type(event.type):
            await write_event(info(await self._voices()).event(), self._writer)
        elif Ping.is_type(event.type):
            await write_event(Pong(Ping.from_event(event).text).event(), self._writer)
        elif SynthesizeStart.is_type(event.type):
            if self._arriving is not None:
                raise BadEvent("a text was begun before the one before was ended")
            self._arriving = Text(is_whole=False)
            self._put(self._arriving, SynthesizeStart.from_event(event).voice)
        elif SynthesizeChunk.is_type(event.type):
            if self._arriving is None:
                raise BadEvent("a piece of a text came before its start")
            self._arriving.write(_text_of(event))
        elif SynthesizeStop.is_type(event.type):
            if self._arriving is not None:
                self._arriving.close()
                self._arriving = None
        elif Synthesize.is_type(event.type) and self._arriving is None:
            # Within a text in pieces it is the same once more, for servers that do not know about pieces.
            text = Text(is_whole=True)
            text.write(_text_of(event))
            text.close()
            self._put(text, Synthesize.from_event(event).voice)

    def _put(self, text: Text, voice: SynthesizeVoice | None) -> None:
        wait_s = self._take()
        if wait_s:
            raise QueueFull(
                f"that is more than a client may ask for in a minute: ask again in {wait_s:.0f} s, "
                "or raise kiosk.rate_per_minute"
            )
        how = self._how(voice)
        try:
            self._texts.put_nowait((text, how))
        except asyncio.QueueFull:
            raise QueueFull(f"{MOST_TEXTS} texts wait already: wait for their sound") from None
        self._waiting += 1

    def _how(self, voice: SynthesizeVoice | None) -> SessionConfig:
        config = self._config()
        name = "" if voice is None else asked_for(voice.speaker or voice.name)
        language = None if voice is None else name_of(voice.language)
        changed = replace(
            config.voice, name=name or config.voice.name, language=language or config.voice.language
        )
        return session_config(replace(config, voice=changed))

    # -- what it is answered ----------------------------------------------------------------------------

    async def _speak_all(self) -> None:
        while True:
            text, how = await self._texts.get()
            await self._speak(text, how)
            self._waiting -= 1

    async def _speak(self, text: Text, how: SessionConfig) -> None:
        has_begun = False
        sent_bytes = 0
        async with aclosing(self._sound(text, how)) as sound:
            async for data in sound:
                if not has_begun:
                    has_begun = True
                    await self._write(AudioStart(RATE_HZ, SAMPLE_BYTES, 1, timestamp=0).event())
                for at in range(0, len(data), CHUNK_BYTES):
                    piece = data[at : at + CHUNK_BYTES]
                    chunk = AudioChunk(RATE_HZ, SAMPLE_BYTES, 1, piece, timestamp=_ms(sent_bytes))
                    await self._write(chunk.event())
                    sent_bytes += len(piece)
        if not has_begun:  # there was nothing to say: a silence of no length
            await self._write(AudioStart(RATE_HZ, SAMPLE_BYTES, 1, timestamp=0).event())
        await self._write(AudioStop(timestamp=_ms(sent_bytes)).event())
        if not text.is_whole:
            await self._write(SynthesizeStopped().event())

    async def _sound(self, text: Text, how: SessionConfig) -> AsyncGenerator[bytes, None]:
        """Yield the sound of ``text`` while it arrives; an engine is lent once there is something to say."""
        pieces = await self._next_of(text)
        if not pieces:
            return
        async with self._booths.engine() as engine:
            while pieces:
                async with aclosing(Recital(engine, pieces, how, _Pcm()).sound()) as sound:
                    async for data in sound:
                        yield data
                pieces = await self._next_of(text)

    async def _next_of(self, text: Text) -> list[str]:
        try:
            return await within(PIECE_S, text.next())
        except asyncio.TimeoutError:
            raise BadEvent(f"no more of the text came within {PIECE_S:.0f} s") from None

    async def _write(self, event: Event) -> None:
        await write_event(event, self._writer)

    async def _tell(self, error: BaseException | None) -> None:
        """Tell the client why the connection is about to end; many wait for sound until it does."""
        match error:
            case None | asyncio.CancelledError() | ConnectionError():
                return
            case BadEvent():
                answer = Error(str(error), "bad_event")
            case NearfieldError() | DecoderError():
                log.warning("a client of the Wyoming server was told: %s", error)
                answer = Error(str(error), _code(error))
            case _:
                log.error("a client of the Wyoming server met an unexpected error", exc_info=error)
                answer = Error("something unexpected went wrong: the program's log says what", "internal")
        with contextlib.suppress(ConnectionError):
            await self._write(answer.event())


def _code(error: NearfieldError | DecoderError) -> str:
    match error:
        case RequestError():
            return error.code
        case SessionError():
            return type(error).__name__.lower()
        case _:
            return "not_ready"


def _text_of(event: Event) -> str:
    text = event.data.get("text")
    if not isinstance(text, str):
        raise BadEvent(f"{event.type} without a text")
    return text


def _ms(size_bytes: int) -> int:
    return round(1000 * size_bytes / (SAMPLE_BYTES * RATE_HZ))
