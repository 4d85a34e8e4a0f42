"""The Snake activation as a cosine, in two or three passes over the signal."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from decoder.streaming.layers import SnakeBeta


@dataclass(frozen=True)
class Snake:
    """``x + sin(a x)^2 / b = x - h cos(2 a x) + h`` with ``h = 1 / (2 b)``.

    The constant is left to whatever comes next: a product adds it to its bias once (``offset``), and
    what is carried for it starts at ``-h``, which is what a zero is without its constant.
    """

    angle: Tensor
    """``2 a``, ``[C]``."""
    minus_half: Tensor
    """``-h``, ``[C]``"""

    @classmethod
    def of(cls, module: SnakeBeta) -> Snake:
        """Take the parameters."""
        frequency, magnitude = (part[:, 0].detach().double() for part in module.exponentiated())
        return cls((2 * frequency).float(), (-magnitude / 2).float())

    def offset(self, weight: Tensor) -> Tensor:
        """Return what a product with ``weight`` ``[out, C]`` (all taps of it summed) misses: ``[out]``."""
        return weight.double().matmul(-self.minus_half.double()).float()

    def initial(self, rows: int) -> Tensor:
        """Return the past before the start as it is carried: ``[rows, C]``."""
        return self.minus_half.expand(rows, -1).clone()

    def finish(self, x: Tensor, cosine: Tensor, out: Tensor) -> None:
        """Write ``x - h * cosine`` to ``out``; all ``[rows, C]``, ``cosine`` of ``x * angle``."""
        torch.addcmul(x, cosine, self.minus_half, out=out)
