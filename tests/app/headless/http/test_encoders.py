from __future__ import annotations

import io
import sys
import wave

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from app.audio.wav import int16_bytes
from app.headless.http.encoders import known_formats
from tests.helpers.heard_sound import decoded, likeness

RATE_HZ = 24_000


def speech_like(seconds: float) -> NDArray[np.float32]:
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    voice = (
        np.sin(2 * np.pi * 140 * t) + 0.5 * np.sin(2 * np.pi * 700 * t) + 0.2 * np.sin(2 * np.pi * 2300 * t)
    )
    return (0.25 * voice * (1 + np.sin(2 * np.pi * 3 * t)) / 2).astype(np.float32)


def encoded(name: str, pcm: NDArray[np.float32], piece: int = 1920) -> list[bytes]:
    encoder = known_formats()[name].new(RATE_HZ)
    pieces = [encoder.encode(pcm[at : at + piece]) for at in range(0, len(pcm), piece)]
    return [*pieces, encoder.end()]


@pytest.mark.parametrize("name", ["wav", "pcm", "flac"])
def test_lossless_formats_hold_the_very_samples(name: str) -> None:
    pcm = speech_like(2.0)
    assert decoded(name, b"".join(encoded(name, pcm))).tobytes() == int16_bytes(pcm)


@pytest.mark.parametrize(("name", "least"), [("opus", 0.99), ("mp3", 0.99)])
def test_lossy_formats_sound_the_same(name: str, least: float) -> None:
    pcm = speech_like(3.0)
    heard = decoded(name, b"".join(encoded(name, pcm)))
    assert abs(len(heard) - len(pcm)) < 0.1 * RATE_HZ
    assert likeness(heard, pcm) > least


@pytest.mark.parametrize("name", ["wav", "pcm", "flac", "opus", "mp3"])
def test_sound_leaves_while_more_is_made(name: str) -> None:
    """After three of four seconds, at least one and a half have left (Opus has pages of a second)."""
    pieces = encoded(name, speech_like(4.0))
    whole = sum(map(len, pieces))
    early = sum(map(len, pieces[: 3 * len(pieces) // 4]))
    assert early > 0.4 * whole


def test_the_length_of_a_wav_stream_is_open_and_readers_take_what_there_is() -> None:
    pcm = speech_like(1.0)
    data = b"".join(encoded("wav", pcm))
    assert data[4:8] == data[40:44] == b"\xff\xff\xff\xff"
    with wave.open(io.BytesIO(data)) as reader:
        assert (reader.getframerate(), reader.getnchannels(), reader.getsampwidth()) == (RATE_HZ, 1, 2)
        assert reader.readframes(10**9) == int16_bytes(pcm)
    assert len(soundfile.read(io.BytesIO(data))[0]) == len(pcm)


def test_a_stream_without_a_sample_is_a_whole_file() -> None:
    for name in ("wav", "flac", "opus", "mp3"):
        assert isinstance(b"".join(encoded(name, np.zeros(0, np.float32))), bytes)
    with wave.open(io.BytesIO(b"".join(encoded("wav", np.zeros(0, np.float32))))) as reader:
        assert reader.readframes(1) == b""


def test_two_streams_do_not_mix() -> None:
    one, other = (known_formats()["flac"].new(RATE_HZ) for _ in range(2))
    low, high = speech_like(1.0), speech_like(1.0)[::-1].copy()
    ours = [one.encode(low)]
    theirs = [other.encode(high)]
    ours.append(one.end())
    theirs.append(other.end())
    assert decoded("flac", b"".join(ours)).tobytes() == int16_bytes(low)
    assert decoded("flac", b"".join(theirs)).tobytes() == int16_bytes(high)


def test_without_libsndfile_there_are_wav_and_pcm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    assert list(known_formats()) == ["wav", "pcm"]
