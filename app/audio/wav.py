"""Sound files that are whole at every moment: killed in mid-recording, they still open."""

from __future__ import annotations

import errno
import os
import stat
import struct
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from app.errors import RecordingError

_HEADER_BYTES = 44
# RIFF counts bytes in 32 bits, and its count includes all of the header but its first 8 bytes.
_MOST_DATA_BYTES = (0xFFFFFFFF - (_HEADER_BYTES - 8)) // 2 * 2


def int16_bytes(pcm: NDArray[np.float32]) -> bytes:
    """Return ``float32 [samples]`` as little-endian int16; beyond ±1 is cut, NaN is silence."""
    pcm = np.nan_to_num(np.asarray(pcm, np.float32), nan=0.0, posinf=2.0, neginf=-2.0)
    # Readers divide by 32768: the same factor here, so that what is read equals what was written.
    data: bytes = np.clip(np.rint(pcm * 32768.0), -32768, 32767).astype("<i2").tobytes()
    return data


def wav_header(rate_hz: int, data_bytes: int | None) -> bytes:
    """Return the header of a 16-bit mono file; ``None`` is a length that nobody knows yet, as in a stream."""
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF",
        0xFFFFFFFF if data_bytes is None else _HEADER_BYTES - 8 + data_bytes,
        b"WAVE",
        b"fmt ",
        16,
        1,  # PCM
        1,  # channel
        rate_hz,
        rate_hz * 2,
        2,
        16,
        b"data",
        0xFFFFFFFF if data_bytes is None else data_bytes,
    )


class WavWriter:
    """A 16-bit mono WAV file, written in place.

    Every `write` appends the samples, then brings the header up to date, so whatever ends the
    process leaves a file that lacks one write at most. An existing file is replaced by the first
    write and not before; a recording without a sample leaves no new file. After a RecordingError the
    writer ignores further samples: tell the user once and play on.
    """

    def __init__(
        self, path: str | os.PathLike[str], rate_hz: int = 24_000, *, most_data_bytes: int = _MOST_DATA_BYTES
    ) -> None:
        """Open the file for writing. Raises RecordingError if that is not possible."""
        self.path = Path(path)
        self.rate_hz = rate_hz
        self._most_data_bytes = most_data_bytes
        self._data_bytes = 0
        self._clipped_samples = 0
        self._file: int | None = None
        try:
            if self.path.exists() and stat.S_ISFIFO(self.path.stat().st_mode):
                # Opening it would block, and the header could not be brought up to date.
                raise RecordingError(f"cannot record to {self.path}: it is a pipe; name a file")
            self._is_new = not self.path.exists()
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | _O_BINARY, 0o666)
        except OSError as error:
            raise self._failed(error) from error

    @property
    def samples(self) -> int:
        """Samples in the file."""
        return self._data_bytes // 2

    @property
    def clipped_samples(self) -> int:
        """Samples that were beyond ±1, or infinite, and had to be cut."""
        return self._clipped_samples

    @property
    def failed(self) -> bool:
        """Whether a RecordingError was raised (or the file closed): samples are ignored now."""
        return self._file is None

    def write(self, pcm: NDArray[np.float32]) -> None:
        """Append ``float32 [samples]``: ±1 is full scale, beyond is cut, NaN is silence.

        Raises RecordingError once, if the disk is full, gone or the file has become too long.
        """
        if self._file is None or not len(pcm):
            return
        self._clipped_samples += int(np.count_nonzero(np.abs(np.nan_to_num(pcm, nan=0.0)) > 1.0))
        data = int16_bytes(pcm)
        fits = data[: max(0, self._most_data_bytes - self._data_bytes)]
        try:
            self._append(fits)
        except OSError as error:
            raise self._failed(error) from error
        if len(fits) < len(data):
            self.close()
            raise RecordingError(
                f"stopped recording to {self.path}: a WAV file cannot grow beyond 4 GiB; what is in it is "
                "whole, name another file for the rest"
            )

    def close(self) -> None:
        """Close the file; repeatable."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)
            if self._is_new and not self._data_bytes:
                self.path.unlink(missing_ok=True)

    def __enter__(self) -> WavWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _append(self, data: bytes) -> None:
        assert self._file is not None
        if not self._data_bytes:
            self._write_all(self._header())
            os.ftruncate(self._file, _HEADER_BYTES)
        end = _HEADER_BYTES + self._data_bytes
        # The header's first bytes stay, only its two sizes change: there is no moment without one.
        os.lseek(self._file, end, os.SEEK_SET)
        try:
            self._write_all(data)
        except OSError:
            self._data_bytes = (os.fstat(self._file).st_size - _HEADER_BYTES) // 2 * 2
            os.ftruncate(self._file, _HEADER_BYTES + self._data_bytes)
            self._write_sizes()
            raise
        self._data_bytes += len(data)
        self._write_sizes()

    def _write_sizes(self) -> None:
        assert self._file is not None
        header = self._header()
        for offset in (4, 40):
            os.lseek(self._file, offset, os.SEEK_SET)
            self._write_all(header[offset : offset + 4])

    def _write_all(self, data: bytes) -> None:
        assert self._file is not None
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def _header(self) -> bytes:
        return wav_header(self.rate_hz, self._data_bytes)

    def _failed(self, error: OSError) -> RecordingError:
        try:
            self.close()
        except OSError:
            # Closing may report the same full disk again.
            self._file = None
        reasons = {
            errno.ENOENT: "its folder does not exist; create it or name another",
            errno.EISDIR: "it is a folder; name a file in it",
            errno.EACCES: "permission denied; name a file in a folder you may write to",
            errno.EROFS: "the disk is read-only; name a file elsewhere",
            errno.ENOSPC: "the disk is full; free some space",
        }
        reason = reasons.get(error.errno or 0, error.strerror or str(error))
        return RecordingError(f"cannot record to {self.path}: {reason}")


# Windows would otherwise turn every byte 10 into two.
_O_BINARY: int = getattr(os, "O_BINARY", 0)
