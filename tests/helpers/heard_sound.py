"""What a client makes of the bytes of a sound file, and how like another sound that is."""

from __future__ import annotations

import io

import numpy as np
import soundfile
from numpy.typing import NDArray

_MOST_LAG = 4000
_MOST_SAMPLES = 24_000 * 600


class _Stream(soundfile.SoundFile):  # type: ignore[misc]  # the library ships no types
    """Read from front to end, as players read what has no length in its header yet."""

    def seekable(self) -> bool:
        return False


def decoded(name: str, data: bytes) -> NDArray[np.int16]:
    """Decode a whole stream of a format's name to int16 samples."""
    if name == "pcm":
        return np.frombuffer(data, "<i2")
    with _Stream(io.BytesIO(data)) as file:
        assert (file.samplerate, file.channels) == (24_000, 1)
        return np.asarray(file.read(_MOST_SAMPLES, dtype="int16"))


def snr_db(heard: NDArray[np.int16], expected: NDArray[np.int16]) -> float:
    """Return by how much a sound is louder than its difference to another of the same length."""
    assert len(heard) == len(expected)
    signal, noise = expected.astype(np.float64), heard.astype(np.float64) - expected
    return float(10 * np.log10((signal @ signal) / max(noise @ noise, 1e-9)))


def likeness(heard: NDArray[np.int16], pcm: NDArray[np.float32]) -> float:
    """Return the correlation of two sounds, the first of which may be up to a sixth of a second late."""
    ours, theirs = heard.astype(np.float64), pcm.astype(np.float64)
    size = 1 << (len(ours) + len(theirs)).bit_length()
    products = np.fft.irfft(np.fft.rfft(ours, size) * np.conj(np.fft.rfft(theirs, size)), size)
    lag = int(np.argmax(products[:_MOST_LAG]))
    ours = ours[lag : lag + len(theirs)]
    theirs = theirs[: len(ours)]
    return float(ours @ theirs / np.sqrt((ours @ ours) * (theirs @ theirs)))
