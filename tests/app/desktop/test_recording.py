from __future__ import annotations

import contextlib
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.audio.wav import WavWriter
from app.desktop.player_state import Sentence
from app.desktop.recording import Recording, StoredSound
from app.errors import RecordingError
from decoder.wire.events import Outcome

PEAK = 480


class Told(list[tuple[float | None, Outcome, tuple[Sentence, ...]]]):
    """What recordings said when they were finished."""

    def __call__(
        self, recording: Recording, ttfa_s: float | None, outcome: Outcome, sentences: tuple[Sentence, ...]
    ) -> None:
        self.append((ttfa_s, outcome, sentences))


def new_recording(folder: Path, told: Told | None = None) -> Recording:
    return Recording(folder / "a.wav", id="a", on_finish=told if told is not None else Told())


def stored(folder: Path) -> StoredSound:
    return StoredSound(folder / "a.wav", id="a", rate_hz=24_000, peaks_path=folder / "a.npy")


def noise(samples: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, samples).astype(np.float32)


def peaks_of(pcm: np.ndarray) -> list[float]:
    return [float(np.abs(pcm[i : i + PEAK]).max()) for i in range(0, len(pcm), PEAK)]


def test_what_is_written_can_be_read_while_it_grows(tmp_path: Path) -> None:
    recording, pcm = new_recording(tmp_path), noise(4000)
    recording.write(pcm[:1000])
    assert recording.samples == 1000
    recording.write(pcm[1000:])
    expected = np.clip(np.rint(pcm * 32768), -32768, 32767).astype(np.int16)
    assert (recording.read(0, 4000) == expected).all()
    assert (recording.read(990, 1010) == expected[990:1010]).all()
    assert recording.read(10, 20).dtype == np.int16
    recording.close()


