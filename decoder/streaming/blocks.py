"""What the layers are combined to: ConvNeXt block, residual unit, upsampling block.

Tensors are ``[B, C, T]``; ``forward`` takes a whole signal, ``step`` the next piece of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from decoder.streaming.layers import (
    CausalConv1d,
    CausalConvState,
    CausalTransposedConv1d,
    SnakeBeta,
    TransposedConvState,
)

DILATIONS = (1, 3, 9)
"""Of the three residual units in every upsampling block."""


class ConvNeXtBlock(nn.Module):
    """Depthwise causal convolution, then a two-layer perceptron per column, added to the input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.dwconv = CausalConv1d(channels, channels, 7, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.pwconv1 = nn.Linear(channels, 4 * channels)
        self.pwconv2 = nn.Linear(4 * channels, channels)
        self.gamma = nn.Parameter(torch.full((channels,), 1e-6))

    def forward(self, x: Tensor) -> Tensor:
        """``[B, C, T]`` -> ``[B, C, T]``, the whole signal."""
        return x + self._perceptron(self.dwconv(x))

    def new_state(self, batch: int) -> CausalConvState:
        """Return the state before the first column: that of the depthwise convolution."""
        return self.dwconv.new_state(batch)

    def step(self, x: Tensor, state: CausalConvState) -> Tensor:
        """Take the next ``[B, C, T]``, return the next ``[B, C, T]``."""
        return x + self._perceptron(self.dwconv.step(x, state))

    def _perceptron(self, x: Tensor) -> Tensor:
        x = self.norm(x.transpose(1, 2))
        x = self.pwconv2(F.gelu(self.pwconv1(x)))
        return (self.gamma * x).transpose(1, 2)


class ResidualUnit(nn.Module):
    """Snake, dilated convolution, Snake, pointwise convolution, added to the input."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.act1 = SnakeBeta(channels)
        self.conv1 = CausalConv1d(channels, channels, 7, dilation=dilation)
        self.act2 = SnakeBeta(channels)
        self.conv2 = CausalConv1d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """``[B, C, T]`` -> ``[B, C, T]``, the whole signal."""
        return x + cast(Tensor, self.conv2(self.act2(self.conv1(self.act1(x)))))

    def new_state(self, batch: int) -> CausalConvState:
        """Return the state before the first column: the dilated convolution's (the other has no past)."""
        return self.conv1.new_state(batch)

    def step(self, x: Tensor, state: CausalConvState) -> Tensor:
        """Take the next ``[B, C, T]``, return the next ``[B, C, T]``."""
        hidden = snake_conv_step(self.act1, self.conv1, x, state)
        hidden = self.act2.step_into(hidden, torch.empty_like(hidden))
        return F.conv1d(hidden, self.conv2.conv.weight, self.conv2.conv.bias).add_(x)


@dataclass
class UpsampleState:
    """Of one upsampling block."""

    upsample: TransposedConvState
    units: list[CausalConvState]


class UpsampleBlock(nn.Module):
    """Snake, transposed convolution (twice as wide as its stride), three residual units."""

    def __init__(self, in_channels: int, out_channels: int, rate: int) -> None:
        super().__init__()
        self.block = nn.ModuleList(
            [
                SnakeBeta(in_channels),
                CausalTransposedConv1d(in_channels, out_channels, 2 * rate, rate),
                *(ResidualUnit(out_channels, dilation) for dilation in DILATIONS),
            ]
        )

    def forward(self, x: Tensor) -> Tensor:
        """``[B, C_in, T]`` -> ``[B, C_out, T * rate]``, the whole signal."""
        for layer in self.block:
            x = layer(x)
        return x

    def new_state(self, batch: int) -> UpsampleState:
        """Return the state before the first column."""
        _, upsample, units = self.typed_parts()
        return UpsampleState(upsample.new_state(batch), [unit.new_state(batch) for unit in units])

    def step(self, x: Tensor, state: UpsampleState) -> Tensor:
        """Take the next ``[B, C_in, T]``, return the next ``[B, C_out, T * rate]``."""
        act, upsample, units = self.typed_parts()
        x = upsample.step(act.step_into(x, torch.empty_like(x)), state.upsample)
        for unit, unit_state in zip(units, state.units, strict=True):
            x = unit.step(x, unit_state)
        return x

    def typed_parts(self) -> tuple[SnakeBeta, CausalTransposedConv1d, list[ResidualUnit]]:
        """Return the list's elements with their types (their official names are its indices)."""
        act, upsample, *units = self.block
        return cast(SnakeBeta, act), cast(CausalTransposedConv1d, upsample), cast("list[ResidualUnit]", units)


def snake_conv_step(act: SnakeBeta, conv: CausalConv1d, x: Tensor, state: CausalConvState) -> Tensor:
    """Step Snake and the convolution behind it; the activation is written where the convolution reads."""
    buffer, fresh = conv.open_buffer(x, state)
    act.step_into(x, fresh)
    return conv.step_buffer(buffer, state)
