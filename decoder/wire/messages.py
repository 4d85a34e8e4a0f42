"""The JSON half of the wire: every message as a frozen dataclass that reads, checks and writes itself."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, TypeVar, get_args, get_type_hints

import numpy as np

from decoder.errors import MessageError
from decoder.spec import CodecSpec
from decoder.wire.packets import HEADER_FORMAT, Codes

PROTOCOL_VERSION = 1
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
"""Largest message either side sends or takes; a packet of 65,535 frames is 2 MiB."""
MAX_TEXT_BYTES = 128 * 1024
MAX_CONTEXT_FRAMES = 72
MAX_SHOWN_CHARS = 60
"""How much of a wrong value an error text repeats."""

_MUST_MATCH = (
    "version",
    "decoder_id",
    "codebooks",
    "codebook_size",
    "frame_rate_hz",
    "sample_rate",
    "header_format",
)

M = TypeVar("M", bound="Message")


def shown(value: Any) -> str:
    """Return ``value`` as an error text repeats it: as Python writes it, and not much of it."""
    return well_formed(repr(value)[:MAX_SHOWN_CHARS])


def well_formed(text: str) -> str:
    """Return ``text`` with lone surrogates, which no UTF-8 can carry, replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(frozen=True)
class Message:
    """A JSON object with a ``type``. Fields that are ``None`` are not sent."""

    TYPE: ClassVar[str] = ""

    def to_json(self) -> str:
        """Write the message; absent fields are left out, text stays readable."""
        body: dict[str, Any] = {"type": self.TYPE}
        body.update((f.name, v) for f in fields(self) if (v := getattr(self, f.name)) is not None)
        return well_formed(json.dumps(body, ensure_ascii=False))

    @classmethod
    def from_dict(cls: type[M], body: dict[str, Any]) -> M:
        """Read the fields this class knows; keys it does not know are ignored.

        Raises:
            MessageError: a required field is missing or has the wrong type.

        """
        values = {}
        for name, (allowed, required) in _fields_of(cls).items():  # type: ignore[arg-type]  # a class is hashable
            value = body.get(name)
            if value is None:
                if required:
                    raise MessageError(f"{cls.TYPE}: {name} is missing", cls.TYPE)
                continue
            if not _fits(value, allowed):
                wanted = " or ".join(t.__name__ for t in allowed if t is not type(None))
                raise MessageError(f"{cls.TYPE}: {name} is {shown(value)}, expected {wanted}", cls.TYPE)
            values[name] = well_formed(value) if isinstance(value, str) else value
        return cls(**values)


@cache
def _fields_of(cls: type[Message]) -> dict[str, tuple[tuple[type, ...], bool]]:
    """Return for each field its plain types and whether it must be present."""
    hints = get_type_hints(cls)
    plain = {f.name: get_args(hints[f.name]) or (hints[f.name],) for f in fields(cls)}
    return {
        name: (types, type(None) not in types and not _has_default(cls, name))
        for name, types in plain.items()
    }


def _has_default(cls: type[Message], name: str) -> bool:
    return hasattr(cls, name)  # dataclass defaults stay on the class; fields without one do not


