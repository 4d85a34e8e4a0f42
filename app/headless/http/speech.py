"""``POST /v1/audio/speech``, as OpenAI's clients call it: a text in, a sound file out while it is made."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import msgspec
from aiohttp import web

from app.config import Config
from app.engine.build import session_config
from app.errors import NearfieldError, NothingToSay
from app.headless.booths import Booths
from app.headless.http import bodies
from app.headless.http.encoders import Format
from app.headless.http.faults import Fault, fault_of
from app.headless.http.fields import Field, Kind, read_json
from app.headless.recital import Recital
from app.session.voices import normal
from app.text import clean, utterances
from app.within import within
from decoder.errors import DecoderError
from decoder.wire.messages import SessionConfig

log = logging.getLogger("nearfield.http")

RATE_HZ = 24_000
WRITE_S = 60.0
"""How long a reader may take nothing."""
OPENAI_VOICES = frozenset(
    {
        "alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage",
        "shimmer", "verse",
    }
)  # fmt: skip
"""OpenAI's own, which its clients send where nothing else was chosen: they stand for the configured one."""


def speech_fields(formats: Mapping[str, Format], most_chars: int) -> tuple[Field, ...]:
    """Return the fields, of which some depend on what can be written here."""
    return (
        Field("model", Kind.TEXT, "Any: the server has one.", most=200),
        Field("input", Kind.TEXT, "What to say.", is_required=True, least=1, most=most_chars),
        Field(
            "voice",
            Kind.TEXT,
            "As GET /voices lists them; left out, or one of OpenAI's own: the configured one. The answer's "
            "header X-Nearfield-Voice says which.",
            most=200,
            names_object=True,
        ),
        Field("language", Kind.TEXT, "Of the text; not a field of OpenAI's.", most=100),
        Field("instructions", Kind.TEXT, "Style in words.", most=4000),
        Field(
            "response_format",
            Kind.TEXT,
            "Streams of wav and flac leave their length open; pcm is 16-bit little-endian at 24 kHz, mono.",
            choices=tuple(formats),
            default=default_format(formats),
        ),
        Field("speed", Kind.NUMBER, "The talker has one.", choices=(1.0,), default=1.0),
        Field(
            "stream_format",
            Kind.TEXT,
            "sse sends events speech.audio.delta and speech.audio.done; its usage counts characters in and "
            "codec frames out.",
            choices=("audio", "sse"),
            default="audio",
        ),
    )


def default_format(formats: Mapping[str, Format]) -> str:
    """Return OpenAI's default where it can be written."""
    return "mp3" if "mp3" in formats else "wav"


@dataclass(frozen=True)
class _Asked:
    """A request that was understood."""

    pieces: tuple[str, ...]
    how: SessionConfig
    voice: str
    format: Format
    is_sse: bool
    chars: int


class Speech:
    """Answers with sound that is made beside the loudspeaker's, not played."""

    def __init__(self, booths: Booths, config: Callable[[], Config], formats: Mapping[str, Format]) -> None:
        self._booths = booths
        self._config = config
        self._formats = formats

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Speak the text into the answer; a caller who leaves ends it."""
        asked = self._asked(await self._fields(request))
        async with self._booths.engine() as engine:
            recital = Recital(engine, asked.pieces, asked.how, asked.format.new(RATE_HZ))
            async with aclosing(recital.sound()) as sound:
                first = await anext(sound, b"")
                answer = _Answer(request, asked)
                await answer.begin()
                try:
                    await answer.write(first)
                    async for data in sound:
                        await answer.write(data)
                except (NearfieldError, DecoderError) as error:
                    log.warning("an answer with sound ended early: %s", error)
                    return await answer.fail(fault_of(error))
                return await answer.end(recital)

    # -- inside -----------------------------------------------------------------------------------------

    async def _fields(self, request: web.Request) -> dict[str, Any]:
        if request.content_type != "application/json":
            raise Fault(
                415, "wrong_type", f"a body of type {request.content_type[:60]!r} is not read",
                "send JSON with Content-Type: application/json",
            )  # fmt: skip
        kiosk = self._config().kiosk
        body = await bodies.whole(request, kiosk.request_bytes)
        return read_json(body, speech_fields(self._formats, kiosk.speech_chars))

    def _asked(self, given: Mapping[str, Any]) -> _Asked:
        pieces = tuple(utterances(clean(given["input"])))
        if not pieces:
            raise NothingToSay("input: there is nothing to say in this text")
        named = normal(given.get("voice", ""))
        voice = "" if named in OPENAI_VOICES else named
        config = self._config()
        changed = replace(
            config.voice,
            name=voice or config.voice.name,
            language=given.get("language") or config.voice.language,
            instructions=given.get("instructions") or config.voice.instructions,
        )
        how = session_config(replace(config, voice=changed))
        return _Asked(
            pieces=pieces,
            how=how,
            voice=how.voice or "default",
            format=self._formats[given.get("response_format", default_format(self._formats))],
            is_sse=given.get("stream_format") == "sse",
            chars=len(given["input"]),
        )


class _Answer:
    """The answer while it is written: plain sound, or events with sound in them."""

    def __init__(self, request: web.Request, asked: _Asked) -> None:
        self._request = request
        self._asked = asked
        kind = "text/event-stream" if asked.is_sse else asked.format.content_type
        headers = {
            "Content-Type": kind,
            "X-Nearfield-Voice": quote(asked.voice, safe=" "),
            "X-Accel-Buffering": "no",
        }
        self._response = web.StreamResponse(headers=headers)

    async def begin(self) -> None:
        if self._request.version >= (1, 1):
            self._response.enable_chunked_encoding()
        await self._response.prepare(self._request)

    async def write(self, data: bytes) -> None:
        """Send sound; raises ConnectionError if nobody takes it."""
        if self._asked.is_sse:
            sound = base64.b64encode(data).decode()
            data = _event({"type": "speech.audio.delta", "audio": sound})
        await self._send(data)

    async def fail(self, fault: Fault) -> web.StreamResponse:
        """Say that the sound is not whole: in an event, or by an end without the last chunk."""
        if not self._asked.is_sse:
            self._abort()
        await self._send(_event({"type": "error", **fault.openai_body()}))
        await self._response.write_eof()
        return self._response

    async def end(self, recital: Recital) -> web.StreamResponse:
        if self._asked.is_sse:
            frames = recital.frames or round(recital.audio_s * 12.5)
            usage = {
                "input_tokens": self._asked.chars,
                "output_tokens": frames,
                "total_tokens": self._asked.chars + frames,
            }
            await self._send(_event({"type": "speech.audio.done", "usage": usage}))
        await self._response.write_eof()
        return self._response

    async def _send(self, data: bytes) -> None:
        try:
            await within(WRITE_S, self._response.write(data))
        except asyncio.TimeoutError:
            self._abort()

    def _abort(self) -> None:
        if self._request.transport is not None:
            self._request.transport.abort()
        raise ConnectionResetError("the answer was cut off")


def _event(body: Mapping[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(body) + b"\n\n"
