"""Where the glottal pulses of a voice fall: the phase of its fundamental, in numpy.

Spectra alone leave it to the decoder to invent a periodic sound, which a small one fails to do: it whispers.
So the codec transmits, beside the mel block, 16 points a frame ``v cos φ, v sin φ``: φ is the phase of the
fundamental and v the voicedness, 0 to 1. The decoder hands that sine on to every sampling rate it works at
(``training/carriers.py``) and learns to grow harmonics from it.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from server.emulator.demo_voice.analysis import HOP_SAMPLES, SAMPLE_RATE_HZ, Floats

INSTANTS_PER_FRAME = 16
INSTANT_SAMPLES = 120

REACH_SAMPLES = 720
"""How far the windows of an instant reach into the sound behind it, at most."""

_RATE_HZ = 6000
_DECIMATION = SAMPLE_RATE_HZ // _RATE_HZ
_HOP = HOP_SAMPLES // _DECIMATION
_PITCH_WINDOW = 240
_MIN_LAG, _MAX_LAG = 24, 96  # 250 to 62.5 Hz
_PARTIAL_WINDOW = 240
_PARTIALS = range(2, 11)
_PULSE_OFFSET_RAD = 0.89
"""Where this voice's pulses lie in the period that half the second partial tells; measured, a clear peak."""
_LAG_BIAS = 0.1
_JUMP_COST = 0.8
_ENERGY_FLOOR = 0.05**2
_VOICED = 0.5


def excitation(pcm: Floats) -> Floats:
    """Return ``[T, 16, 2]``: the voiced fundamental of whole frames of ``pcm``, points in the unit circle."""
    low = _decimated(pcm)
    pitch_hz, periodic = _pitch(low)
    count = 2 * pitch_hz.size
    at_hops = np.arange(count) * 0.5 - 0.25
    pitch_hz = np.interp(at_hops, np.arange(pitch_hz.size), pitch_hz)
    periodic = np.interp(at_hops, np.arange(periodic.size), periodic)
    partials = np.stack([_partial(low, number * pitch_hz) for number in _PARTIALS])
    phase = _fundamental_phase(partials, pitch_hz, periodic >= _VOICED)
    voiced = np.clip((periodic - 0.35) / 0.3, 0.0, 1.0)
    points = np.stack([voiced * np.cos(phase), voiced * np.sin(phase)], axis=1)
    return points.astype(np.float32).reshape(-1, INSTANTS_PER_FRAME, 2)


def continued(points: Floats, frame: int, last: Floats) -> Floats:
    """Return ``points`` ``[T, 16, 2]`` with the stretch around the end of ``frame`` turned like ``last``.

    Which half of the second partial's phase is the fundamental's is voted on once per voiced stretch. Where a
    sound arrives in pieces, a stretch that goes on must not change its mind: ``last`` ``[2]`` is the point
    that was sent for the last instant of ``frame``.
    """
    flat: Floats = points.reshape(-1, 2).copy()
    at = (frame + 1) * INSTANTS_PER_FRAME - 1
    if float(flat[at] @ last) < 0.0:
        silent = np.flatnonzero(~flat.any(axis=1))
        start = silent[silent < at].max(initial=-1) + 1
        end = silent[silent > at].min(initial=len(flat))
        flat[start:end] *= -1.0
    turned: Floats = flat.reshape(points.shape)
    return turned


def _low_pass(cutoff_hz: float, taps: int) -> Floats:
    at = np.arange(taps) - (taps - 1) / 2
    kernel = np.sinc(2.0 * cutoff_hz / SAMPLE_RATE_HZ * at) * np.hamming(taps)
    normalised: Floats = (kernel / kernel.sum()).astype(np.float32)
    return normalised


_DECIMATOR = _low_pass(2400.0, 97)


def _decimated(pcm: Floats) -> Floats:
    size = 1 << (pcm.size + _DECIMATOR.size).bit_length()
    full = np.fft.irfft(np.fft.rfft(pcm, size) * np.fft.rfft(_DECIMATOR, size), size)
    start = (_DECIMATOR.size - 1) // 2
    low: Floats = full[start : start + pcm.size : _DECIMATION].astype(np.float32)
    return low


def _windows(low: Floats, length: int, hop: int, count: int) -> Floats:
    """Return ``[count, length]``, window k centred on the middle of hop k."""
    padded = np.pad(low, (length, length))
    return sliding_window_view(padded, length)[length + hop // 2 - length // 2 :: hop][:count]


def _pitch(low: Floats) -> tuple[Floats, Floats]:
    """Return pitch in Hz and normalised correlation, one each per 10 ms: the best path through all lags."""
    hops = low.size // _HOP
    segments = _windows(low, _PITCH_WINDOW + _MAX_LAG, _HOP, hops)
    size = 512
    spectrum = np.conj(np.fft.rfft(segments[:, :_PITCH_WINDOW], size)) * np.fft.rfft(segments, size)
    products = np.fft.irfft(spectrum, size)[:, _MIN_LAG : _MAX_LAG + 1]
    lags = np.arange(_MIN_LAG, _MAX_LAG + 1)
    energy = np.concatenate(
        [np.zeros((hops, 1)), np.cumsum(segments.astype(np.float64) ** 2, axis=1)], axis=1
    )
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
    return (_RATE_HZ / exact).astype(np.float32), correlation[rows, path]


def _partial(low: Floats, frequency_hz: npt.NDArray[np.floating]) -> npt.NDArray[np.complex64]:
    """Return the complex amplitude of one partial at each instant (5 ms apart)."""
    windows = _windows(low, _PARTIAL_WINDOW, _HOP // 2, frequency_hz.size)
    at = np.arange(_PARTIAL_WINDOW) - _PARTIAL_WINDOW // 2
    carrier = np.exp((-2j * np.pi / _RATE_HZ) * frequency_hz[:, None] * at).astype(np.complex64)
    carrier *= np.hanning(_PARTIAL_WINDOW).astype(np.float32)
    amplitudes: npt.NDArray[np.complex64] = (windows * carrier).sum(axis=1)
    return amplitudes


def _fundamental_phase(
    partials: npt.NDArray[np.complex64], pitch_hz: npt.NDArray[np.floating], voiced: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Return the phase of the fundamental per instant; ``partials`` are the second and higher ones.

    Recordings are often high-passed above the fundamental of a low voice, so it is taken as half the phase of
    the second partial, followed through each voiced stretch. Which half is settled once per stretch: the
    phase differences of neighbouring partials, weighted by their strength, tell where the pulses lie.
    """
    half = np.angle(partials[0]) / 2.0
    expected = np.pi * (pitch_hz[1:] + pitch_hz[:-1]) * (INSTANT_SAMPLES / SAMPLE_RATE_HZ)
    steps = np.diff(half) - expected
    steps -= np.pi * np.round(steps / np.pi)
    phase: npt.NDArray[np.float64] = half[0] + np.concatenate([[0.0], np.cumsum(steps + expected)])
    pulses = (partials[1:] * np.conj(partials[:-1])).sum(axis=0)
    vote = np.abs(pulses) * np.cos(np.angle(pulses) - phase - _PULSE_OFFSET_RAD)
    changes = np.flatnonzero(np.diff(np.concatenate([[False], voiced]).astype(np.int8)))
    edges = np.concatenate([[0], changes, [phase.size]])
    for start, end in itertools.pairwise(edges):
        if vote[start:end].sum() < 0.0:
            phase[start:end] += np.pi
    return phase
