"""The layers around the residual units, on rows ``[T, C]``."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from decoder.streaming.blocks import ConvNeXtBlock
from decoder.streaming.kernels.cosine import cosine_into
from decoder.streaming.kernels.crew import Meet
from decoder.streaming.kernels.packed_linear import PackedLinear
from decoder.streaming.kernels.shares import Memory, Shares
from decoder.streaming.kernels.snake import Snake
from decoder.streaming.layers import CausalConv1d, CausalTransposedConv1d, SnakeBeta


def windows(rows: Tensor, length: int) -> Tensor:
    """Every stretch of ``length`` rows: ``[T, C]`` -> ``[T - length + 1, length, C]``, a view."""
    count, channels = len(rows) - length + 1, rows.shape[1]
    return rows.as_strided((count, length, channels), (channels, channels, 1))


def carry(state: Tensor, x: Tensor) -> Tensor:
    """Join the carried rows and the new ones, and carry the last of them on: ``[context + T, C]``."""
    joined = torch.cat((state, x))
    state.copy_(joined[len(x) :])
    return joined


class ConvRows:
    """A dense causal convolution with few output rows: gather, and multiply once."""

    def __init__(self, conv: CausalConv1d, dtype: torch.dtype = torch.float32) -> None:
        weight = conv.conv.weight.detach()
        self._kernel = conv.kernel
        self._channels = weight.shape[1]
        self._product = PackedLinear(weight.permute(0, 2, 1).flatten(1), conv.conv.bias, dtype=dtype)

    def new_state(self) -> Tensor:
        """Return the past before the start, ``[kernel - 1, C_in]``."""
        return torch.zeros(self._kernel - 1, self._channels)

    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """Take the next ``[T, C_in]``, return the next ``[T, C_out]``."""
        return self._product(windows(carry(state, x), self._kernel).flatten(1))


class RepeatRows:
    """A transposed convolution as wide as its stride: nothing overlaps, one product."""

    def __init__(self, up: CausalTransposedConv1d, dtype: torch.dtype = torch.float32) -> None:
        assert up.kernel == up.stride
        weight, bias = up.conv.weight.detach(), up.conv.bias
        self._out = weight.shape[1]
        self._product = PackedLinear(
            weight.permute(2, 1, 0).flatten(0, 1),
            None if bias is None else bias.repeat(up.stride),
            dtype=dtype,
            single_rows=True,
        )

    def step(self, x: Tensor) -> Tensor:
        """``[T, C_in]`` -> ``[T * stride, C_out]``."""
        return self._product(x).view(-1, self._out)


@dataclass(frozen=True)
class BehindPart:
    """Views for one part of a step of what looks at the rows before its own."""

    fresh: Tensor
    """``[rows, C]``, where it writes what is looked at."""
    seen: Tensor
    """``[context + rows, C]``, what it looks at."""
    angle: Tensor
    """``[rows, C]``"""


@dataclass(frozen=True)
class BehindPlan:
    """Views for a step of what looks at the rows before its own."""

    context: Tensor
    """``[context, C]``, the rows before the new ones."""
    last: Tensor
    """``[context, C]``, the rows that the next step's context is."""
    parts: list[BehindPart]


class SnakeBehind:
    """Snake, its results written behind the carried ones, where a convolution looks at both."""

    def __init__(self, act: SnakeBeta, context: int, by_numpy: bool) -> None:
        self.snake = Snake.of(act)
        self._context = context
        self._by_numpy = by_numpy

    def new_state(self) -> Tensor:
        """Return the past before the start, ``[context, C]``."""
        return self.snake.initial(self._context)

    def plan(self, shares: Shares, memory: Memory) -> BehindPlan:
        """Lay out the memory for steps of ``shares.rows``."""
        context, channels, rows = self._context, len(self.snake.angle), shares.rows
        joined = memory.shared.take("joined", context + rows, channels)
        parts = []
        for number in range(shares.parts):
            start, end = shares.bounds[number : number + 2]
            parts.append(
                BehindPart(
                    fresh=joined[context + start : context + end],
                    seen=joined[start : context + end],
                    angle=memory.own(number).take("spare", end - start, channels),
                )
            )
        return BehindPlan(joined[:context], joined[rows:], parts)

    def step(self, x: Tensor, state: Tensor, plan: BehindPlan, number: int, meet: Meet) -> Tensor:
        """Do one part of a step, as ``ResidualRows.step``; return ``[context + rows, C]``."""
        part = plan.parts[number]
        torch.mul(x, self.snake.angle, out=part.angle)
        cosine_into(part.angle, part.angle, by_numpy=self._by_numpy)
        if number == 0:
            plan.context.copy_(state)
        self.snake.finish(x, part.angle, part.fresh)
        meet()
        if number == 0:
            state.copy_(plan.last)
        return part.seen


