"""The stack of transformer layers, with the absolute position as part of its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from decoder.streaming.attention import AttentionState, RMSNorm, Span, TransformerLayer
from decoder.streaming.config import CodecConfig


@dataclass
class TransformerState:
    """Of one utterance."""

    position: int
    """Of the next input: how many came before."""
    layers: list[AttentionState]


class Transformer(nn.Module):
    """Projection to the hidden size, the layers, a norm, and the projection back."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(TransformerLayer(config) for _ in range(config.num_hidden_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.input_proj = nn.Linear(config.latent_dim, config.hidden_size)
        self.output_proj = nn.Linear(config.hidden_size, config.latent_dim)
        self.window = config.sliding_window
        self.head_dim = config.head_dim
        self.rope_theta = config.rope_theta

    def forward(self, x: Tensor) -> Tensor:
        """``[B, T, latent_dim]`` -> ``[B, T, latent_dim]``, from the first position on."""
        span = self.span(x.shape[1], position=0, cached=0, like=x)
        x = self.input_proj(x)
        for layer in self.layers:
            x = layer(x, span)
        return cast(Tensor, self.output_proj(self.norm(x)))

    def new_state(self, batch: int) -> TransformerState:
        """Return the state before the first position."""
        layers = [cast(TransformerLayer, layer).self_attn.new_state(batch) for layer in self.layers]
        return TransformerState(0, layers)

    def step(self, x: Tensor, state: TransformerState) -> Tensor:
        """Take the next ``[B, T, latent_dim]``, return the next ``[B, T, latent_dim]``."""
        length = x.shape[1]
        cached = min(state.position, self.window - 1)
        span = self.span(length, position=state.position, cached=cached, like=x)
        x = self.input_proj(x)
        for layer, layer_state in zip(self.layers, state.layers, strict=True):
            x = cast(TransformerLayer, layer).step(x, span, layer_state)
        state.position += length
        return cast(Tensor, self.output_proj(self.norm(x)))

    def span(self, length: int, *, position: int, cached: int, like: Tensor) -> Span:
        """Rotation and mask of ``length`` positions from ``position`` on, behind ``cached`` keys.

        Angles are float32 products, as in the official code: at far positions their rounding
        is part of the result that must be equalled.
        """
        device = like.device
        exponent = torch.arange(0, self.head_dim, 2, dtype=torch.float32, device=device) / self.head_dim
        positions = torch.arange(position, position + length, dtype=torch.float32, device=device)
        angles = positions[:, None] * (1.0 / self.rope_theta**exponent)
        angles = torch.cat((angles, angles), dim=-1)
        mask = None
        if cached + length > self.window or length > 1:
            queries = torch.arange(cached, cached + length, device=device)[:, None]
            age = queries - torch.arange(cached + length, device=device)
            mask = (age >= 0) & (age < self.window)
        return Span(angles.cos().to(like.dtype), angles.sin().to(like.dtype), mask)
