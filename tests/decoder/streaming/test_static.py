"""Static steps equal the decoder, for every row of a batch, at any position."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from decoder.streaming.config import CodecConfig
from decoder.streaming.qwen3_tts import Qwen3TTSTokenizerV2Decoder
from decoder.streaming.random_weights import random_decoder
from decoder.streaming.static import StaticStep
from tests.decoder.streaming.measure import CUTS, FRAMES, PARITY_DB, snr_db, step_through


def codes_of(decoder: Qwen3TTSTokenizerV2Decoder, random: torch.Generator, *shape: int) -> torch.Tensor:
    return torch.randint(decoder.config.codebook_size, (*shape, 16), generator=random)


def whole(decoder: Qwen3TTSTokenizerV2Decoder, codes: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return decoder(codes)


@pytest.mark.parametrize("cut", CUTS)
def test_steps_equal_the_whole(
    cut: str, small_decoder: Qwen3TTSTokenizerV2Decoder, random: torch.Generator
) -> None:
    codes = codes_of(small_decoder, random, FRAMES)
    step = StaticStep(small_decoder)
    state = step.new_state()
    out = step_through(lambda piece: step(piece[None], state)[0], codes, CUTS[cut], dim=0)
    assert snr_db(whole(small_decoder, codes), out) >= PARITY_DB


@pytest.mark.parametrize(
    "change",
    [
        {"num_key_value_heads": 2},
        {"attention_bias": True},
        {"upsample_rates": (4, 3), "upsampling_ratios": (2,), "sliding_window": 9},
    ],
)
def test_every_size_comes_from_the_config(
    change: dict[str, object], small_config: CodecConfig, random: torch.Generator
) -> None:
    decoder = random_decoder(replace(small_config, **change), seed=3)  # type: ignore[arg-type]
    codes = codes_of(decoder, random, 100)
    step = StaticStep(decoder)
    state = step.new_state()
    out = step_through(lambda piece: step(piece[None], state)[0], codes, (1, 7, 40), dim=0)
    assert snr_db(whole(decoder, codes), out) >= PARITY_DB


def test_rows_are_utterances_with_positions_of_their_own(
    small_decoder: Qwen3TTSTokenizerV2Decoder, random: torch.Generator
) -> None:
    """One row is 80 frames ahead of the other, and neither hears of it."""
    codes = codes_of(small_decoder, random, 2, 120)
    step = StaticStep(small_decoder)
    state = step.new_state(2)
    ahead = step.state_of(state.carried[:1], state.position[:1])
    first = step(codes[:1, :80], ahead)
    assert state.position.tolist() == [80, 0]
    both = step(torch.stack((codes[0, 80:], codes[1, :40])), state)
    assert snr_db(whole(small_decoder, codes[0]), torch.cat((first[0], both[0]))) >= PARITY_DB
    assert snr_db(whole(small_decoder, codes[1, :40]), both[1]) >= PARITY_DB


def test_nothing_moves(small_decoder: Qwen3TTSTokenizerV2Decoder, random: torch.Generator) -> None:
    """A captured graph writes to the addresses that it was captured with."""
    step = StaticStep(small_decoder)
    state = step.new_state()
    addresses = [part.data_ptr() for part in state.parts]
    step(codes_of(small_decoder, random, 1, 3), state)
    assert [part.data_ptr() for part in state.parts] == addresses
    assert all(part.untyped_storage().data_ptr() == state.carried.data_ptr() for part in state.parts)
    assert state.nbytes == state.carried.nbytes + 8


@pytest.mark.parametrize(("dtype", "floor_db"), [(torch.float16, 40.0), (torch.bfloat16, 20.0)])
def test_reduced_products_stay_close(
    dtype: torch.dtype,
    floor_db: float,
    small_decoder: Qwen3TTSTokenizerV2Decoder,
    random: torch.Generator,
) -> None:
    codes = codes_of(small_decoder, random, 12)
    step = StaticStep(small_decoder, dtype)
    state = step.new_state()
    out = step(codes[None], state)[0]
    assert out.dtype == state.carried.dtype == torch.float32
    assert floor_db < snr_db(whole(small_decoder, codes), out) < PARITY_DB
