"""What the demo codec transmits of a sound: a mel spectrum and the phase of the voice's fundamental, in numpy.

Per frame of 1920 samples (80 ms) two blocks of features:

* ``log_mel`` ``[bands, hops]``: 80 mel bands at 8 hops, each window centred on its hop;
* ``excitation`` ``[instants, partials, 2]``: at 16 instants the complex amplitudes of partials 2 to 5 of a voiced
  sound (recordings of a low voice are often high-passed above its fundamental). With them the decoder need not
  invent where the glottal pulses fall: it receives the strongest harmonics, sampled, and learns to grow the others.
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
MAGNITUDE_FLOOR = 0.02
"""Added to mel magnitudes before the logarithm: about 65 dB below a full voice, so silence costs no bits."""

INSTANTS_PER_FRAME = 16
PARTIALS = (2, 3, 4, 5)

_PITCH_RATE_HZ = 6000
_DECIMATION = SAMPLE_RATE_HZ // _PITCH_RATE_HZ
_PITCH_HOP = HOP_SAMPLES // _DECIMATION
_PITCH_WINDOW = 240
_MIN_LAG = 24
_MAX_LAG = 96
_PHASE_WINDOW = 240
_LAG_BIAS = 0.1
_JUMP_COST = 0.8
_ENERGY_FLOOR = 0.05**2
_PARTIAL_FLOOR = 0.005


def mel_filters(bands: int = BANDS, window_samples: int = WINDOW_SAMPLES, rate_hz: int = SAMPLE_RATE_HZ) -> Floats:
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


def log_mel(pcm: Floats) -> Floats:
    """Return ``[T, 80, 8]`` log mel magnitudes of whole frames of ``pcm``."""
    margin = (WINDOW_SAMPLES - HOP_SAMPLES) // 2
    windows = sliding_window_view(np.pad(pcm, margin), WINDOW_SAMPLES)[::HOP_SAMPLES]
    magnitudes = np.abs(np.fft.rfft(windows * _WINDOW, axis=1)).astype(np.float32)
    bands = np.log(magnitudes @ _FILTERS + MAGNITUDE_FLOOR)
    return bands.reshape(-1, HOPS_PER_FRAME, BANDS).transpose(0, 2, 1)


def excitation(pcm: Floats) -> Floats:
    """Return ``[T, 16, 4, 2]``: at 16 instants a frame, partials 2 to 5 as complex numbers, cosine part first.

    Their loudness is compressed to its square root, and unvoiced stretches fade to 0.
    """
    low = _decimated(pcm)
    pitch_hz, periodic = _pitch(low)
    count = 2 * pitch_hz.size
    at_hops = np.arange(count) * 0.5 - 0.25
    pitch_hz = np.interp(at_hops, np.arange(pitch_hz.size), pitch_hz)
    periodic = np.interp(at_hops, np.arange(periodic.size), periodic)
    partials = np.stack([_partial(low, number * pitch_hz) for number in PARTIALS], axis=1)
    voiced = np.clip((periodic - 0.35) / 0.3, 0.0, 1.0)
    loudness = np.sqrt((np.abs(partials) ** 2).sum(axis=1)) + _PARTIAL_FLOOR
    partials *= (voiced / np.sqrt(loudness))[:, None]
    points = np.stack([partials.real, partials.imag], axis=2).astype(np.float32)
    return points.reshape(-1, INSTANTS_PER_FRAME, len(PARTIALS), 2)


def _low_pass(cutoff_hz: float, taps: int) -> Floats:
    at = np.arange(taps) - (taps - 1) / 2
    kernel = np.sinc(2.0 * cutoff_hz / SAMPLE_RATE_HZ * at) * np.hamming(taps)
    return (kernel / kernel.sum()).astype(np.float32)


_DECIMATOR = _low_pass(2400.0, 97)


def _decimated(pcm: Floats) -> Floats:
    size = 1 << (pcm.size + _DECIMATOR.size).bit_length()
    full = np.fft.irfft(np.fft.rfft(pcm, size) * np.fft.rfft(_DECIMATOR, size), size)
    start = (_DECIMATOR.size - 1) // 2
    return full[start : start + pcm.size : _DECIMATION].astype(np.float32)


def _windows(low: Floats, length: int, hop: int, count: int) -> Floats:
    """Return ``[count, length]``, window k centred on the middle of hop k."""
    padded = np.pad(low, (length, length))
    return sliding_window_view(padded, length)[length + hop // 2 - length // 2 :: hop][:count]


def _pitch(low: Floats) -> tuple[Floats, Floats]:
    """Return pitch in Hz and normalised correlation, one of each per 10 ms: the best path through all lags."""
    hops = low.size // _PITCH_HOP
    segments = _windows(low, _PITCH_WINDOW + _MAX_LAG, _PITCH_HOP, hops)
    size = 512
    spectrum = np.conj(np.fft.rfft(segments[:, :_PITCH_WINDOW], size)) * np.fft.rfft(segments, size)
    products = np.fft.irfft(spectrum, size)[:, _MIN_LAG : _MAX_LAG + 1]
    lags = np.arange(_MIN_LAG, _MAX_LAG + 1)
    energy = np.concatenate([np.zeros((hops, 1)), np.cumsum(segments.astype(np.float64) ** 2, axis=1)], axis=1)
    energies = energy[:, _PITCH_WINDOW, None] * (energy[:, _PITCH_WINDOW + lags] - energy[:, lags])
    correlation = (products / np.sqrt(energies + _ENERGY_FLOOR**2)).astype(np.float32)
    logs = np.log(lags)
    score = correlation - _LAG_BIAS * (logs - logs[0]) / (logs[-1] - logs[0])
    penalty = _JUMP_COST * np.abs(logs[:, None] - logs[None, :])
    total = score[0]
    back = np.zeros((hops, lags.size), np.intp)
    columns = np.arange(lags.size)
    for hop in range(1, hops):
        reached = total[:, None] - penalty
        back[hop] = reached.argmax(axis=0)
        total = reached[back[hop], columns] + score[hop]
    path = np.zeros(hops, np.intp)
    path[-1] = total.argmax()
    for hop in range(hops - 1, 0, -1):
        path[hop - 1] = back[hop, path[hop]]
    rows = np.arange(hops)
    middle = np.clip(path, 1, lags.size - 2)
    before, peak, after = (correlation[rows, middle + step] for step in (-1, 0, 1))
    curvature = np.minimum(before - 2.0 * peak + after, -1e-6)
    exact = lags[middle] + np.clip(0.5 * (before - after) / curvature, -0.5, 0.5)
    return (_PITCH_RATE_HZ / exact).astype(np.float32), correlation[rows, path]


def _partial(low: Floats, frequency_hz: npt.NDArray[np.floating]) -> npt.NDArray[np.complex64]:
    """Return the complex amplitude of one partial at each instant (5 ms apart)."""
    windows = _windows(low, _PHASE_WINDOW, _PITCH_HOP // 2, frequency_hz.size)
    at = np.arange(_PHASE_WINDOW) - _PHASE_WINDOW // 2
    carrier = np.exp((-2j * np.pi / _PITCH_RATE_HZ) * frequency_hz[:, None] * at).astype(np.complex64)
    shape = np.hanning(_PHASE_WINDOW).astype(np.float32)
    amplitudes: npt.NDArray[np.complex64] = (windows * carrier) @ (shape * (2.0 / shape.sum()))
    return amplitudes
