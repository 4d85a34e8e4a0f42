"""The transformer on rows ``[T, C]``, few operations a layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as F

from decoder.streaming.attention import Attention, TransformerLayer
from decoder.streaming.kernels.packed_linear import PackedLinear
from decoder.streaming.transformer import Transformer

ROOM = 25
"""Positions that the cache has room for beside a window's past: it is moved back once in so many."""


@dataclass
class CacheState:
    """Keys and values of all layers."""

    cache: Tensor
    """``[layers, 2, key-value heads, window - 1 + ROOM, head_dim]``: rotated keys, values."""
    position: int = 0
    """Of the next input."""
    filled: int = 0
    """Positions in ``cache``, the last ``position`` of them or fewer."""


@dataclass(frozen=True)
class _Span:
    rotation: Tensor
    """``[T, 1, head_dim / 2]``, complex."""
    first: int
    """Of the cached positions that are looked at."""
    start: int
    """Where the new positions go."""
    end: int
    mask: Tensor | None
    """``[T, end - first]``"""


class TransformerRows:
    """Norms' weights and layer scales are part of the products; queries and keys turn as complex pairs."""

    def __init__(self, transformer: Transformer, dtype: torch.dtype = torch.float32) -> None:
        self._window = transformer.window
        self._layers = [_LayerRows(cast(TransformerLayer, layer), dtype) for layer in transformer.layers]
        opening, closing = transformer.input_proj, transformer.output_proj
        self._opening = _product(opening.weight, opening.bias, dtype)
        self._closing = _product(closing.weight * transformer.norm.weight, closing.bias, dtype)
        self._eps = transformer.norm.eps
        exponent = torch.arange(0, transformer.head_dim, 2, dtype=torch.float32) / transformer.head_dim
        self._frequencies = 1.0 / transformer.rope_theta**exponent
        attention = cast(TransformerLayer, transformer.layers[0]).self_attn
        self._cache_shape = (
            len(transformer.layers),
            2,
            attention.kv_heads,
            self._window - 1 + ROOM,
            attention.head_dim,
        )

    def new_state(self) -> CacheState:
        """Return an empty cache."""
        return CacheState(torch.zeros(self._cache_shape))

    def step(self, x: Tensor, state: CacheState) -> Tensor:
        """Take the next ``[T, latent_dim]``, return the next; ``T`` is at most ``ROOM``."""
        span = self._open(len(x), state)
        x = self._opening(x)
        for index, layer in enumerate(self._layers):
            layer.step(x, span, state.cache[index])
        state.position += len(x)
        state.filled = span.end
        return self._closing(_normalised(x, self._eps))

    def _open(self, length: int, state: CacheState) -> _Span:
        """Make room in the cache, and say what is where."""
        past = self._window - 1
        if state.filled + length > state.cache.shape[3]:
            kept = state.cache[:, :, :, state.filled - past : state.filled].clone()
            state.cache[:, :, :, :past] = kept
            state.filled = past
        start, first = state.filled, max(0, state.filled - past)
        end = start + length
        # Products in float32, as in the official code: their rounding at far positions is part of the result.
        positions = torch.arange(state.position, state.position + length, dtype=torch.float32)
        angles = positions[:, None] * self._frequencies
        rotation = torch.complex(angles.cos(), angles.sin())[:, None]
        mask = None
        if length > 1:
            age = torch.arange(start, end)[:, None] - torch.arange(first, end)
            mask = (age >= 0) & (age <= past)
        return _Span(rotation, first, start, end, mask)


class _LayerRows:
    """One layer; adds to its input in place."""

    def __init__(self, layer: TransformerLayer, dtype: torch.dtype) -> None:
        attention, mlp = layer.self_attn, layer.mlp
        self._heads, self._kv_heads = attention.heads, attention.kv_heads
        self._head_dim = attention.head_dim
        self._attention_eps, self._mlp_eps = layer.input_layernorm.eps, layer.post_attention_layernorm.eps
        weight, bias = _interleaved_projections(attention)
        self._projections = _product(weight * layer.input_layernorm.weight, bias, dtype)
        scale = layer.self_attn_layer_scale.scale
        out = attention.o_proj
        out_bias = None if out.bias is None else out.bias * scale
        self._joining = _product(out.weight * scale[:, None], out_bias, dtype)
        gates = torch.cat((mlp.gate_proj.weight, mlp.up_proj.weight))
        self._gates = _product(gates * layer.post_attention_layernorm.weight, None, dtype)
        self._down = _product(mlp.down_proj.weight * layer.mlp_layer_scale.scale[:, None], None, dtype)

    def step(self, x: Tensor, span: _Span, cache: Tensor) -> None:
        """Add this layer's two branches to the next ``[T, hidden]``."""
        length, dim = len(x), self._head_dim
        projected = self._projections(_normalised(x, self._attention_eps)).view(length, -1, dim)
        turning, values = torch.split(projected, [self._heads + self._kv_heads, self._kv_heads], dim=1)
        pairs = torch.view_as_complex(turning.view(length, -1, dim // 2, 2))
        turned = torch.view_as_real(pairs * span.rotation).flatten(2)
        cache[0, :, span.start : span.end] = turned[:, self._heads :].transpose(0, 1)
        cache[1, :, span.start : span.end] = values.transpose(0, 1)
        seen = cache[:, None, :, span.first : span.end]
        mixed = F.scaled_dot_product_attention(
            turned[None, :, : self._heads].transpose(1, 2),
            seen[0],
            seen[1],
            attn_mask=span.mask,
            enable_gqa=self._heads != self._kv_heads,
        )
        x.add_(self._joining(mixed[0].transpose(0, 1).flatten(1)))
        gate, up = self._gates(_normalised(x, self._mlp_eps)).chunk(2, dim=1)
        x.add_(self._down(F.silu(gate).mul_(up)))


def _product(weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> PackedLinear:
    """Of one row in a step of one frame."""
    return PackedLinear(weight, bias, dtype=dtype, single_rows=True)


def _normalised(x: Tensor, eps: float) -> Tensor:
    """Scale every row to unit mean square."""
    return x * x.square().mean(1, keepdim=True).add_(eps).rsqrt_()


def _interleaved_projections(attention: Attention) -> tuple[Tensor, Tensor | None]:
    """Join the three projections, with the two halves of every query and key in turn.

    The official rotation pairs element ``i`` with ``i + head_dim / 2``. Side by side they are a complex
    number whose rotation is one product, and a score does not depend on the order of elements.
    """
    dim = attention.head_dim

    def interleave(rows: Tensor) -> Tensor:
        halves = rows.reshape(-1, 2, dim // 2, *rows.shape[1:])
        return halves.transpose(1, 2).flatten(0, 2)

    parts = (attention.q_proj, attention.k_proj, attention.v_proj)
    query, key, value = (part.weight.detach() for part in parts)
    weight = torch.cat((interleave(query), interleave(key), value))
    biases = [part.bias.detach() for part in parts if part.bias is not None]
    if not biases:
        return weight, None
    return weight, torch.cat((interleave(biases[0]), interleave(biases[1]), biases[2]))
