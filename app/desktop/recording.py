"""The sound of a reading: written as it is decoded, looked at and read again while it still grows.

Threads: one thread (the decode thread) writes, one (the event loop) reads and finishes. The counts a
reader goes by are moved after the data they count is in place, and what they count never changes again,
so reading takes no lock of the writer's. Writing and finishing exclude each other: finishing waits for
one write at most, and what comes after it is ignored.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.audio.wav import WavWriter
from app.desktop.peaks import GrowingPeaks, Peaks, load_peaks, peak_samples, peaks_of, save_peaks
from app.desktop.player_state import Sentence
from app.errors import RecordingError
from decoder.wire.events import Outcome

_HEADER_BYTES = 44
_READ_BYTES = 1_000_000
"""Read at once: more only costs the time of finding fresh memory for it."""
_BLOCK_PEAKS = 50_000
"""Peaks of a file are computed so many at a time: 1000 s of sound, 48 MB at 24 kHz."""

Pcm16 = NDArray[np.int16]


class Sound(Protocol):
    """Recorded samples, of which there may still be more to come."""

    @property
    def id(self) -> str:
        """What the history knows it by."""
        ...

    @property
    def rate_hz(self) -> int:
        """Samples per second."""
        ...

    @property
    def samples(self) -> int:
        """Samples that can be read."""
        ...

    def peaks(self) -> Peaks:
        """Return ``float32 [n]``, 0 to 1: the largest magnitude in each 20 ms that are complete.

        The last, shorter piece has its peak once no more samples will come. Nobody writes to the result.
        """
        ...

    def read(self, start: int, stop: int) -> Pcm16:
        """Return the samples from ``start`` up to ``stop``, or up to the last there is, ``int16 [samples]``.

        Full scale is 32768. Works on after the file was deleted. Raises RecordingError if the disk fails.
        """
        ...

    def close(self) -> None:
        """Let go of the file: reading raises RecordingError from now on; repeatable."""
        ...


class Recording:
    """A `Sound` that is being written, to a WAV file that is whole at every moment.

    After a failed write, what came before it can still be read, and further samples are ignored.
    """

    def __init__(
        self,
        path: Path,
        *,
        id: str,  # noqa: A002 - it is one
        rate_hz: int = 24_000,
        on_finish: Callable[[Recording, float | None, Outcome, tuple[Sentence, ...]], None],
    ) -> None:
        """Open the file; ``on_finish`` is called once, by ``finish``. Raises RecordingError if it cannot."""
        self.id = id
        self.path = path
        self.rate_hz = rate_hz
        self._on_finish = on_finish
        self._writer = WavWriter(path, rate_hz)
        try:
            self._reader = _SampleFile(path)
        except RecordingError:
            self._writer.close()
            raise
        self._peaks = GrowingPeaks(rate_hz)
        self._samples = 0
        self._finished = False
        self._writing = threading.Lock()

    @property
    def samples(self) -> int:
        """Samples that can be read."""
        return self._samples

    @property
    def duration_s(self) -> float:
        """The same in seconds."""
        return self._samples / self.rate_hz

    def write(self, pcm: NDArray[np.float32]) -> None:
        """Append ``float32 [samples]``, ±1; for the one thread that writes.

        Raises RecordingError once, if the disk is full, gone or the file has become too long.
        """
        with self._writing:
            if self._finished:
                return
            before = self._samples
            try:
                self._writer.write(pcm)
            finally:
                written = self._writer.samples
                self._peaks.add(pcm[: written - before])
                self._samples = written

    def finish(self, ttfa_s: float | None, outcome: Outcome, sentences: Sequence[Sentence] = ()) -> None:
        """Close the file for writing and hand it to the history; repeatable, the first call counts."""
        with self._writing:
            if self._finished:
                return
            self._finished = True
            self._writer.close()
            self._peaks.end()
        self._on_finish(self, ttfa_s, outcome, tuple(sentences))

    def peaks(self) -> Peaks:
        """Return the largest magnitude in each 20 ms, see `Sound.peaks`."""
        return self._peaks.so_far()

    def read(self, start: int, stop: int) -> Pcm16:
        """Return samples, see `Sound.read`."""
        return self._reader.read(start, min(stop, self._samples))

    def close(self) -> None:
        """Let go of the file, see `Sound.close`; a recording that was not finished ends here, untold."""
        with self._writing:
            self._finished = True
            self._writer.close()
        self._reader.close()


class StoredSound:
    """A `Sound` of which nothing more will come, in a file that `Recording` made."""

    def __init__(self, path: Path, *, id: str, rate_hz: int, peaks_path: Path) -> None:  # noqa: A002 - likewise
        """Open the file; ``peaks_path`` keeps its peaks. Raises RecordingError if it is not there."""
        self.id = id
        self.path = path
        self.rate_hz = rate_hz
        self._reader = _SampleFile(path)
        self._samples = self._reader.samples_in_file
        self._peaks_path = peaks_path
        self._peaks: Peaks | None = None

    @property
    def samples(self) -> int:
        """Samples that can be read."""
        return self._samples

    @property
    def duration_s(self) -> float:
        """The same in seconds."""
        return self._samples / self.rate_hz

    def peaks(self) -> Peaks:
        """Return the largest magnitude in each 20 ms, see `Sound.peaks`; computed once for each file."""
        if self._peaks is None:
            kept = load_peaks(self._peaks_path)
            wanted = -(-self._samples // peak_samples(self.rate_hz))
            if kept is None or len(kept) != wanted:
                kept = self._computed_peaks()
                save_peaks(self._peaks_path, kept)
            kept.setflags(write=False)
            self._peaks = kept
        return self._peaks

    def read(self, start: int, stop: int) -> Pcm16:
        """Return samples, see `Sound.read`."""
        return self._reader.read(start, min(stop, self._samples))

    def close(self) -> None:
        """Let go of the file, see `Sound.close`."""
        self._reader.close()

    def _computed_peaks(self) -> Peaks:
        block = _BLOCK_PEAKS * peak_samples(self.rate_hz)
        every = peak_samples(self.rate_hz)
        parts = [
            peaks_of(self.read(start, start + block) / np.float32(32768), every)
            for start in range(0, self._samples, block)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)


class _SampleFile:
    """Reads int16 samples through a descriptor of its own, which a renamed or deleted file leaves usable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise _unreadable(path, error) from error
        self._close = weakref.finalize(self, os.close, self._file)
        self._seeking = threading.Lock()

    @property
    def samples_in_file(self) -> int:
        return max(0, os.fstat(self._file).st_size - _HEADER_BYTES) // 2

    def read(self, start: int, stop: int) -> Pcm16:
        start = max(0, start)
        if stop <= start:
            return np.zeros(0, np.int16)
        data = bytearray((stop - start) * 2)
        if (length := self._fill(data, _HEADER_BYTES + start * 2)) < len(data):
            raise RecordingError(f"cannot read {self._path}: it ends {len(data) - length} bytes early")
        return np.frombuffer(data, "<i2").astype(np.int16, copy=False)

    def _fill(self, data: bytearray, offset: int) -> int:
        """Read into ``data``; how many bytes came."""
        if not self._close.alive:
            raise RecordingError(f"cannot read {self._path}: it was closed")
        length = 0
        try:
            with self._seeking:
                os.lseek(self._file, offset, os.SEEK_SET)
                while length < len(data) and (
                    piece := os.read(self._file, min(_READ_BYTES, len(data) - length))
                ):
                    data[length : length + len(piece)] = piece
                    length += len(piece)
        except OSError as error:
            raise _unreadable(self._path, error) from error
        return length

    def close(self) -> None:
        self._close()


def _unreadable(path: Path, error: OSError) -> RecordingError:
    if isinstance(error, FileNotFoundError):
        return RecordingError(f"cannot read {path}: it was deleted")
    return RecordingError(f"cannot read {path}: {error.strerror or error}")