def test_reading_is_bounded_by_what_there_is(tmp_path: Path) -> None:
    recording = new_recording(tmp_path)
    recording.write(noise(100))
    assert len(recording.read(90, 1000)) == 10
    assert len(recording.read(100, 200)) == 0
    assert len(recording.read(-5, 3)) == 3
    assert len(recording.read(7, 3)) == 0
    recording.close()


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(0, 3000), max_size=12))
def test_peaks_do_not_depend_on_how_the_sound_is_cut(
    sizes: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    recording, pcm = new_recording(tmp_path_factory.mktemp("peaks")), noise(sum(sizes))
    start = 0
    for size in sizes:
        recording.write(pcm[start : start + size])
        start += size
        whole = start // PEAK * PEAK
        assert recording.peaks().tolist() == peaks_of(pcm[:whole])
    recording.finish(None, Outcome.COMPLETE)
    assert recording.peaks().tolist() == peaks_of(pcm)
    recording.close()


def test_peaks_once_handed_out_stay_as_they_are(tmp_path: Path) -> None:
    recording = new_recording(tmp_path)
    recording.write(noise(10 * PEAK))
    before = recording.peaks()
    copy = before.copy()
    recording.write(noise(2000 * PEAK, seed=2))
    assert (before == copy).all()
    with pytest.raises(ValueError, match="read-only"):
        before[0] = 0.0
    recording.close()


def test_peaks_of_impossible_samples_are_within_full_scale(tmp_path: Path) -> None:
    recording = new_recording(tmp_path)
    recording.write(np.array([np.nan, np.inf, -3.0] * PEAK, np.float32))
    assert recording.peaks().tolist() == [1.0, 1.0, 1.0]
    recording.close()


def test_a_reader_in_another_thread_never_sees_what_is_not_there(tmp_path: Path) -> None:
    recording, pcm = new_recording(tmp_path), noise(200 * PEAK)
    expected = np.clip(np.rint(pcm * 32768), -32768, 32767).astype(np.int16)
    expected_peaks = np.array(peaks_of(pcm), np.float32)

    def write() -> None:
        for start in range(0, len(pcm), 700):
            recording.write(pcm[start : start + 700])

    writer = threading.Thread(target=write)
    writer.start()
    looks = 0
    while writer.is_alive() or not looks:
        peaks, samples = recording.peaks(), recording.samples
        assert (peaks == expected_peaks[: len(peaks)]).all()
        start = max(0, samples - 5000)
        assert (recording.read(start, samples) == expected[start:samples]).all()
        looks += 1
    writer.join()
    assert recording.samples == len(pcm)
    recording.close()


def test_finishing_is_told_once_and_ends_the_writing(tmp_path: Path) -> None:
    told = Told()
    recording = new_recording(tmp_path, told)
    recording.write(noise(100))
    recording.finish(0.25, Outcome.COMPLETE, [Sentence(0, 5, 0.0)])
    recording.finish(None, Outcome.FAILED)
    recording.write(noise(100))
    assert recording.samples == 100
    assert len(recording.read(0, 1000)) == 100
    assert told == [(0.25, Outcome.COMPLETE, (Sentence(0, 5, 0.0),))]
    recording.close()


@contextlib.contextmanager
def files_no_longer_than(length_bytes: int) -> Iterator[None]:
    """Let the system refuse to make a file longer, as a full disk would."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_h5_what_was_written_before_the_disk_was_full_can_be_read(tmp_path: Path) -> None:
    recording, pcm = new_recording(tmp_path), noise(1500)
    recording.write(pcm[:700])
    with files_no_longer_than(44 + 2000), pytest.raises(RecordingError, match=r"a\.wav"):
        recording.write(pcm[700:])
    recording.write(pcm)  # told once, then ignored
    recording.finish(None, Outcome.COMPLETE)
    assert recording.samples == 1000
    assert len(recording.read(0, 9999)) == 1000
    assert recording.peaks().tolist() == peaks_of(pcm[:1000])
    recording.close()


def test_reading_works_on_after_the_file_was_deleted(tmp_path: Path) -> None:
    recording = new_recording(tmp_path)
    recording.write(noise(100))
    recording.path.unlink()
    assert len(recording.read(0, 100)) == 100
    recording.close()


def test_closed_sound_says_so(tmp_path: Path) -> None:
    recording = new_recording(tmp_path)
    recording.write(noise(100))
    recording.close()
    recording.close()
    with pytest.raises(RecordingError, match="closed"):
        recording.read(0, 10)


def test_an_unwritable_place_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="folder does not exist"):
        new_recording(tmp_path / "nowhere")


def test_stored_sound_is_what_was_recorded(tmp_path: Path) -> None:
    recording = new_recording(tmp_path)
    recording.write(noise(1000))
    recording.finish(None, Outcome.COMPLETE)
    sound = stored(tmp_path)
    assert sound.samples == 1000
    assert sound.duration_s == pytest.approx(1000 / 24_000)
    assert (sound.read(0, 2000) == recording.read(0, 1000)).all()
    assert sound.peaks() == pytest.approx(recording.peaks(), abs=1e-4)
    sound.close()
    recording.close()


def test_peaks_of_a_file_are_computed_once(tmp_path: Path) -> None:
    with WavWriter(tmp_path / "a.wav") as wav:
        wav.write(noise(5 * PEAK))
    first = stored(tmp_path)
    assert len(first.peaks()) == 5
    first.close()
    again = stored(tmp_path)
    kept = np.full(5, 0.125, np.float32)
    np.save(tmp_path / "a.npy", kept)
    assert again.peaks().tolist() == kept.tolist()
    again.close()


@pytest.mark.parametrize("kept", [b"", b"rubbish", b"\x93NUMPY\x01\x00"])
def test_peaks_that_were_kept_badly_are_computed_again(tmp_path: Path, kept: bytes) -> None:
    pcm = noise(5 * PEAK)
    with WavWriter(tmp_path / "a.wav") as wav:
        wav.write(pcm)
    (tmp_path / "a.npy").write_bytes(kept)
    sound = stored(tmp_path)
    assert sound.peaks() == pytest.approx(np.array(peaks_of(pcm)), abs=1e-4)
    sound.close()


def test_peaks_of_another_length_are_computed_again(tmp_path: Path) -> None:
    with WavWriter(tmp_path / "a.wav") as wav:
        wav.write(noise(5 * PEAK + 1))
    np.save(tmp_path / "a.npy", np.zeros(4, np.float32))
    sound = stored(tmp_path)
    assert len(sound.peaks()) == 6
    sound.close()


def test_stored_sound_that_is_gone_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="deleted"):
        stored(tmp_path)


def test_file_that_was_cut_off_while_open_is_an_error_not_noise(tmp_path: Path) -> None:
    with WavWriter(tmp_path / "a.wav") as wav:
        wav.write(noise(1000))
    sound = stored(tmp_path)
    with (tmp_path / "a.wav").open("r+b") as file:
        file.truncate(44 + 500)
    with pytest.raises(RecordingError, match="ends 1500 bytes early"):
        sound.read(0, 1000)
    sound.close()
