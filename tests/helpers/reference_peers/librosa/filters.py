"""Triangular mel filters as librosa makes them by default: Slaney's scale, each of the same area."""

from __future__ import annotations

import numpy as np

_LINEAR_HZ = 200.0 / 3.0
_BREAK_HZ = 1_000.0
_LOG_STEP = np.log(6.4) / 27.0


def _mel_of(hz: float) -> float:
    if hz < _BREAK_HZ:
        return hz / _LINEAR_HZ
    return _BREAK_HZ / _LINEAR_HZ + np.log(hz / _BREAK_HZ) / _LOG_STEP


def _hz_of(mel: np.ndarray) -> np.ndarray:
    at = _BREAK_HZ / _LINEAR_HZ
    return np.where(mel < at, mel * _LINEAR_HZ, _BREAK_HZ * np.exp(_LOG_STEP * (mel - at)))


def mel(*, sr: float, n_fft: int, n_mels: int, fmin: float, fmax: float | None = None) -> np.ndarray:
    """Return float32 ``[n_mels, n_fft // 2 + 1]``."""
    bins_hz = np.fft.rfftfreq(n_fft, 1.0 / sr)
    edges_hz = _hz_of(np.linspace(_mel_of(fmin), _mel_of(sr / 2 if fmax is None else fmax), n_mels + 2))
    widths_hz = np.diff(edges_hz)
    ramps = edges_hz[:, None] - bins_hz
    rising, falling = -ramps[:-2] / widths_hz[:-1, None], ramps[2:] / widths_hz[1:, None]
    filters = np.maximum(0.0, np.minimum(rising, falling))
    return (filters * (2.0 / (edges_hz[2:] - edges_hz[:-2]))[:, None]).astype(np.float32)
