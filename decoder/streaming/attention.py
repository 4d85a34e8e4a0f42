"""The transformer between quantiser and convolutions: rotary sliding-window attention, and its cache.

Tensors are ``[B, T, C]``. Positions are absolute and start at 0 with the utterance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from decoder.streaming.config import CodecConfig
from decoder.streaming.folding import FoldingModule


@dataclass(frozen=True)
class Span:
    """What all layers share for the same positions: rotation, and who may see whom."""

    cos: Tensor
    """``[T, head_dim]``"""
    sin: Tensor
    mask: Tensor | None
    """``[T, cached + T]``, true where a query may look; None: everywhere."""


@dataclass
class AttentionState:
    """Rotated keys, and values, of the last positions, at most ``sliding_window - 1``."""

    keys: Tensor
    """``[B, key-value heads, n, head_dim]``, n from 0."""
    values: Tensor


class RMSNorm(nn.Module):
    """Scale to unit mean square, then by a weight per channel."""

    def __init__(self, channels: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """``[..., C]`` -> ``[..., C]``."""
        return self.weight * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps))


class LayerScale(nn.Module):
    """A learnt factor per channel on a residual branch."""

    def __init__(self, channels: int, initial: float = 0.01) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((channels,), initial))

    def forward(self, x: Tensor) -> Tensor:
        """``[..., C]`` -> ``[..., C]``."""
        return self.scale * x


class Attention(FoldingModule):
    """Causal attention over the last ``sliding_window`` positions, queries and keys rotated."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        self.heads = config.num_attention_heads
        self.kv_heads = config.num_key_value_heads
        self.head_dim = config.head_dim
        self.window = config.sliding_window
        hidden, bias = config.hidden_size, config.attention_bias
        self.q_proj = nn.Linear(hidden, self.heads * self.head_dim, bias=bias)
        self.k_proj = nn.Linear(hidden, self.kv_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(hidden, self.kv_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(self.heads * self.head_dim, hidden, bias=bias)
        self._fused: tuple[Tensor, Tensor | None] | None = None

    def fold(self) -> None:
        """Make one matrix of the three projections, of which the parameters become views (see ``fuse``)."""
        self._fused = fuse(self.q_proj, self.k_proj, self.v_proj)

    def unfold(self) -> None:
        """Forget the matrix (the parameters keep their memory)."""
        self._fused = None

    def new_state(self, batch: int) -> AttentionState:
        """Return an empty cache."""
        empty = self.q_proj.weight.new_empty(batch, self.kv_heads, 0, self.head_dim)
        return AttentionState(empty, empty)

    def forward(self, x: Tensor, span: Span) -> Tensor:
        """``[B, T, C]`` -> ``[B, T, C]``, from the first position on."""
        return self._attend(*self._project(x, span), span)

    def step(self, x: Tensor, span: Span, state: AttentionState) -> Tensor:
        """Take the next ``[B, T, C]``, return the next ``[B, T, C]``."""
        queries, keys, values = self._project(x, span)
        keys = torch.cat((state.keys, keys), dim=2)
        values = torch.cat((state.values, values), dim=2)
        # Clones: a view of a long step would keep all of it alive.
        first = max(0, keys.shape[2] - (self.window - 1))
        state.keys, state.values = keys[:, :, first:].clone(), values[:, :, first:].clone()
        return self._attend(queries, keys, values, span)

    def _project(self, x: Tensor, span: Span) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys (both rotated) and values, ``[B, heads, T, head_dim]`` each."""
        if self._fused is None or torch.is_grad_enabled():  # gradients belong to the parameters
            projected = torch.cat((self.q_proj(x), self.k_proj(x), self.v_proj(x)), dim=-1)
        else:
            projected = F.linear(x, *self._fused)
        projected = projected.view(*x.shape[:-1], -1, self.head_dim).transpose(1, 2)
        turned, values = torch.split(projected, [self.heads + self.kv_heads, self.kv_heads], dim=1)
        first, second = turned.chunk(2, dim=-1)
        turned = turned * span.cos + torch.cat((-second, first), dim=-1) * span.sin
        queries, keys = torch.split(turned, [self.heads, self.kv_heads], dim=1)
        return queries, keys, values

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, span: Span) -> Tensor:
        out = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=span.mask, enable_gqa=self.heads != self.kv_heads
        )
        return cast(Tensor, self.o_proj(out.transpose(1, 2).flatten(2)))


class GatedMLP(FoldingModule):
    """SwiGLU: ``down(silu(gate(x)) * up(x))``."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        hidden, inner = config.hidden_size, config.intermediate_size
        self.gate_proj = nn.Linear(hidden, inner, bias=False)
        self.up_proj = nn.Linear(hidden, inner, bias=False)
        self.down_proj = nn.Linear(inner, hidden, bias=False)
        self._fused: tuple[Tensor, Tensor | None] | None = None

    def fold(self) -> None:
        """Make one matrix of gate and up, as in ``Attention.fold``."""
        self._fused = fuse(self.gate_proj, self.up_proj)

    def unfold(self) -> None:
        """Forget the matrix."""
        self._fused = None

    def forward(self, x: Tensor) -> Tensor:
        """``[..., C]`` -> ``[..., C]``."""
        if self._fused is None or torch.is_grad_enabled():
            gate, up = self.gate_proj(x), self.up_proj(x)
        else:
            gate, up = F.linear(x, *self._fused).chunk(2, dim=-1)
        return cast(Tensor, self.down_proj(F.silu(gate) * up))


class TransformerLayer(nn.Module):
    """Attention and MLP, each normalised before, scaled after, and added to its input."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = GatedMLP(config)
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn_layer_scale = LayerScale(config.hidden_size)
        self.mlp_layer_scale = LayerScale(config.hidden_size)

    def forward(self, x: Tensor, span: Span) -> Tensor:
        """``[B, T, C]`` -> ``[B, T, C]``, from the first position on."""
        return self._finish(x, self.self_attn(self.input_layernorm(x), span))

    def step(self, x: Tensor, span: Span, state: AttentionState) -> Tensor:
        """Take the next ``[B, T, C]``, return the next ``[B, T, C]``."""
        return self._finish(x, self.self_attn.step(self.input_layernorm(x), span, state))

    def _finish(self, x: Tensor, attended: Tensor) -> Tensor:
        x = x + self.self_attn_layer_scale(attended)
        return x + cast(Tensor, self.mlp_layer_scale(self.mlp(self.post_attention_layernorm(x))))


def fuse(*projections: nn.Linear) -> tuple[Tensor, Tensor | None]:
    """Join the weights of several projections of one input to one matrix, and their biases to one vector.

    The projections' parameters become views of the result: same values, same names, no second copy.
    """
    weight = torch.cat([projection.weight.detach() for projection in projections])
    rows = [projection.out_features for projection in projections]
    for projection, part in zip(projections, torch.split(weight, rows), strict=True):
        projection.weight.data = part
    biases = [projection.bias for projection in projections if projection.bias is not None]
    if not biases:
        return weight, None
    bias = torch.cat([part.detach() for part in biases])
    for parameter, part in zip(biases, torch.split(bias, rows), strict=True):
        parameter.data = part
    return weight, bias
