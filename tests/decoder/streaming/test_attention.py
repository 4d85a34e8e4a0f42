"""The transformer: steps equal the whole, the window is 72, the cache is bounded, folding changes nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from decoder.streaming.attention import fuse
from decoder.streaming.config import CodecConfig
from decoder.streaming.random_weights import _fill
from decoder.streaming.transformer import Transformer
from tests.decoder.streaming.measure import CUTS, FRAMES, PARITY_DB, snr_db, step_through


def make(config: CodecConfig, random: torch.Generator) -> Transformer:
    transformer = Transformer(config)
    with torch.no_grad():
        for module in transformer.modules():
            _fill(module, random)
    return transformer.requires_grad_(False)


def fold(transformer: Transformer) -> None:
    for layer in transformer.layers:
        layer.self_attn.fold()
        layer.mlp.fold()


VARIANTS = {
    "as published": {},
    "grouped keys": {"num_key_value_heads": 2},
    "projection biases": {"attention_bias": True},
    "window 5": {"sliding_window": 5},
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_steps_equal_the_whole(
    variant: str, cut: str, small_config: CodecConfig, random: torch.Generator
) -> None:
    """The cache carries all that later positions may look at, also past the window."""
    config = replace(small_config, **VARIANTS[variant])
    transformer = make(config, random)
    x = torch.randn(1, FRAMES, config.latent_dim, generator=random)
    whole = transformer(x)
    fold(transformer)
    state = transformer.new_state(1)
    out = step_through(lambda piece: transformer.step(piece, state), x, CUTS[cut], dim=1)
    assert snr_db(whole, out) >= PARITY_DB
    assert all(layer.keys.shape[2] == config.sliding_window - 1 for layer in state.layers)


def test_a_query_sees_itself_and_71_before(small_config: CodecConfig, random: torch.Generator) -> None:
    """With one layer, changing position 0 changes 0..71 and nothing from 72 on."""
    transformer = make(replace(small_config, num_hidden_layers=1), random)
    x = torch.randn(1, 100, small_config.latent_dim, generator=random)
    other = x.clone()
    other[:, 0] += 1.0
    differs = (transformer(x) - transformer(other)).abs().amax(-1)[0] > 0
    assert differs[:72].all()
    assert not differs[72:].any()


def test_the_cache_never_exceeds_the_window(small_config: CodecConfig, random: torch.Generator) -> None:
    """Whatever is fed, 71 positions are kept, in memory of just that size."""
    transformer = make(small_config, random)
    state = transformer.new_state(1)
    with torch.inference_mode():
        for length in (1, 30, 200, 1, 71, 72):
            transformer.step(torch.randn(1, length, small_config.latent_dim), state)
            for layer in state.layers:
                kept = min(71, state.position)
                assert layer.keys.shape[2] == layer.values.shape[2] == kept
                assert layer.keys.untyped_storage().nbytes() == 4 * 4 * kept * 16


def test_positions_are_absolute(small_config: CodecConfig) -> None:
    """A step rotates by how many positions came before, not by its own index."""
    transformer = Transformer(small_config)
    x = torch.zeros(1)
    later = transformer.span(3, position=1000, cached=71, like=x)
    assert torch.equal(later.cos, transformer.span(1003, position=0, cached=0, like=x).cos[1000:])


def test_fusing_keeps_values_and_shares_memory() -> None:
    """Fused projections are views of one matrix: changing a parameter in place changes both."""
    first, second = torch.nn.Linear(4, 3), torch.nn.Linear(4, 2)
    before = torch.cat((first.weight, second.weight)).detach().clone()
    weight, bias = fuse(first, second)
    assert torch.equal(weight, before)
    with torch.no_grad():
        second.weight.fill_(5.0)
        first.bias.fill_(6.0)
    assert (weight[3:] == 5.0).all()
    assert bias is not None
    assert (bias[:3] == 6.0).all()