def _fits(value: Any, allowed: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in allowed
    if isinstance(value, int) and float in allowed:
        return True
    return isinstance(value, tuple(t for t in allowed if t is not type(None)))


# -- client to server ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class SessionConfig(Message):
    """How the following utterances are spoken; may be sent again between utterances."""

    TYPE: ClassVar[str] = "session.config"

    output_mode: str | None = None
    stream_audio: bool | None = None
    response_format: str | None = None
    voice: str | None = None
    task_type: str | None = None
    language: str | None = None
    instructions: str | None = None
    model: str | None = None
    seed: int | None = None
    max_new_tokens: int | None = None
    split_granularity: str | None = None
    ref_audio: str | None = None
    ref_text: str | None = None
    x_vector_only_mode: bool | None = None
    speaker_embedding: list | None = None  # type: ignore[type-arg]  # get_type_hints needs the plain type
    word_timestamps: bool | None = None
    speed: float | None = None
    accept_codec_context: bool | None = None
    packet_frames: int | None = None
    """Frames a packet, and none long before it is due (:mod:`decoder.wire.coalescing`); our extension."""


@dataclass(frozen=True)
class InputText(Message):
    """Text to append to what the next flush speaks."""

    TYPE: ClassVar[str] = "input.text"
    text: str


@dataclass(frozen=True)
class InputDone(Message):
    """Flush: speak what was buffered."""

    TYPE: ClassVar[str] = "input.done"


@dataclass(frozen=True)
class InputCancel(Message):
    """Abort the generation in flight."""

    TYPE: ClassVar[str] = "input.cancel"


@dataclass(frozen=True)
class SessionClose(Message):
    """Ask the server to close with 1000."""

    TYPE: ClassVar[str] = "session.close"


# -- server to client ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class CodecStart(Message):
    """A unit begins; the codec it announces must be the one the client has loaded."""

    TYPE: ClassVar[str] = "codec.start"

    version: int
    codebooks: int
    codebook_size: int
    frame_rate_hz: float
    sample_rate: int
    decoder_id: str
    header_format: str
    sentence_index: int = 0
    utterance_index: int | None = None
    sentence_text: str | None = None
    model: str | None = None

    @classmethod
    def of(
        cls, spec: CodecSpec, utterance_index: int | None, sentence_index: int, text: str, model: str
    ) -> CodecStart:
        """Announce a unit of ``spec``'s codec."""
        return cls(
            version=PROTOCOL_VERSION,
            codebooks=spec.codebooks,
            codebook_size=spec.codebook_size,
            frame_rate_hz=spec.frame_rate_hz,
            sample_rate=spec.sample_rate_hz,
            decoder_id=spec.decoder_id,
            header_format=HEADER_FORMAT,
            sentence_index=sentence_index,
            utterance_index=utterance_index,
            sentence_text=text,
            model=model,
        )

    def mismatch(self, spec: CodecSpec) -> str | None:
        """Say, with both values, what does not fit the decoder for ``spec``; ``None`` if all fits."""
        ours = CodecStart.of(spec, None, 0, "", "")
        for name in _MUST_MATCH:
            theirs, own = getattr(self, name), getattr(ours, name)
            if theirs != own:
                return f"the server sends {name} {shown(theirs)}, the loaded decoder wants {own!r}"
        return None


@dataclass(frozen=True)
class CodecContext(Message):
    """Reference codes that prime the decoder and are not heard (an extension of ours)."""

    TYPE: ClassVar[str] = "codec.context"
    frames: int
    codes_b64: str

    @classmethod
    def of(cls, codes: Codes) -> CodecContext:
        """Wrap int16 ``[frames, codebooks]``; the last 72 frames are kept."""
        kept = codes[-MAX_CONTEXT_FRAMES:]
        return cls(len(kept), base64.b64encode(kept.astype("<i2").tobytes()).decode("ascii"))

    def codes(self, codebooks: int) -> Codes:
        """Unwrap the codes as int16 ``[frames, codebooks]``.

        Raises:
            MessageError: no base64, a length that does not fit, or more than 72 frames.

        """
        try:
            data = base64.b64decode(self.codes_b64, validate=True)
        except (binascii.Error, ValueError):
            raise MessageError("codec.context: codes_b64 is not base64") from None
        if not 0 <= self.frames <= MAX_CONTEXT_FRAMES:
            raise MessageError(f"codec.context: {self.frames} frames, at most {MAX_CONTEXT_FRAMES} are taken")
        expected = self.frames * codebooks * 2
        if len(data) != expected:
            raise MessageError(f"codec.context: {len(data)} bytes, {self.frames} frames are {expected} bytes")
        return np.frombuffer(data, "<i2").reshape(self.frames, codebooks).astype(np.int16)


@dataclass(frozen=True)
class CodecDone(Message):
    """A unit has ended."""

    TYPE: ClassVar[str] = "codec.done"
    sentence_index: int = 0
    utterance_index: int | None = None
    total_frames: int | None = None
    seq_last: int | None = None
    error: bool | None = None
    cancelled: bool | None = None


@dataclass(frozen=True)
class AudioStart(Message):
    """A stock server begins a unit: it decodes itself and sends PCM."""

    TYPE: ClassVar[str] = "audio.start"
    format: str = "pcm"
    sample_rate: int = 24_000
    sentence_index: int = 0
    utterance_index: int | None = None
    sentence_text: str | None = None


@dataclass(frozen=True)
class AudioDone(Message):
    """A stock server ends a unit."""

    TYPE: ClassVar[str] = "audio.done"
    total_bytes: int | None = None
    error: bool | None = None
    sentence_index: int = 0
    utterance_index: int | None = None
    cancelled: bool | None = None


@dataclass(frozen=True)
class SessionDone(Message):
    """The utterance has ended."""

    TYPE: ClassVar[str] = "session.done"
    utterance_index: int | None = None
    total_sentences: int | None = None


@dataclass(frozen=True)
class InputCancelled(Message):
    """A cancel arrived while nothing was being spoken."""

    TYPE: ClassVar[str] = "input.cancelled"


@dataclass(frozen=True)
class ErrorMessage(Message):
    """Something failed; the text is for people."""

    TYPE: ClassVar[str] = "error"
    message: str
    partial_audio: bool | None = None
    action: str | None = None


@dataclass(frozen=True)
class Unknown:
    """A message of a type this side does not know: counted, never fatal."""

    type: str


def _by_type(classes: Iterable[type[Message]]) -> dict[str, type[Message]]:
    return {c.TYPE: c for c in classes}


_TO_SERVER = _by_type([SessionConfig, InputText, InputDone, InputCancel, SessionClose])
_TO_CLIENT = _by_type(
    [CodecStart, CodecContext, CodecDone, AudioStart, AudioDone, SessionDone, InputCancelled, ErrorMessage]
)


def parse_from_client(text: str) -> Message | Unknown:
    """Read what a client sent.

    Raises:
        MessageError: no JSON object with a ``type``, or a field that is missing or of the wrong type.

    """
    return _parse(text, _TO_SERVER)


def parse_from_server(text: str) -> Message | Unknown:
    """Read what a server sent; errors as for :func:`parse_from_client`."""
    return _parse(text, _TO_CLIENT)


def _parse(text: str, known: dict[str, type[Message]]) -> Message | Unknown:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"invalid JSON: {error}") from None
    if not isinstance(body, dict) or not isinstance(body.get("type"), str):
        raise MessageError("a message is a JSON object with a string 'type'")
    cls = known.get(body["type"])
    return cls.from_dict(body) if cls else Unknown(well_formed(body["type"]))
