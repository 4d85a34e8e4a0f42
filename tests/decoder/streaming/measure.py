"""What the parity tests measure, and the cuts that they try."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

PARITY_DB = 80.0
"""The acceptance level: float32 rounding leaves 88 dB and more."""

FRAMES = 210

CUTS: dict[str, tuple[int, ...]] = {
    "1": (1,),
    "4": (4,),
    "7": (7,),
    "25": (25,),
    "72": (72,),
    "73": (73,),
    "mixed": (1, 2, 40, 1, 90, 3, 71, 2),
}
"""Lengths of pieces by name, repeated until the signal ends."""


def snr_db(reference: Tensor, other: Tensor) -> float:
    """Energy of ``reference`` above that of the difference."""
    assert reference.shape == other.shape
    noise = (reference.double() - other.double()).square().sum().item()
    return math.inf if noise == 0 else 10 * math.log10(reference.double().square().sum().item() / noise)


def pieces(length: int, lengths: Sequence[int]) -> Iterator[slice]:
    """Cut ``0..length`` to pieces of ``lengths``, in turn."""
    start = index = 0
    while start < length:
        end = min(length, start + lengths[index % len(lengths)])
        yield slice(start, end)
        start, index = end, index + 1


def step_through(step: Callable[[Tensor], Tensor], x: Tensor, lengths: Sequence[int], dim: int) -> Tensor:
    """Feed ``x`` to ``step`` piece by piece along ``dim`` and join the results along it."""
    with torch.inference_mode():
        outputs = [
            step(x.narrow(dim, piece.start, piece.stop - piece.start))
            for piece in pieces(x.shape[dim], lengths)
        ]
        return torch.cat(outputs, dim)
