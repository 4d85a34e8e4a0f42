"""What the weights of each part are kept as, and how far from float32 that is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch


@dataclass(frozen=True)
class Precision:
    """How the weights of each part are kept (see ``PackedLinear``); between products all is float32."""

    transformer: torch.dtype = torch.float32
    upsample: torch.dtype = torch.float32
    """Of the convolution behind the transformer's output, too."""
    transposed: tuple[torch.dtype, ...] = (torch.float32,)
    """Of the blocks' transposed convolutions in turn; the last one is that of all further blocks."""
    closing: tuple[torch.dtype, ...] = (torch.float32,)
    """Of the residual units' pointwise products, by block as ``transposed``."""
    taps: tuple[torch.dtype, ...] = (torch.float32,)
    """Of the residual units' seven taps, by block as ``transposed``; float32 or float16 with Toom-Cook."""
    toom_cook_from_block: int = 0
    """Blocks before this one multiply directly, however wide."""


EXACT = Precision()

HALF = Precision(
    transformer=torch.float16,
    upsample=torch.float16,
    transposed=(torch.float16, torch.float32),
    taps=(torch.float16, torch.float32),
)
"""What reads its weights for a handful of rows has them in half the bytes: 39 dB with random weights.

49 dB without the seven taps of the first block, which make a step of one frame 5 % faster.
"""

MIXED = replace(
    HALF,
    transposed=(torch.float16, torch.float32, torch.bfloat16),
    closing=(torch.float32, torch.bfloat16),
    taps=(torch.bfloat16, torch.float32),
    toom_cook_from_block=1,
)
"""Some of the blocks in bfloat16, too: 36 dB with random weights.

Everything in bfloat16 is 26 dB there. Each alone, by block in turn: pointwise products 41.5, 45.2, 49.4 and
53.0 dB; transposed convolutions 36.1, 39.2, 42.8, 46.6; the first block's taps 39.9, the transformer 29.7,
the first convolutions 30.1. The first block's taps are a third of the bytes that Toom-Cook's are: a step of
one frame is 7 % faster for it, one of 12 as fast. The other taps stay: Toom-Cook in float32 takes less time
than bfloat16 without it, and does not survive bfloat16.
"""


def of_block(types: tuple[torch.dtype, ...], index: int) -> torch.dtype:
    """Return the type for a block: the last one is that of all further blocks."""
    return types[min(index, len(types) - 1)]
