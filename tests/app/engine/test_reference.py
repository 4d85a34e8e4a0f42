"""Recordings of a voice to clone: which are taken, and how they travel."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from app.config import Config, VoiceConfig
from app.engine.build import session_config
from app.engine.reference import MAX_BYTES, MAX_INLINE_BYTES, SampleError, Unfit, read_sample, reference_uri
from app.errors import ConfigError
from decoder.wire.messages import MAX_MESSAGE_BYTES
from tests.helpers.recordings import wav_bytes, wav_file


@pytest.mark.parametrize(
    "more",
    [
        {}, {"rate_hz": 48_000, "channels": 2}, {"tag": 3, "bits": 32}, {"tag": 0xFFFE, "bits": 24},
        {"bits": 8}, {"tag": 7, "bits": 8, "rate_hz": 8_000},
    ],
)  # fmt: skip
def test_wav_files_of_every_usual_kind_are_taken(tmp_path: Path, more: dict[str, int]) -> None:
    path = wav_file(tmp_path / "a.wav", 1.5, **more)
    sample = read_sample(path)
    assert sample.duration_s == pytest.approx(1.5)
    assert sample.content == path.read_bytes()


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "FLOAT", "DOUBLE", "ULAW"])
@pytest.mark.parametrize("form", ["WAV", "WAVEX", "RF64"])
def test_the_duration_is_what_another_reader_finds(tmp_path: Path, subtype: str, form: str) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, [[0.0, 0.1]] * 40_000, 16_000, subtype, format=form)
    assert read_sample(path).duration_s == pytest.approx(2.5)


@pytest.mark.parametrize("size", [0, 0xFFFF_FFFF])
def test_a_recorder_that_was_stopped_leaves_a_size_that_is_not_believed(tmp_path: Path, size: int) -> None:
    content = wav_bytes(2.0)
    at = content.index(b"data") + 4
    path = tmp_path / "a.wav"
    path.write_bytes(content[:at] + size.to_bytes(4, "little") + content[at + 4 :])
    assert read_sample(path).duration_s == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("content", "why", "words"),
    [
        (wav_bytes(0.99), Unfit.TOO_SHORT, "1.0 s of sound: at least 1 s"),
        (wav_bytes(30.1, rate_hz=8_000), Unfit.TOO_LONG, "cut it to 30 s"),
        (wav_bytes(0.0), Unfit.TOO_SHORT, "0.0 s"),
        (bytes(MAX_BYTES + 1), Unfit.TOO_LARGE, "10 MiB"),
        (b"", Unfit.NO_WAV, "16-bit WAV"),
        (b"ID3" + bytes(5_000), Unfit.NO_WAV, "16-bit WAV"),
        (wav_bytes(2.0, tag=0x55), Unfit.NO_WAV, "16-bit WAV"),
        (wav_bytes(2.0)[:40], Unfit.NO_WAV, "16-bit WAV"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_numbers(
    tmp_path: Path, content: bytes, why: Unfit, words: str
) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    with pytest.raises(SampleError, match=words) as caught:
        read_sample(path)
    assert caught.value.why is why
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["no-such.wav", ".", "nul\0.wav"])
def test_what_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(SampleError) as caught:
        read_sample(tmp_path / name)
    assert caught.value.why is Unfit.UNREADABLE


@given(st.binary(max_size=200).map(lambda tail: wav_bytes(0.001)[:36] + tail))
def test_no_header_whatever_does_more_than_be_refused(content: bytes) -> None:
    from app.engine.reference import _duration_s

    duration_s = _duration_s(content)
    assert duration_s is None or duration_s >= 0


def test_a_file_of_this_machine_travels_inside_and_what_the_server_can_read_does_not(tmp_path: Path) -> None:
    path = wav_file(tmp_path / "a.wav", 1.0)
    head, _, body = reference_uri(f" {path} ").partition(",")
    assert head == "data:audio/wav;base64"
    assert base64.b64decode(body) == path.read_bytes()
    for uri in ("https://h/a.wav", "file:///on/the/server.wav", "data:audio/wav;base64,UklGRg=="):
        assert reference_uri(uri) == uri


def test_the_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    wav_file(tmp_path / "a.wav", 1.0)
    assert reference_uri("~/a.wav").startswith("data:")


def test_the_largest_that_is_taken_fits_into_a_message_and_a_larger_one_is_told(tmp_path: Path) -> None:
    fits = tmp_path / "fits.wav"
    rate_hz = 100_000
    head = len(wav_bytes(0.0))
    seconds = (MAX_INLINE_BYTES - head) // (2 * rate_hz * 2) * 2 / 2
    content = wav_bytes(seconds, rate_hz=rate_hz, channels=2)
    fits.write_bytes(content + bytes(MAX_INLINE_BYTES - len(content)))
    voice = VoiceConfig(task="Base", ref_audio=str(fits), ref_text="x" * 8_000, name="ignored")
    sent = session_config(Config(voice=voice))
    assert len(sent.to_json().encode()) <= MAX_MESSAGE_BYTES
    assert sent.voice is None

    fits.write_bytes(content + bytes(MAX_INLINE_BYTES - len(content) + 1))
    with pytest.raises(SampleError, match="upload it to the server") as caught:
        session_config(Config(voice=voice))
    assert caught.value.why is Unfit.TOO_LARGE


def test_settings_that_are_too_large_together_are_refused_here() -> None:
    voice = VoiceConfig(task="Base", ref_audio="https://h/a.wav", ref_text="é" * (2 * 2**20))
    with pytest.raises(ConfigError, match="4 MiB"):
        session_config(Config(voice=voice))
