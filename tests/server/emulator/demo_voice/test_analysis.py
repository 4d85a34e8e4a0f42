"""The analysis of sound: shapes, and what the mel block says about known sounds."""

from __future__ import annotations

import numpy as np
import pytest

from server.emulator.demo_voice import analysis
from server.emulator.demo_voice.analysis import BANDS, FRAME_SAMPLES, HOP_SAMPLES, HOPS_PER_FRAME


def tone(hertz: float, frames: int) -> np.ndarray:
    at_s = np.arange(frames * FRAME_SAMPLES) / 24_000
    return (0.2 * np.cos(2 * np.pi * hertz * at_s)).astype(np.float32)


def test_a_frame_is_a_block_of_bands_and_hops():
    assert analysis.log_mel(tone(440.0, 3)).shape == (3, BANDS, HOPS_PER_FRAME)


@pytest.mark.parametrize("samples", [1, 1919, 1920, 1921])
def test_sound_is_filled_up_to_whole_frames(samples):
    pcm = analysis.whole_frames(np.ones(samples, np.float32))
    assert pcm.size == -(-samples // FRAME_SAMPLES) * FRAME_SAMPLES
    assert pcm.sum() == samples


def test_silence_is_the_floor_in_every_band():
    silence = np.zeros(4 * FRAME_SAMPLES, np.float32)
    np.testing.assert_allclose(analysis.log_mel(silence), np.log(analysis.MAGNITUDE_FLOOR), rtol=1e-5)


@pytest.mark.parametrize("hertz", [150.0, 1000.0, 6000.0])
def test_a_tone_is_loudest_in_the_band_around_it(hertz):
    block = analysis.log_mel(tone(hertz, 5))[2]
    centres = analysis.mel_filters().argmax(axis=0) * 24_000 / 1024
    loudest = centres[block.argmax(axis=0)]
    assert np.abs(loudest / hertz - 1.0).max() < 0.2


def test_a_hop_is_seen_around_its_middle():
    pcm = np.zeros(3 * FRAME_SAMPLES, np.float32)
    pcm[FRAME_SAMPLES + 4 * HOP_SAMPLES + HOP_SAMPLES // 2] = 1.0
    loudness = analysis.log_mel(pcm)[1].mean(axis=0)
    assert loudness.argmax() == 4
    np.testing.assert_allclose(loudness[3], loudness[5], rtol=0.01)


@pytest.mark.parametrize("shape", [(1, 5, 7), (9, 120, 1024), (40, 513, 80), (3, 640, 72)])
def test_product_in_tiles_is_the_product(shape):
    rows, inner, columns = shape
    rng = np.random.default_rng(2)
    left, right = (
        rng.normal(size=(rows, inner)).astype(np.float32),
        rng.normal(size=(inner, columns)).astype(np.float32),
    )
    np.testing.assert_allclose(analysis.product(left, right), left @ right, rtol=1e-4, atol=1e-4)
