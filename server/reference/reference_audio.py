"""The sound of a voice to clone: read from a URI as far as this server allows, decoded, and bounded."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from http.client import HTTPException
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import numpy as np
import soundfile
from numpy.typing import NDArray

from server.emulator.speech import GenerationError
from server.reference.fetching import fetch

MAX_BYTES = 10 * 1024 * 1024
SHORTEST_S, LONGEST_S = 1.0, 30.0
RATES_HZ = range(8_000, 192_001)
MOST_CHANNELS = 2
LOUDEST = 10.0
"""Full scale is 1. Absurd samples end in a model that samples from no numbers, which breaks a GPU for all."""


@dataclass(frozen=True)
class AudioPolicy:
    """What a client may make this server read, beyond what it sends itself as a ``data:`` URI.

    A path or an address in ``ref_audio`` is opened by the server: with its rights, in its network. So
    neither is read unless whoever starts the server says so.
    """

    folder: Path | None = None
    """``file:`` URIs below this folder are read."""
    http: bool = False
    """``http:`` and ``https:`` URIs are fetched, from wherever this machine can reach."""


@dataclass(frozen=True)
class Sample:
    """A voice, in mono."""

    samples: NDArray[np.float32]
    rate_hz: int


def is_remote(uri: str) -> bool:
    """Whether reading ``uri`` means waiting for another machine."""
    return _scheme(uri) not in ("data", "file")


def read_sample(uri: str, policy: AudioPolicy) -> Sample:
    """Read and decode ``uri``; it blocks.

    Raises:
        GenerationError: not allowed, not there, too large, no sound, or not of 1 to 30 s.

    """
    match _scheme(uri):
        case "data":
            data = _from_data(uri)
        case "file":
            data = _from_file(uri, policy.folder)
        case _:
            data = _from_http(uri, policy.http)
    return _decode(data)


def _scheme(uri: str) -> str:
    return uri.partition(":")[0].lower()


def _from_data(uri: str) -> bytes:
    head, comma, body = uri.partition(",")
    if not comma or not head.lower().endswith(";base64"):
        raise GenerationError("ref_audio: a data: URI has to look like data:audio/wav;base64,…")
    try:
        data = base64.b64decode(unquote(body), validate=True)
    except (binascii.Error, ValueError):
        raise GenerationError("ref_audio: the data: URI is not base64") from None
    _check_size(len(data))
    return data


def _from_file(uri: str, folder: Path | None) -> bytes:
    if folder is None:
        raise GenerationError(
            "ref_audio: this server reads no files; send the sound as a data: URI, "
            "or start the server with --ref-folder"
        )
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost"):
        raise GenerationError("ref_audio: a file: URI of another machine cannot be read")
    outside = GenerationError("ref_audio: no such file in the folder that this server reads from")
    try:
        path = Path(url2pathname(parts.path)).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file():
            raise outside
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        raise outside from None
    _check_size(len(data))
    return data


def _from_http(uri: str, is_allowed: bool) -> bytes:
    if not is_allowed:
        raise GenerationError(
            "ref_audio: this server fetches nothing; send the sound as a data: URI, "
            "or start the server with --ref-http"
        )
    try:
        data = fetch(uri, MAX_BYTES)
    except (OSError, ValueError, HTTPException) as error:
        raise GenerationError(f"ref_audio cannot be fetched: {error}") from error
    _check_size(len(data))
    return data


def _check_size(size_bytes: int) -> None:
    if size_bytes > MAX_BYTES:
        raise GenerationError(f"ref_audio has more than {MAX_BYTES // 2**20} MiB")


def _decode(data: bytes) -> Sample:
    try:
        with soundfile.SoundFile(BytesIO(data)) as file:
            rate_hz = file.samplerate
            if rate_hz not in RATES_HZ:
                raise GenerationError(
                    f"ref_audio has {rate_hz} Hz, {RATES_HZ[0]} to {RATES_HZ[-1]} Hz are taken"
                )
            if file.channels > MOST_CHANNELS:
                raise GenerationError(
                    f"ref_audio has {file.channels} channels, at most {MOST_CHANNELS} are taken"
                )
            # One sample too many shows what is too long; what a header promises is not believed.
            read = file.read(int(LONGEST_S * rate_hz) + 1, dtype="float32", always_2d=True)
    except (RuntimeError, OSError) as error:
        raise GenerationError(f"ref_audio is no sound that can be read: {error}") from error
    if not SHORTEST_S * rate_hz <= len(read) <= LONGEST_S * rate_hz:
        # Cut off and not rounded, or it would have the length that it lacks.
        length = f"{len(read) * 100 // rate_hz / 100} s" if len(read) < SHORTEST_S * rate_hz else "more"
        raise GenerationError(
            f"ref_audio has to be of {SHORTEST_S:.0f} to {LONGEST_S:.0f} s, it has {length}"
        )
    if not np.abs(read).max() <= LOUDEST:  # so that "no number" is none too
        raise GenerationError(f"ref_audio has samples beyond ±{LOUDEST:.0f}, or that are no numbers")
    samples: NDArray[np.float32] = read.mean(axis=1, dtype=np.float32)
    return Sample(samples, rate_hz)
