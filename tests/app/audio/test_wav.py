from __future__ import annotations

import os
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from app.audio.wav import WavWriter
from app.errors import RecordingError
from tests.app.audio.sources import ramp


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    pcm = np.random.default_rng(1).uniform(-1, 1, 10_000).astype(np.float32)
    with WavWriter(tmp_path / "a.wav") as wav:
        for start in range(0, len(pcm), 1920):
            wav.write(pcm[start : start + 1920])
        assert wav.samples == len(pcm)
    read, rate_hz = soundfile.read(tmp_path / "a.wav", dtype="float32")
    assert rate_hz == 24_000
    assert np.abs(read - pcm).max() <= 1 / 32768


def test_existing_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(b"x" * 10_000)
    with WavWriter(path) as wav:
        wav.write(ramp(10))
    assert path.stat().st_size == 44 + 20


_WRITES_FOR_EVER = """
import sys, numpy as np
from app.audio.wav import WavWriter
wav = WavWriter(sys.argv[1])
while True:
    wav.write(np.full(1920, 0.25, np.float32))
    print(wav.samples, flush=True)
"""


def test_h1_killed_in_mid_recording_the_file_opens_with_all_but_the_last_write(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    writer = subprocess.Popen([sys.executable, "-c", _WRITES_FOR_EVER, path], stdout=subprocess.PIPE)
    with writer:
        assert writer.stdout
        lines = [writer.stdout.readline() for _ in range(100)]
        writer.kill()
        lines += writer.stdout.readlines()
    written = max(int(line) for line in lines if line.endswith(b"\n"))
    read, _ = soundfile.read(path, dtype="float32")
    assert len(read) >= written
    assert (read == 0.25).all()


def test_h1_file_is_whole_after_every_write(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    with WavWriter(path) as wav:
        for count in range(1, 6):
            wav.write(ramp(100))
            assert soundfile.info(path).frames == 100 * count


def test_h2_samples_beyond_full_scale_are_cut_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    with WavWriter(path) as wav:
        wav.write(np.array([-np.inf, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, np.inf, np.nan], np.float32))
        assert wav.clipped_samples == 4
    read, _ = soundfile.read(path, dtype="int16")
    assert read.tolist() == [-32768, -32768, -32768, -16384, 0, 16384, 32767, 32767, 32767, 0]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 50), max_size=6))
def test_h3_riff_sizes_are_exact(tmp_path_factory: pytest.TempPathFactory, writes: list[int]) -> None:
    path = tmp_path_factory.mktemp("wav") / "a.wav"
    with WavWriter(path, 16_000) as wav:
        for samples in writes:
            wav.write(ramp(samples))
    if not sum(writes):
        assert not path.exists()
        return
    data = path.read_bytes()
    assert int.from_bytes(data[4:8], "little") == len(data) - 8
    assert int.from_bytes(data[40:44], "little") == len(data) - 44 == 2 * sum(writes)
    with wave.open(str(path)) as read:
        assert (read.getnframes(), read.getframerate(), read.getnchannels()) == (sum(writes), 16_000, 1)


def test_h4_file_that_would_grow_too_long_is_refused_once_and_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    wav = WavWriter(path, most_data_bytes=200)
    wav.write(ramp(60))
    with pytest.raises(RecordingError, match="4 GiB"):
        wav.write(ramp(60))
    wav.write(ramp(60))
    assert wav.failed
    assert soundfile.info(path).frames == 100


def test_h4_the_limit_itself_fits_the_header() -> None:
    from app.audio import wav

    assert wav._MOST_DATA_BYTES + 36 <= 0xFFFFFFFF < wav._MOST_DATA_BYTES + 36 + 2


def test_h5_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="folder does not exist") as caught:
        WavWriter(tmp_path / "no" / "a.wav")
    assert str(tmp_path / "no" / "a.wav") in str(caught.value)


def test_h5_folder_instead_of_a_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="is a folder"):
        WavWriter(tmp_path)


def test_h5_pipe_is_an_error_and_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RecordingError, match="is a pipe"):
        WavWriter(tmp_path / "pipe")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the full disk is Linux's")
def test_h5_full_disk_is_told_with_the_first_samples() -> None:
    with WavWriter("/dev/full") as wav, pytest.raises(RecordingError, match="disk is full"):
        wav.write(ramp(10))


def test_h5_disk_that_fills_up_is_told_once_and_the_file_stays_whole(tmp_path: Path) -> None:
    import resource

    path = tmp_path / "a.wav"
    wav = WavWriter(path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores the signal that comes with it, so writing beyond is an OSError like ENOSPC.
    resource.setrlimit(resource.RLIMIT_FSIZE, (2001, before[1]))
    try:
        wav.write(ramp(900))
        with pytest.raises(RecordingError, match="cannot record"):
            wav.write(ramp(900))
        wav.write(ramp(900))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    wav.close()
    assert wav.failed
    assert path.stat().st_size == 2000
    assert soundfile.info(path).frames == (2000 - 44) // 2


def test_nothing_written_leaves_everything_as_it_was(tmp_path: Path) -> None:
    WavWriter(tmp_path / "new.wav").close()
    assert not (tmp_path / "new.wav").exists()
    (tmp_path / "old.wav").write_bytes(b"an older recording")
    WavWriter(tmp_path / "old.wav").close()
    assert (tmp_path / "old.wav").read_bytes() == b"an older recording"


def test_an_older_and_longer_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "old.wav").write_bytes(b"x" * 10_000)
    with WavWriter(tmp_path / "old.wav") as wav:
        wav.write(ramp(10))
    assert (tmp_path / "old.wav").stat().st_size == 44 + 20
