"""The phase of the fundamental, seen in sounds whose phase is known."""

from __future__ import annotations

import numpy as np
import pytest

from server.emulator.demo_voice.analysis import FRAME_SAMPLES
from server.emulator.demo_voice.excitation import INSTANT_SAMPLES, INSTANTS_PER_FRAME, continued, excitation

FRAMES = 12


def pulses(pitch_hz: float, *, glide_hz_per_s: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Partials 2 to 12 of a low voice whose fundamental was filtered away, and the phase of each sample."""
    at_s = np.arange(FRAMES * FRAME_SAMPLES) / 24_000
    phase = 2 * np.pi * (pitch_hz * at_s + glide_hz_per_s * at_s**2 / 2)
    pcm = sum(0.1 / k * np.cos(k * phase) for k in range(2, 13))
    return pcm.astype(np.float32), phase


def seen_phase(points: np.ndarray) -> np.ndarray:
    flat = points.reshape(-1, 2)
    return np.arctan2(flat[:, 1], flat[:, 0])


@pytest.mark.parametrize("pitch_hz", [80.0, 113.0, 170.0])
@pytest.mark.parametrize("glide_hz_per_s", [0.0, 25.0])
def test_the_phase_of_the_missing_fundamental_is_followed(pitch_hz, glide_hz_per_s):
    pcm, phase = pulses(pitch_hz, glide_hz_per_s=glide_hz_per_s)
    points = excitation(pcm)
    assert points.shape == (FRAMES, INSTANTS_PER_FRAME, 2)
    inner = slice(INSTANTS_PER_FRAME, -INSTANTS_PER_FRAME)
    middles = np.arange(INSTANT_SAMPLES // 2, pcm.size, INSTANT_SAMPLES)
    error = (seen_phase(points) - phase[middles])[inner]
    assert np.abs(np.angle(np.exp(1j * error))).max() < 0.1
    assert np.hypot(*points.reshape(-1, 2)[inner].T).min() > 0.95


def test_silence_is_not_voiced():
    assert not excitation(np.zeros(FRAMES * FRAME_SAMPLES, np.float32)).any()


def test_noise_is_hardly_voiced():
    noise = np.random.default_rng(1).normal(0.0, 0.05, FRAMES * FRAME_SAMPLES).astype(np.float32)
    assert np.hypot(*excitation(noise).reshape(-1, 2).T).mean() < 0.15


def test_a_stretch_that_goes_on_keeps_its_sign():
    points = excitation(pulses(100.0)[0])
    np.testing.assert_array_equal(continued(points, 3, points[3, -1]), points)
    np.testing.assert_array_equal(continued(points, 3, -points[3, -1]), -points)


def test_a_stretch_elsewhere_is_left_alone():
    points = np.zeros((4, INSTANTS_PER_FRAME, 2), np.float32)
    points[0, :, 0] = 1.0
    points[2, :, 0] = 1.0
    turned = continued(points, 0, np.array([-1.0, 0.0], np.float32))
    assert (turned[0, :, 0] == -1.0).all()
    assert (turned[2, :, 0] == 1.0).all()
