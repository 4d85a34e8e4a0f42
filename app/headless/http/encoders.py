"""The formats of ``/v1/audio/speech``: bytes, made as the sound comes. The one door here to ``soundfile``."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.audio.wav import int16_bytes, wav_header
from app.headless.recital import Encoder
from app.playback.decoder import Pcm


@dataclass(frozen=True)
class Format:
    """A way to write sound that works on this machine."""

    name: str
    content_type: str
    new: Callable[[int], Encoder]
    """Makes an encoder for a number of samples per second."""


class _Plain:
    """16-bit samples, little-endian, with a header in front or without one."""

    def __init__(self, header: bytes) -> None:
        self._header = header

    def encode(self, pcm: Pcm) -> bytes:
        header, self._header = self._header, b""
        return header + int16_bytes(pcm)

    def end(self) -> bytes:
        return self._header


class _Pipe(io.RawIOBase):
    """A file whose bytes are taken away as they are written.

    Who goes back to mend a header, as encoders do at the end, finds that it has left already: what was
    written first, with its length unknown, is what streams have.
    """

    def __init__(self) -> None:
        self._at = 0
        self._end = 0
        self._taken = bytearray()

    def take(self) -> bytes:
        """Return what was written since the last call."""
        taken, self._taken = bytes(self._taken), bytearray()
        return taken

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return 0

    def write(self, data: Any) -> int:
        data = bytes(data)
        fresh = data[max(0, self._end - self._at) :]
        self._taken += fresh
        self._at += len(data)
        self._end = max(self._end, self._at)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._end}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at


class _File:
    """What libsndfile writes."""

    def __init__(self, rate_hz: int, how: Mapping[str, Any], is_lossless: bool) -> None:
        import soundfile

        self._pipe = _Pipe()
        self._is_lossless = is_lossless
        self._file = soundfile.SoundFile(self._pipe, "w", samplerate=rate_hz, channels=1, **how)

    def encode(self, pcm: Pcm) -> bytes:
        if self._is_lossless:
            self._file.write(np.frombuffer(int16_bytes(pcm), "<i2"))
        else:
            self._file.write(pcm)
        return self._pipe.take()

    def end(self) -> bytes:
        self._file.close()
        return self._pipe.take()


_PLAIN = {
    "wav": Format("wav", "audio/wav", lambda rate_hz: _Plain(wav_header(rate_hz, None))),
    "pcm": Format("pcm", "audio/pcm", lambda rate_hz: _Plain(b"")),
}
# Of an MP3 stream whose bit rate varies, decoders guess the length wrong: its header leaves too early.
_MP3 = {"subtype": "MPEG_LAYER_III", "bitrate_mode": "CONSTANT", "compression_level": 0.5}
_OF_LIBSNDFILE: tuple[tuple[str, str, Mapping[str, Any], bool], ...] = (
    ("flac", "audio/flac", {"format": "FLAC", "subtype": "PCM_16"}, True),
    ("opus", "audio/ogg", {"format": "OGG", "subtype": "OPUS"}, False),
    ("mp3", "audio/mpeg", {"format": "MP3", **_MP3}, False),
)


def known_formats() -> Mapping[str, Format]:
    """Return the formats that can be written here, by their names; loads libsndfile."""
    formats = dict(_PLAIN)
    try:
        import soundfile
    except (ImportError, OSError):  # OSError: the package is there without the library
        return formats
    for name, content_type, how, is_lossless in _OF_LIBSNDFILE:
        if soundfile.check_format(how["format"], how["subtype"]):
            formats[name] = Format(name, content_type, _opener(how, is_lossless))
    return formats


def _opener(how: Mapping[str, Any], is_lossless: bool) -> Callable[[int], Encoder]:
    return lambda rate_hz: _File(rate_hz, how, is_lossless)
