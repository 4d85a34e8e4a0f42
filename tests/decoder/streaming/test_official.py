"""Equal to the official qwen-tts decoder with the same weights."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from decoder.streaming.backend import Backend, ModulesBackend
from decoder.streaming.checkpoint import load_checkpoint
from decoder.streaming.config import CodecConfig
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.random_weights import random_checkpoint, random_decoder
from decoder.streaming.rows_backend import RowsBackend
from tests.decoder.streaming.measure import FRAMES, PARITY_DB, snr_db, step_through
from tests.decoder.streaming.official import official_decoder, official_forward

VARIANTS = {
    "small": {},
    "grouped keys": {"num_key_value_heads": 2},
    "projection biases": {"attention_bias": True},
    "other rates": {"upsample_rates": (4, 3), "upsampling_ratios": (2,), "sliding_window": 9},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_equals_the_official_forward(variant: str, small_config: CodecConfig) -> None:
    """Whole, one frame at a time and in odd pieces: the official samples."""
    config = replace(small_config, **VARIANTS[variant])
    compare(random_decoder(config, seed=3), frames=FRAMES, cuts=[(1,), (7, 1, 73)])


def test_the_demo_checkpoint_speaks_alike_in_both(demo_folder: Path) -> None:
    """The demo voice is a checkpoint like any other."""
    compare(load_checkpoint(demo_folder), frames=80, cuts=[(1,), (25,)])


@pytest.mark.slow
def test_equals_the_official_forward_at_full_size(tmp_path: Path) -> None:
    """The published sizes, through a checkpoint file: 114 million random weights."""
    decoder = load_checkpoint(random_checkpoint(tmp_path, CodecConfig(), seed=1))
    compare(decoder, frames=FRAMES, cuts=[(1,), (4,), (25,), (73,), (12, 1, 72)])


def compare(decoder: Qwen3TTSTokenizerV2Decoder, frames: int, cuts: list[tuple[int, ...]]) -> None:
    config = decoder.config
    random = torch.Generator().manual_seed(5)
    codes = torch.randint(config.codebook_size, (frames, 16), generator=random)
    wanted = official_forward(official_decoder(config, decoder), codes)
    with torch.inference_mode():
        assert snr_db(wanted, decoder(codes)) >= PARITY_DB
    for backend in (ModulesBackend(decoder), RowsBackend(decoder)):
        for cut in cuts:
            state = backend.new_state()
            out = step_through(partial(step, backend, state), codes, cut, dim=0)
            parity_db = snr_db(wanted, out)
            print(f"{backend.name}, {frames} frames cut by {cut}: {parity_db:.1f} dB against the official")
            assert parity_db >= PARITY_DB


def step(backend: Backend, state: object, codes: torch.Tensor) -> torch.Tensor:
    return backend.step(codes, state)