class UpsampleRows:
    """Snake, then a transposed convolution whose outputs depend on an input and the one before.

    As a plain convolution with two taps to ``stride * C_out`` channels: one product, no overlap to add.
    """

    def __init__(
        self,
        act: SnakeBeta,
        up: CausalTransposedConv1d,
        by_numpy: bool,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self._opening = SnakeBehind(act, 1, by_numpy)
        self.new_state, self.plan = self._opening.new_state, self._opening.plan
        weight = up.conv.weight.detach()
        self._in, self._out, _ = weight.shape
        by_output = F.pad(weight, (0, 2 * up.stride - up.kernel)).permute(2, 1, 0)  # [2 * stride, out, in]
        own, previous = torch.split(by_output, up.stride)
        matrix = torch.cat((previous, own), dim=2).flatten(0, 1)
        bias = self._opening.snake.offset((previous + own).flatten(0, 1))
        if up.conv.bias is not None:
            bias += up.conv.bias.detach().repeat(up.stride)
        self._product = PackedLinear(matrix, bias, dtype=dtype)

    def step(self, x: Tensor, state: Tensor, plan: BehindPlan, number: int, meet: Meet) -> Tensor:
        """Take a part's next ``[rows, C_in]``, return its next ``[rows * stride, C_out]``."""
        seen = self._opening.step(x, state, plan, number, meet)
        return self._product(windows(seen, 2).flatten(1)).view(-1, self._out)


class LastRows:
    """Snake, the convolution to one channel, and nothing else: the sum over taps is one along a diagonal."""

    def __init__(self, act: SnakeBeta, conv: CausalConv1d, by_numpy: bool) -> None:
        self._kernel = conv.kernel
        self._opening = SnakeBehind(act, conv.kernel - 1, by_numpy)
        self.new_state, self.plan = self._opening.new_state, self._opening.plan
        weight = conv.conv.weight.detach()[0]
        self._by_tap = weight.clone()
        bias = self._opening.snake.offset(weight.sum(dim=1)[None])
        self._bias = bias if conv.conv.bias is None else bias + conv.conv.bias.detach()

    def step(self, x: Tensor, state: Tensor, plan: BehindPlan, number: int, meet: Meet, out: Tensor) -> None:
        """Take a part's next ``[rows, C]``, write its next samples to ``out``, ``[rows]``."""
        seen = self._opening.step(x, state, plan, number, meet)
        kernel = self._kernel
        by_tap = torch.mm(seen, self._by_tap)  # [rows + kernel - 1, kernel]
        diagonals = by_tap.as_strided((len(x), kernel), (kernel, kernel + 1))
        torch.add(diagonals.sum(1), self._bias, out=out)


@dataclass(frozen=True)
class _Affine:
    weight: Tensor
    bias: Tensor


class ConvNeXtRows:
    """ConvNeXt block; norm's and residual's factors are part of the products."""

    def __init__(self, block: ConvNeXtBlock, dtype: torch.dtype = torch.float32) -> None:
        conv = block.dwconv.conv
        self._kernel = block.dwconv.kernel
        self._taps = conv.weight.detach()[:, 0].T.contiguous()
        assert conv.bias is not None
        self._bias = conv.bias.detach().clone()
        self._eps = block.norm.eps
        norm = _Affine(block.norm.weight.detach(), block.norm.bias.detach())
        first, second, gamma = block.pwconv1, block.pwconv2, block.gamma.detach()
        self._first = PackedLinear(
            first.weight * norm.weight,
            first.weight @ norm.bias + first.bias,
            dtype=dtype,
            gelu=True,
        )
        self._second = PackedLinear(second.weight * gamma[:, None], second.bias * gamma, dtype=dtype)

    def new_state(self) -> Tensor:
        """Return the past before the start, ``[kernel - 1, C]``."""
        return torch.zeros(self._kernel - 1, self._taps.shape[1])

    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """Take the next ``[T, C]``, return the next ``[T, C]``."""
        mixed = (windows(carry(state, x), self._kernel) * self._taps).sum(1).add_(self._bias)
        hidden = F.layer_norm(mixed, mixed.shape[1:], None, None, self._eps)
        return self._second(self._first(hidden)).add_(x)
