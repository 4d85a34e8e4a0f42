"""The encoder of the demo codec: shapes, determinism, placeholders, and streaming."""

from __future__ import annotations

import numpy as np
import pytest

from server.emulator.demo_voice import DemoEncoder


@pytest.fixture(scope="module")
def encoder() -> DemoEncoder:
    return DemoEncoder()


@pytest.fixture(scope="module")
def sound() -> np.ndarray:
    """Two seconds that rise, fall and rustle, not a whole number of frames."""
    rng = np.random.default_rng(7)
    at_s = np.arange(48_123) / 24_000
    phase = 2 * np.pi * np.cumsum(100 + 20 * np.sin(2 * at_s)) / 24_000
    tone = sum(0.2 / k * np.cos(k * phase) for k in range(1, 12))
    swell = 0.5 + 0.5 * np.sin(9 * at_s)
    return (tone * swell + rng.normal(0.0, 0.01, at_s.size)).astype(np.float32)


@pytest.mark.parametrize(
    ("samples", "frames"), [(0, 0), (1, 1), (1919, 1), (1920, 1), (1921, 2), (24_000, 13)]
)
def test_every_begun_frame_is_encoded(encoder, samples, frames):
    codes = encoder.encode(np.zeros(samples, np.float32))
    assert codes.shape == (frames, 16)
    assert codes.dtype == np.int16


def test_the_same_sound_gives_the_same_codes(encoder, sound):
    np.testing.assert_array_equal(encoder.encode(sound), DemoEncoder().encode(sound))


def test_codes_fit_the_codebooks_and_never_read_as_a_placeholder(encoder, sound):
    loud = np.random.default_rng(3).uniform(-1, 1, 96_000).astype(np.float32)
    for pcm in (sound, loud, np.zeros(96_000, np.float32)):
        codes = encoder.encode(pcm)
        assert codes.min() >= 0
        assert codes.max() < 1024
        assert (codes[:, 0] != 0).all()


def test_codes_stand_for_nearly_the_same_latents(encoder, sound):
    wanted = encoder.latents(sound)
    kept = encoder.quantiser.latents(encoder.encode(sound))
    assert ((kept - wanted) ** 2).sum() < 0.1 * (wanted**2).sum()


@pytest.mark.parametrize("piece_samples", [500, 1920, 7001])
def test_a_sound_in_pieces_is_encoded_like_the_whole(encoder, sound, piece_samples):
    stream = encoder.stream()
    parts = [stream.push(sound[at : at + piece_samples]) for at in range(0, sound.size, piece_samples)]
    codes = np.concatenate([*parts, stream.finish(np.zeros(0, np.float32))])
    whole = encoder.encode(sound)
    assert codes.shape == whole.shape
    assert (codes == whole).all(axis=1).mean() > 0.9
