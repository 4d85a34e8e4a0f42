"""The residual quantiser against the greedy choice, and the one entry it must not use."""

from __future__ import annotations

import numpy as np
import pytest

from server.emulator.demo_voice.quantiser import ResidualQuantiser

WIDTH = 12


@pytest.fixture
def codebooks() -> np.ndarray:
    scales = 0.8 ** np.arange(16)[:, None, None]
    return (np.random.default_rng(1).normal(size=(16, 32, WIDTH)) * scales).astype(np.float32)


@pytest.fixture
def latents() -> np.ndarray:
    return np.random.default_rng(2).normal(0.0, 2.0, (40, WIDTH)).astype(np.float32)


def greedy_sums(codebooks, latents):
    residual = latents.copy()
    for index, codebook in enumerate(codebooks):
        distance = ((residual[:, None] - codebook) ** 2).sum(axis=2)
        if index == 0:
            distance[:, 0] = np.inf
        residual -= codebook[distance.argmin(axis=1)]
    return latents - residual


def test_codes_are_int16_rows_of_sixteen(codebooks, latents):
    codes = ResidualQuantiser(codebooks).codes(latents)
    assert codes.shape == (40, 16)
    assert codes.dtype == np.int16
    assert codes.min() >= 0
    assert codes.max() < 32


def test_sums_come_nearer_than_the_greedy_choice(codebooks, latents):
    quantiser = ResidualQuantiser(codebooks)
    ours = quantiser.latents(quantiser.codes(latents))
    greedy = greedy_sums(codebooks, latents)
    assert ((ours - latents) ** 2).sum() < ((greedy - latents) ** 2).sum()


def test_the_first_entry_of_the_first_codebook_is_never_chosen(codebooks):
    quantiser = ResidualQuantiser(codebooks)
    exactly_that = np.repeat(codebooks[0, :1], 5, axis=0)
    assert (quantiser.codes(exactly_that)[:, 0] != 0).all()


def test_a_frame_does_not_depend_on_its_neighbours(codebooks, latents):
    quantiser = ResidualQuantiser(codebooks)
    together = quantiser.codes(latents)
    alone = np.concatenate([quantiser.codes(latents[at : at + 1]) for at in range(len(latents))])
    np.testing.assert_array_equal(together, alone)


def test_no_frames_give_no_codes(codebooks):
    assert ResidualQuantiser(codebooks).codes(np.zeros((0, WIDTH), np.float32)).shape == (0, 16)
