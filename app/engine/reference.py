"""The recording of a voice to clone: a WAV file, checked here, that travels inside ``session.config``."""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from app.errors import ConfigError
from decoder.wire.messages import MAX_MESSAGE_BYTES
from decoder.wire.rules import REF_AUDIO_SCHEMES

MIN_S, MAX_S = 1.0, 30.0
"""What servers take of a voice to clone."""
MAX_BYTES = 10 * 1024 * 1024
MAX_INLINE_BYTES = (MAX_MESSAGE_BYTES - 64 * 1024) // 4 * 3
"""What fits into ``session.config``, as base64 and beside its other fields."""
_PCM, _FLOAT, _ALAW, _ULAW, _EXTENSIBLE = 0x0001, 0x0003, 0x0006, 0x0007, 0xFFFE
_TAGS = (_PCM, _FLOAT, _ALAW, _ULAW, _EXTENSIBLE)


class Unfit(Enum):
    """Why a recording cannot be used."""

    UNREADABLE = "cannot be read"
    NO_WAV = "is no WAV file"
    TOO_SHORT = "is too short"
    TOO_LONG = "is too long"
    TOO_LARGE = "is too large"


class SampleError(ConfigError):
    """A recording that cannot be used: ``why``, and a text that says it with its numbers."""

    def __init__(self, why: Unfit, text: str) -> None:
        super().__init__(text)
        self.why = why


@dataclass(frozen=True)
class Sample:
    """A recording that servers take."""

    content: bytes = field(repr=False)
    """The whole file."""
    duration_s: float


def read_sample(path: Path) -> Sample:
    """Read a WAV file of 1 to 30 s and at most 10 MB.

    Raises:
        SampleError: it is not one.

    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SampleError(Unfit.UNREADABLE, f"{path} cannot be read: {reason}") from None
    if len(content) > MAX_BYTES:
        raise SampleError(
            Unfit.TOO_LARGE, f"{path} is larger than {MAX_BYTES // 2**20} MiB: cut it, or make it mono"
        )
    duration_s = _duration_s(content)
    if duration_s is None:
        raise SampleError(
            Unfit.NO_WAV, f"{path} is no WAV file that can be used: save the recording as 16-bit WAV"
        )
    if duration_s < MIN_S:
        raise SampleError(
            Unfit.TOO_SHORT, f"{path} has {duration_s:.1f} s of sound: at least {MIN_S:g} s are needed"
        )
    if duration_s > MAX_S:
        raise SampleError(
            Unfit.TOO_LONG, f"{path} has {duration_s:.0f} s of sound: cut it to {MAX_S:g} s or less"
        )
    return Sample(content, duration_s)


def reference_uri(ref_audio: str) -> str:
    """Return what a server can read: a URI as it is, a file of this machine as a ``data:`` URI.

    Raises:
        SampleError: the file cannot be used, or does not fit into a message.

    """
    text = ref_audio.strip()
    if is_uri(text):
        return text
    sample = read_sample(Path(text).expanduser())
    if len(sample.content) > MAX_INLINE_BYTES:
        raise SampleError(
            Unfit.TOO_LARGE,
            f"{text} has {len(sample.content) / 1e6:.1f} MB, and at most {MAX_INLINE_BYTES / 1e6:.1f} MB "
            "can be sent along: make it mono with 24 kHz, or upload it to the server as a voice",
        )
    return f"data:audio/wav;base64,{base64.b64encode(sample.content).decode('ascii')}"


def is_uri(ref_audio: str) -> bool:
    """Return whether a server reads ``ref_audio`` itself."""
    return ref_audio.strip().lower().startswith(REF_AUDIO_SCHEMES)


def _duration_s(content: bytes) -> float | None:
    """Return how long a WAV file sounds, as its header says and its length bears out; ``None`` if it is none.

    Not read with the standard library's ``wave``, which knows neither float samples nor extensible headers.
    """
    if content[:4] not in (b"RIFF", b"RF64") or content[8:12] != b"WAVE":
        return None
    bytes_a_second, at = 0, 12
    while at + 8 <= len(content):
        name, size = content[at : at + 4], struct.unpack_from("<I", content, at + 4)[0]
        at += 8
        if name == b"fmt " and at + 16 <= len(content):
            tag, channels, rate_hz, _, block_bytes, _ = struct.unpack_from("<HHIIHH", content, at)
            if tag not in _TAGS or not (channels and rate_hz and block_bytes):
                return None
            bytes_a_second = rate_hz * block_bytes
        elif name == b"data":
            # What recorders write that were stopped half-way, or do not know the size: 0 or a huge one.
            held = len(content) - at
            return (min(size, held) or held) / bytes_a_second if bytes_a_second else None
        at += size + size % 2
    return None
