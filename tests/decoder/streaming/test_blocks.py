"""ConvNeXt block, residual unit, upsampling block: steps equal the whole signal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from decoder.streaming.blocks import ConvNeXtBlock, ResidualUnit, UpsampleBlock
from decoder.streaming.random_weights import _fill
from tests.decoder.streaming.measure import CUTS, FRAMES, PARITY_DB, snr_db, step_through

BLOCKS: dict[str, Callable[[], Any]] = {
    "ConvNeXt": lambda: ConvNeXtBlock(8),
    "residual unit, dilation 9": lambda: ResidualUnit(8, 9),
    "upsampling block": lambda: UpsampleBlock(8, 4, 5),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("kind", BLOCKS)
def test_block_steps_equal_the_whole(kind: str, cut: str, random: torch.Generator) -> None:
    """A block gives the same columns however its input is cut."""
    block = BLOCKS[kind]()
    with torch.no_grad():
        for module in block.modules():
            _fill(module, random)
    x = torch.randn(1, 8, FRAMES, generator=random)
    state = block.new_state(1)
    out = step_through(lambda piece: block.step(piece, state), x, CUTS[cut], dim=-1)
    assert snr_db(block(x).detach(), out) >= PARITY_DB


@pytest.mark.parametrize("kind", BLOCKS)
def test_a_step_leaves_its_input_alone(kind: str, random: torch.Generator) -> None:
    """In-place work happens in memory of the block's own."""
    block = BLOCKS[kind]()
    x = torch.randn(1, 8, 9, generator=random)
    before = x.clone()
    with torch.inference_mode():
        block.step(x, block.new_state(1))
    assert torch.equal(x, before)
