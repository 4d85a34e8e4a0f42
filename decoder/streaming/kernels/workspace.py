"""Memory that steps use again and again."""

from __future__ import annotations

import math

import torch
from torch import Tensor


class Workspace:
    """Named blocks of float32 that grow to the largest shape asked for, and are never given back.

    Large temporaries cost page faults each time (20-35 % of a long step), reused ones none. Whoever takes
    a block by its name may find anything in it, so users of one name must not need their content at the
    same time. Only one step may run on a workspace at a time.
    """

    def __init__(self) -> None:
        self._blocks: dict[str, Tensor] = {}
        self.growths = 0
        """How often a block was replaced by a larger one, which old views keep alive."""

    def take(self, name: str, *shape: int) -> Tensor:
        """Return the block ``name`` as ``shape``, its content undefined."""
        size = math.prod(shape)
        block = self._blocks.get(name)
        if block is None or block.numel() < size:
            self.growths += block is not None
            block = self._blocks[name] = torch.empty(size, dtype=torch.float32)
        return block[:size].view(shape)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(block.nbytes for block in self._blocks.values())
