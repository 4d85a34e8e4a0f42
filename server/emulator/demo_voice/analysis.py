"""What the demo codec transmits of a sound: a mel spectrum (and the excitation, see there), in numpy.

A frame of 1920 samples (80 ms) is a block of 80 mel bands at 8 hops, each window centred on its hop.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

Floats = npt.NDArray[np.float32]

SAMPLE_RATE_HZ = 24_000
FRAME_SAMPLES = 1920

BANDS = 80
HOP_SAMPLES = 240
HOPS_PER_FRAME = FRAME_SAMPLES // HOP_SAMPLES
WINDOW_SAMPLES = 1024
MARGIN_SAMPLES = (WINDOW_SAMPLES - HOP_SAMPLES) // 2
"""How far the windows of a frame reach into the sound before and behind it."""
MAGNITUDE_FLOOR = 0.02
"""Added to mel magnitudes before the logarithm: about 65 dB below a full voice, so silence costs no bits."""

_SERIAL_MULTIPLICATIONS = 250_000


def mel_filters(
    bands: int = BANDS, window_samples: int = WINDOW_SAMPLES, rate_hz: int = SAMPLE_RATE_HZ
) -> Floats:
    """Return HTK mel triangles of height 1 from 0 Hz to half the rate, ``[bins, bands]``."""
    top = 2595.0 * np.log10(1.0 + rate_hz / 2 / 700.0)
    edges = 700.0 * (10.0 ** (np.linspace(0.0, top, bands + 2) / 2595.0) - 1.0)
    hertz = np.linspace(0.0, rate_hz / 2, window_samples // 2 + 1)[:, None]
    rising = (hertz - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - hertz) / (edges[2:] - edges[1:-1])
    return np.maximum(0.0, np.minimum(rising, falling)).astype(np.float32)


_FILTERS = mel_filters()
_WINDOW = np.hanning(WINDOW_SAMPLES + 1)[:-1].astype(np.float32)


def whole_frames(pcm: Floats) -> Floats:
    """Return ``pcm`` filled up with silence to a whole number of frames."""
    return np.pad(pcm, (0, -pcm.size % FRAME_SAMPLES))


def product(rows: Floats, matrix: Floats) -> Floats:
    """Return ``rows @ matrix``, computed in tiles so small that BLAS does not start its threads.

    Beside a busy decoder those threads wait for each other longer than they compute: 0.4 s instead of 0.06 s
    for the first frames (2 cores, OpenBLAS, which goes parallel above 262,144 multiplications).
    """
    inner, columns = matrix.shape
    tile_rows = max(4, _SERIAL_MULTIPLICATIONS // (inner * columns))
    tile_columns = max(1, min(columns, _SERIAL_MULTIPLICATIONS // (inner * tile_rows)))
    out = np.empty((len(rows), columns), np.float32)
    for top in range(0, len(rows), tile_rows):
        for left in range(0, columns, tile_columns):
            part = rows[top : top + tile_rows] @ matrix[:, left : left + tile_columns]
            out[top : top + tile_rows, left : left + tile_columns] = part
    return out


def log_mel(pcm: Floats) -> Floats:
    """Return ``[T, 80, 8]`` log mel magnitudes of whole frames of ``pcm``."""
    windows = sliding_window_view(np.pad(pcm, MARGIN_SAMPLES), WINDOW_SAMPLES)[::HOP_SAMPLES]
    magnitudes = np.abs(np.fft.rfft(windows * _WINDOW, axis=1)).astype(np.float32)
    bands = np.log(product(magnitudes, _FILTERS) + MAGNITUDE_FLOOR)
    blocks: Floats = bands.reshape(-1, HOPS_PER_FRAME, BANDS).transpose(0, 2, 1)
    return blocks
