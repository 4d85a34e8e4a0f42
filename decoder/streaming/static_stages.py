"""The parts of a static step: each layer with its weights in the form that such steps want.

Tensors are ``[N, C, T]``, N utterances. The residual signal and what is carried are float32; ``dtype`` is
what convolutions and matrix products compute in. What a stage carries has its full size from the start
and is written in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from decoder.streaming.attention import Attention, RMSNorm, TransformerLayer
from decoder.streaming.blocks import ConvNeXtBlock, ResidualUnit
from decoder.streaming.layers import CausalConv1d, CausalTransposedConv1d, SnakeBeta
from decoder.streaming.quantizer import SplitQuantizer
from decoder.streaming.transformer import Transformer

_PRODUCT_MAX_COLUMNS = 128
"""On a CPU: up to this many output columns of all rows together, a convolution is one matrix product."""


class Stage:
    """A part of the signal path; takes as many of the carried tensors as it has shapes, in order."""

    def shapes(self) -> list[tuple[int, ...]]:
        """Of what an utterance carries here."""
        return []

    def __call__(self, x: Tensor, carried: Iterator[Tensor], position: Tensor) -> Tensor:
        """Take the next columns of every row, return the next; ``position`` is ``[N]``, before them."""
        raise NotImplementedError


class Lookup:
    """Codes ``[N, T, 16]`` -> latents ``[N, codebook_dim, T]``, summed from one projected table."""

    def __init__(self, quantizer: SplitQuantizer) -> None:
        self.table = torch.cat((quantizer.rvq_first.tables(), quantizer.rvq_rest.tables()))
        books = self.table.shape[0] // quantizer.codebook_size
        self.offsets = torch.arange(books, device=self.table.device) * quantizer.codebook_size

    def __call__(self, codes: Tensor) -> Tensor:
        """``[N, T, 16]`` int64 -> ``[N, codebook_dim, T]``."""
        return F.embedding(codes + self.offsets, self.table).sum(dim=2).transpose(1, 2)


class ConvStage(Stage):
    """A causal convolution, of any kind."""

    def __init__(self, layer: CausalConv1d, dtype: torch.dtype) -> None:
        self.context, self.dilation, self.kernel = layer.context, layer.dilation, layer.kernel
        self.channels = layer.conv.in_channels
        self.depthwise = layer.depthwise
        self.weight = layer.conv.weight.detach().to(torch.float32 if layer.depthwise else dtype)
        self.bias = _bias(layer.conv)

    def shapes(self) -> list[tuple[int, ...]]:
        """As ``Stage``."""
        return [(self.channels, self.context)] if self.context else []

    def __call__(self, x: Tensor, carried: Iterator[Tensor], position: Tensor) -> Tensor:
        """As ``Stage``."""
        if self.context:
            previous = next(carried)
            x = torch.cat((previous, x), dim=2)
            previous.copy_(x[..., x.shape[2] - self.context :])
        columns = x.shape[2] - self.context
        if self.depthwise:
            y = self._by_taps(x, columns)
        elif x.device.type == "cpu" and x.shape[0] * columns <= _PRODUCT_MAX_COLUMNS:
            y = self._by_product(x.to(self.weight.dtype), columns).float()
        else:
            y = F.conv1d(x.to(self.weight.dtype), self.weight, dilation=self.dilation).float()
        return y if self.bias is None else y.add_(self.bias[:, None])

    def _by_taps(self, x: Tensor, columns: int) -> Tensor:
        taps = self.weight[:, 0]
        y = x[..., :columns] * taps[:, :1]
        for tap in range(1, self.kernel):
            start = tap * self.dilation
            y.addcmul_(x[..., start : start + columns], taps[:, tap : tap + 1])
        return y

    def _by_product(self, x: Tensor, columns: int) -> Tensor:
        """Multiply the weight once with the gathered columns of all rows, laid side by side."""
        rows, channels, _ = x.shape
        gathered = x.as_strided(
            (channels, self.kernel, rows, columns), (x.stride(1), self.dilation, x.stride(0), 1)
        ).reshape(channels * self.kernel, rows * columns)
        y = torch.mm(self.weight.flatten(1), gathered)
        return y.view(-1, rows, columns).transpose(0, 1).contiguous()


class TransposedStage(Stage):
    """A causal transposed convolution as one product and an overlap-add."""

    def __init__(self, layer: CausalTransposedConv1d, dtype: torch.dtype) -> None:
        self.kernel, self.stride, self.overlap = layer.kernel, layer.stride, layer.overlap
        self.channels = layer.conv.out_channels
        self.weight = layer.conv.weight.detach().flatten(1).to(dtype)
        self.bias = _bias(layer.conv)

    def shapes(self) -> list[tuple[int, ...]]:
        """As ``Stage``."""
        return [(self.channels, self.overlap)] if self.overlap else []

    def __call__(self, x: Tensor, carried: Iterator[Tensor], position: Tensor) -> Tensor:
        """As ``Stage``."""
        rows, _, columns = x.shape
        products = torch.matmul(x.transpose(1, 2).to(self.weight.dtype), self.weight).float()
        products = products.view(rows, columns, self.channels, self.kernel).transpose(1, 2)
        y = products[..., : self.stride].contiguous()
        if self.overlap:
            partial = next(carried)
            tails = products[..., self.stride :]
            y[:, :, 1:, : self.overlap] += tails[:, :, :-1]
            y[:, :, 0, : self.overlap] += partial
            partial.copy_(tails[:, :, -1])
        y = y.view(rows, self.channels, columns * self.stride)
        return y if self.bias is None else y.add_(self.bias[:, None])


class SnakeStage(Stage):
    """The activation; nothing is carried."""

    def __init__(self, layer: SnakeBeta) -> None:
        self.frequency = torch.exp(layer.alpha.detach().float())[:, None]
        self.magnitude = 1.0 / (torch.exp(layer.beta.detach().float()) + 1e-9)[:, None]

    def __call__(self, x: Tensor, carried: Iterator[Tensor], position: Tensor) -> Tensor:
        """As ``Stage``."""
        return self.apply(x)

    def apply(self, x: Tensor) -> Tensor:
        """``[N, C, T]`` -> ``[N, C, T]``."""
        return torch.addcmul(x, (x * self.frequency).sin_().square_(), self.magnitude)


class ResidualStage(Stage):
    """Snake, dilated convolution, Snake, pointwise convolution, added to the input."""

    def __init__(self, unit: ResidualUnit, dtype: torch.dtype) -> None:
        self.act1, self.act2 = SnakeStage(unit.act1), SnakeStage(unit.act2)
        self.conv1, self.conv2 = ConvStage(unit.conv1, dtype), ConvStage(unit.conv2, dtype)

    def shapes(self) -> list[tuple[int, ...]]:
        """As ``Stage``."""
        return self.conv1.shapes()

    def __call__(self, x: Tensor, carried: Iterator[Tensor], position: Tensor) -> Tensor:
        """As ``Stage``."""
        y = self.conv1(self.act1.apply(x), carried, position)
        return self.conv2(self.act2.apply(y), carried, position).add_(x)


class ConvNeXtStage(Stage):
    """Depthwise convolution, norm and perceptron, added to the input."""

    def __init__(self, block: ConvNeXtBlock, dtype: torch.dtype) -> None:
        self.conv = ConvStage(block.dwconv, dtype)
        self.norm = block.norm
        self.expand, self.contract = _Linear(block.pwconv1, dtype), _Linear(block.pwconv2, dtype)
        self.gamma = block.gamma.detach().float()

    def shapes(self) -> list[tuple[int, ...]]:
        """As ``Stage``."""
        return self.conv.shapes()

    def __call__(self, x: Tensor, carried: Iterator[Tensor], position: Tensor) -> Tensor:
        """As ``Stage``."""
        y = self.norm(self.conv(x, carried, position).transpose(1, 2))
        y = self.contract(F.gelu(self.expand(y)))
        return x + (self.gamma * y).transpose(1, 2)


class TransformerStage(Stage):
    """All layers; rotation and mask are computed once for them, from the positions."""

    def __init__(self, transformer: Transformer, dtype: torch.dtype) -> None:
        self.window, self.head_dim = transformer.window, transformer.head_dim
        self.input, self.output = (
            _Linear(transformer.input_proj, dtype),
            _Linear(transformer.output_proj, dtype),
        )
        self.layers = [_Layer(cast(TransformerLayer, layer), dtype) for layer in transformer.layers]
        self.norm = transformer.norm
        device = transformer.input_proj.weight.device
        exponent = torch.arange(0, self.head_dim, 2, dtype=torch.float32, device=device) / self.head_dim
        self.inverse_frequency = 1.0 / transformer.rope_theta**exponent

    def shapes(self) -> list[tuple[int, ...]]:
        """As ``Stage``."""
        return [shape for layer in self.layers for shape in layer.shapes(self.window - 1)]

    def __call__(self, x: Tensor, carried: Iterator[Tensor], position: Tensor) -> Tensor:
        """As ``Stage``."""
        x = x.transpose(1, 2)
        frames, past = x.shape[1], self.window - 1
        queries = torch.arange(frames, device=x.device)
        keys = torch.arange(-past, frames, device=x.device)
        age = queries[:, None] - keys
        exists = position[:, None] + keys >= 0
        mask = ((age >= 0) & (age < self.window)) & exists[:, None]
        angles = (position[:, None] + queries).float()[..., None] * self.inverse_frequency
        angles = torch.cat((angles, angles), dim=-1)[:, None]
        turn = angles.cos(), angles.sin()
        x = self.input(x)
        for layer in self.layers:
            x = layer(x, next(carried), next(carried), turn, mask[:, None])
        return self.output(self.norm(x)).transpose(1, 2)


class _Layer:
    """Attention over the carried and the new positions, and the perceptron."""

    def __init__(self, layer: TransformerLayer, dtype: torch.dtype) -> None:
        attention: Attention = layer.self_attn
        self.heads, self.kv_heads, self.head_dim = attention.heads, attention.kv_heads, attention.head_dim
        self.projections = [
            _Linear(projection, dtype)
            for projection in (attention.q_proj, attention.k_proj, attention.v_proj)
        ]
        self.out = _Linear(attention.o_proj, dtype)
        self.gate, self.up = _Linear(layer.mlp.gate_proj, dtype), _Linear(layer.mlp.up_proj, dtype)
        self.down = _Linear(layer.mlp.down_proj, dtype)
        self.norms: tuple[RMSNorm, RMSNorm] = layer.input_layernorm, layer.post_attention_layernorm
        self.scales = layer.self_attn_layer_scale, layer.mlp_layer_scale

    def shapes(self, past: int) -> list[tuple[int, ...]]:
        """Of keys and values."""
        return [(self.kv_heads, past, self.head_dim)] * 2

    def __call__(
        self, x: Tensor, past_keys: Tensor, past_values: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor
    ) -> Tensor:
        hidden = self.norms[0](x)
        queries, keys, values = (
            projection(hidden).view(*x.shape[:2], -1, self.head_dim).transpose(1, 2)
            for projection in self.projections
        )
        keys = _carry(past_keys, _turned(keys, turn))
        values = _carry(past_values, values)
        attended = F.scaled_dot_product_attention(
            _turned(queries, turn), keys, values, attn_mask=mask, enable_gqa=self.heads != self.kv_heads
        )
        x = x + self.scales[0](self.out(attended.transpose(1, 2).flatten(2)))
        hidden = self.norms[1](x)
        inner = F.silu(self.gate(hidden)) * self.up(hidden)
        return x + cast(Tensor, self.scales[1](self.down(inner)))


class _Linear:
    """A matrix product in ``dtype``; in and out float32."""

    def __init__(self, layer: nn.Linear, dtype: torch.dtype) -> None:
        self.weight = layer.weight.detach().to(dtype)
        self.bias = None if layer.bias is None else layer.bias.detach().to(dtype)

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x.to(self.weight.dtype), self.weight, self.bias).float()


def _carry(past: Tensor, fresh: Tensor) -> Tensor:
    """Return past and fresh positions (dimension 2) in one tensor; the last of them become the past."""
    both = torch.cat((past, fresh), dim=2)
    past.copy_(both[:, :, fresh.shape[2] :])
    return both


def _turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * turn[0] + torch.cat((-second, first), dim=-1) * turn[1]


def _bias(conv: nn.Conv1d | nn.ConvTranspose1d) -> Tensor | None:
    return None if conv.bias is None else conv.bias.detach().float()
