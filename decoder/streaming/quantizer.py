"""Codes to latents: codebook entries, summed and projected; folded to one table for inference."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from decoder.streaming.config import CodecConfig
from decoder.streaming.folding import FoldingModule

_USAGE_MIN = 1e-5
"""An unused entry's usage count is raised to this, as in the official code."""


class Codebook(nn.Module):
    """Entries kept as training left them: the sum of what fell to each, and how much did."""

    def __init__(self, size: int, dim: int) -> None:
        super().__init__()
        self.cluster_usage = nn.Parameter(torch.ones(size))
        self.embedding_sum = nn.Parameter(torch.zeros(size, dim))

    def entries(self) -> Tensor:
        """``[size, dim]``."""
        return self.embedding_sum / self.cluster_usage.clamp(min=_USAGE_MIN)[:, None]


class _Quantization(nn.Module):
    """Exists for the official name of its codebook."""

    def __init__(self, size: int, dim: int) -> None:
        super().__init__()
        self._codebook = Codebook(size, dim)


class _Residual(nn.Module):
    """Exists for the official name of its list."""

    def __init__(self, count: int, size: int, dim: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_Quantization(size, dim) for _ in range(count))


class ResidualQuantizer(nn.Module):
    """Codebooks whose entries are summed, and a projection of the sum.

    The checkpoint's ``input_proj`` belongs to encoding and is neither needed nor loaded.
    """

    def __init__(self, count: int, config: CodecConfig) -> None:
        super().__init__()
        dim = config.codebook_dim // 2
        self.output_proj = nn.Conv1d(dim, config.codebook_dim, 1, bias=False)
        self.vq = _Residual(count, config.codebook_size, dim)

    def codebooks(self) -> list[Codebook]:
        """In the order of the codes."""
        return [cast(_Quantization, layer)._codebook for layer in self.vq.layers]

    def forward(self, codes: Tensor) -> Tensor:
        """Codes ``[..., count]`` -> latents ``[..., codebook_dim]``."""
        books = self.codebooks()
        total = F.embedding(codes[..., 0], books[0].entries())
        for index, book in enumerate(books[1:], start=1):
            total = total + F.embedding(codes[..., index], book.entries())
        return F.linear(total, self.output_proj.weight[..., 0])

    def tables(self) -> Tensor:
        """``[count * codebook_size, codebook_dim]``: every entry of every codebook, projected."""
        entries = torch.cat([book.entries() for book in self.codebooks()])
        return F.linear(entries, self.output_proj.weight[..., 0])


class SplitQuantizer(FoldingModule):
    """One semantic codebook and the acoustic ones, each group with its own projection."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        self.rvq_first = ResidualQuantizer(1, config)
        self.rvq_rest = ResidualQuantizer(config.num_quantizers - 1, config)
        self.codebook_size = config.codebook_size
        self._table: Tensor | None = None
        self._offsets: Tensor | None = None

    def forward(self, codes: Tensor) -> Tensor:
        """Codes ``[..., 16]`` (int64) -> latents ``[..., codebook_dim]``; differentiable in the codebooks."""
        return cast(Tensor, self.rvq_first(codes[..., :1]) + self.rvq_rest(codes[..., 1:]))

    def fold(self) -> None:
        """Projection is linear, so the projected entries can be summed instead: one table for all."""
        with torch.no_grad():
            self._table = torch.cat((self.rvq_first.tables(), self.rvq_rest.tables()))
        count = self._table.shape[0] // self.codebook_size
        self._offsets = torch.arange(count, device=self._table.device) * self.codebook_size

    @property
    def table(self) -> Tensor:
        """``[16 * codebook_size, codebook_dim]``; code ``c`` of book ``b`` at ``b * codebook_size + c``."""
        if self._table is None:
            self.fold()
        assert self._table is not None
        return self._table

    def unfold(self) -> None:
        """Forget the table."""
        self._table = self._offsets = None

    def lookup(self, codes: Tensor) -> Tensor:
        """Codes ``[T, 16]`` (int64) -> latents ``[T, codebook_dim]`` from the folded table."""
        if self._table is None or self._offsets is None:
            return cast(Tensor, self(codes))
        return F.embedding_bag(codes + self._offsets, self._table, mode="sum")
