from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from app.audio.wav import WavWriter
from app.desktop.export import SUFFIXES, available_suffixes, export, suggested_name
from app.desktop.recording import StoredSound
from app.errors import RecordingError


def sound_of(folder: Path, samples: int) -> StoredSound:
    with WavWriter(folder / "source.wav") as wav:
        wav.write((np.sin(np.arange(samples) / 20) * 0.5).astype(np.float32))
    return StoredSound(folder / "source.wav", id="a", rate_hz=24_000, peaks_path=folder / "a.npy")


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".WAV"])
def test_lossless_formats_keep_every_sample(tmp_path: Path, suffix: str) -> None:
    sound = sound_of(tmp_path, 60_001)
    export(sound, tmp_path / f"saved{suffix}")
    read, rate_hz = soundfile.read(tmp_path / f"saved{suffix}", dtype="int16")
    assert rate_hz == 24_000
    assert (read == sound.read(0, 60_001)).all()
    sound.close()


@pytest.mark.parametrize("suffix", [s for s in available_suffixes() if s in (".ogg", ".opus")])
def test_lossy_formats_sound_alike(tmp_path: Path, suffix: str) -> None:
    sound = sound_of(tmp_path, 60_001)
    export(sound, tmp_path / f"saved{suffix}", "A title, 你好")
    read, rate_hz = soundfile.read(tmp_path / f"saved{suffix}", dtype="float32")
    assert len(read) / rate_hz == pytest.approx(60_001 / 24_000, abs=0.01)
    middle = read[rate_hz // 2 : rate_hz]
    assert float(np.sqrt(np.mean(middle**2))) == pytest.approx(0.5 / 2**0.5, rel=0.05)
    with soundfile.SoundFile(tmp_path / f"saved{suffix}") as file:
        assert file.title == "A title, 你好"
    sound.close()


def test_a_long_recording_can_be_saved_as_vorbis(tmp_path: Path) -> None:
    sound = sound_of(tmp_path, 24_000 * 90)
    export(sound, tmp_path / "saved.ogg")
    assert soundfile.info(tmp_path / "saved.ogg").duration == pytest.approx(90, abs=0.1)
    sound.close()


def test_unknown_suffixes_are_refused_with_the_known_ones(tmp_path: Path) -> None:
    sound = sound_of(tmp_path, 100)
    for name in ("saved.mp3", "saved"):
        with pytest.raises(RecordingError, match=r"\.wav, \.flac, \.ogg, \.opus"):
            export(sound, tmp_path / name)
    sound.close()


def test_nothing_is_not_saved(tmp_path: Path) -> None:
    (tmp_path / "empty.wav").write_bytes(b"")
    empty = StoredSound(tmp_path / "empty.wav", id="a", rate_hz=24_000, peaks_path=tmp_path / "a.npy")
    with pytest.raises(RecordingError, match="no sound yet"):
        export(empty, tmp_path / "saved.wav")
    empty.close()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_that_is_not_there_is_named(tmp_path: Path, suffix: str) -> None:
    sound = sound_of(tmp_path, 100)
    with pytest.raises(RecordingError, match="nowhere"):
        export(sound, tmp_path / "nowhere" / f"saved{suffix}")
    sound.close()


@pytest.mark.parametrize("suffix", [".wav", ".flac"])
def test_h5_what_was_there_stays_if_the_new_file_cannot_be_written(tmp_path: Path, suffix: str) -> None:
    sound = sound_of(tmp_path, 1000)
    target = tmp_path / f"saved{suffix}"
    target.write_bytes(b"precious")
    (tmp_path / "source.wav").write_bytes(b"cut off")
    before = {p.name for p in tmp_path.iterdir()}
    with pytest.raises(RecordingError, match="early"):
        export(sound, target)
    assert target.read_bytes() == b"precious"
    assert {p.name for p in tmp_path.iterdir()} == before
    sound.close()


def test_messages_name_the_file_that_was_asked_for(tmp_path: Path) -> None:
    sound = sound_of(tmp_path, 100)
    (tmp_path / "saved.wav").mkdir()
    with pytest.raises(RecordingError, match=r"saved\.wav"):
        export(sound, tmp_path / "saved.wav")
    sound.close()


def test_soundfile_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, app.desktop.history, app.desktop.export; sys.exit('soundfile' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Hello there.", "Hello there"),
        ("", "Speech"),
        ("...", "Speech"),
        ('a/b\\c:d*e?f"g<h>i|j', "a b c d e f g h i j"),
        ("one\ntwo\u2029three\x00four", "one two three four"),
        ("../../etc/passwd", "etc passwd"),
        ("nul", "nul speech"),
        ("COM1.txt", "COM1.txt speech"),
        ("word " * 40, ("word " * 16).strip()),
        ("字" * 200, "字" * 66),
        ("x" * 200, "x" * 80),
        ("می\u200cخواهم \u202eevil", "میخواهم evil"),
        ("\ud800 lone", "lone"),
    ],
)
def test_suggested_names(text: str, name: str) -> None:
    assert suggested_name(text) == name


@given(st.text())
def test_g5_suggested_names_are_safe_everywhere(text: str) -> None:
    name = suggested_name(text)
    assert 0 < len(name) <= 88
    assert len(f"{name}.flac".encode()) <= 255
    assert not set(name) & set('<>:"/\\|?*')
    assert all(c.isprintable() for c in name)
    assert name == name.strip(" ")
    assert not name.endswith(".")
