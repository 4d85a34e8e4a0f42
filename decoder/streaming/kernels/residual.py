"""Residual units on rows: Snake, 7 dilated taps, Snake, pointwise product, sum.

Two ways to take the taps, of one interface: ``DirectTaps`` gathers and multiplies, ``ToomCookTaps``
transforms tiles so that fewer products do. Time per output column relative to the direct way, measured
(AVX-512, float32): see CONTRIBUTING.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from decoder.streaming.blocks import ResidualUnit
from decoder.streaming.kernels.cosine import cosine_into
from decoder.streaming.kernels.packed_linear import PackedLinear
from decoder.streaming.kernels.snake import Snake
from decoder.streaming.kernels.team import together
from decoder.streaming.kernels.toom_cook import TAPS, UNIT_POINT, toom_cook
from decoder.streaming.kernels.workspace import Workspace

CONTEXT = TAPS - 1

_BATCHED_MAX_CHANNELS = 511
"""Up to so many channels the products of all points are one batched call, above one packed call each.

Measured (AVX-512, one thread, float32): 96 channels, 1920 rows 0.76 ms batched, 0.91 + 0.07 to join them
packed; 192 alike; 384 channels, 160 rows 1.60 against 1.28; 768 channels, 32 rows 2.98 against 2.13. With
more threads one call wakes them once, which is worth more than that at 384.
"""


@dataclass(frozen=True)
class TapsPlan:
    """Views of the workspace for one number of rows, made once."""

    rows: int
    fresh: Tensor
    """``[rows, C]``, where the new inputs are written."""
    context: Tensor
    """``[6 * dilation, C]``, the rows before them."""
    last: Tensor
    """``[6 * dilation, C]``, the rows that the next step's context is."""
    padding: Tensor
    """``[some, C]``, rows behind the new ones that fill the last tiles."""
    windows: Tensor
    """All inputs of all outputs, overlapping."""
    gathered: Tensor
    """The same, copied."""
    spare: Tensor
    """Shaped like what ``Taps.run`` returns."""
    activated: Tensor
    """``[rows or more, C]`` in the order of time."""
    activated_by_tile: Tensor
    """The same memory in the order of ``Taps.run``'s result, with surplus rows."""


class Taps(Protocol):
    """A causal convolution with 7 taps from C to C channels, without bias of its own."""

    def plan(self, rows: int) -> TapsPlan:
        """Lay out the workspace for ``rows``."""
        ...

    def run(self, plan: TapsPlan) -> Tensor:
        """Convolve what ``plan.context`` and ``plan.fresh`` hold; the result lasts until the next."""
        ...


class DirectTaps:
    """Each output's 7 inputs side by side, one product for all."""

    def __init__(
        self, weight: Tensor, bias: Tensor, dilation: int, workspace: Workspace, dtype: torch.dtype
    ) -> None:
        """Take ``weight`` ``[C, C, 7]`` and ``bias`` ``[C]``."""
        self._channels = weight.shape[0]
        self._dilation = dilation
        self._workspace = workspace
        self._product = PackedLinear(weight.permute(0, 2, 1).flatten(1), bias, dtype=dtype)

    def plan(self, rows: int) -> TapsPlan:
        """As ``Taps.plan``."""
        channels, dilation, take = self._channels, self._dilation, self._workspace.take
        before = CONTEXT * dilation
        buffer = take("buffer", before + rows, channels)
        return TapsPlan(
            rows=rows,
            fresh=buffer[before:],
            context=buffer[:before],
            last=buffer[rows:],
            padding=buffer[:0],
            windows=buffer.as_strided((rows, TAPS, channels), (channels, dilation * channels, 1)),
            gathered=take("gathered", rows, TAPS, channels),
            spare=take("spare", rows, channels),
            activated=take("buffer", rows, channels),
            activated_by_tile=take("buffer", rows, channels),
        )

    def run(self, plan: TapsPlan) -> Tensor:
        """As ``Taps.run``: ``[rows, C]``."""
        plan.gathered.copy_(plan.windows)
        return self._product(plan.gathered.flatten(1))


class ToomCookTaps:
    """``n`` products for ``m`` outputs instead of ``7 m``.

    A dilated convolution is ``dilation`` plain ones on every dilation-th row. They are taken
    together: ``dilation`` rows are one wide row, and tiles are made of wide rows. The last tile's missing
    rows are zeros and its surplus outputs dropped.
    """

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor,
        dilation: int,
        workspace: Workspace,
        outputs: int,
        dtype: torch.dtype,
    ) -> None:
        """Take ``weight`` ``[C, C, 7]`` and ``bias`` ``[C]``; ``outputs`` is a tile's m.

        ``dtype`` is how packed products are kept; batched ones are float32.
        """
        matrices = toom_cook(outputs)
        self._channels = weight.shape[0]
        self._dilation = dilation
        self._workspace = workspace
        self._outputs, self._points = matrices.outputs, matrices.points
        self._input, self._output = matrices.input.float(), matrices.output.float()
        by_tap = weight.double().permute(2, 0, 1).flatten(1)
        transformed = matrices.taps.matmul(by_tap).view(self._points, self._channels, self._channels).float()
        scaled_bias = (bias.double() / matrices.output[0, UNIT_POINT]).float()
        self._multiply: _Batched | _Packed
        if self._channels <= _BATCHED_MAX_CHANNELS:
            self._multiply = _Batched(transformed, scaled_bias)
        else:
            self._multiply = _Packed(transformed, scaled_bias, dtype)

    def plan(self, rows: int) -> TapsPlan:
        """As ``Taps.plan``."""
        channels, dilation, take = self._channels, self._dilation, self._workspace.take
        outputs, points = self._outputs, self._points
        before = CONTEXT * dilation
        tiles = math.ceil(math.ceil(rows / dilation) / outputs)
        wide = dilation * channels
        buffer = take("buffer", (CONTEXT + tiles * outputs) * dilation, channels)
        in_time = take("buffer", tiles * outputs * dilation, channels)
        return TapsPlan(
            rows=rows,
            fresh=buffer[before : before + rows],
            context=buffer[:before],
            last=buffer[rows : rows + before],
            padding=buffer[before + rows :],
            windows=buffer.as_strided((points, tiles, wide), (wide, outputs * wide, 1)),
            gathered=take("gathered", points, tiles, wide),
            spare=take("spare", outputs, tiles, dilation, channels),
            activated=in_time[:rows],
            activated_by_tile=in_time.view(tiles, outputs, dilation, channels).transpose(0, 1),
        )

    def run(self, plan: TapsPlan) -> Tensor:
        """As ``Taps.run``: ``[m, tiles, dilation, C]``."""
        points = self._points
        if len(plan.padding):
            plan.padding.zero_()  # whatever another step left there would change the rounding
        plan.gathered.copy_(plan.windows)
        transformed = self._workspace.take("transformed", *plan.gathered.shape).view(points, -1)
        columns = transformed.shape[1]
        with together(columns, self._input.numel()):
            torch.mm(self._input, plan.gathered.view(points, -1), out=transformed)
        by_point = transformed.view(points, -1, self._channels)
        products = plan.gathered.view(by_point.shape)
        self._multiply(by_point, products)
        result = self._workspace.take("transformed", *plan.spare.shape)
        with together(columns, self._output.numel()):
            torch.mm(self._output, products.view(points, -1), out=result.view(self._outputs, -1))
        return result


class _Packed:
    """A packed product for each point."""

    def __init__(self, weights: Tensor, bias: Tensor, dtype: torch.dtype) -> None:
        """Take ``[points, out, in]``, and what is added at the point 1."""
        self._products = [
            PackedLinear(weight, bias if index == UNIT_POINT else None, dtype=dtype)
            for index, weight in enumerate(weights)
        ]

    def __call__(self, x: Tensor, out: Tensor) -> None:
        """``[points, rows, in]`` -> ``[points, rows, out]``."""
        torch.stack([product(part) for product, part in zip(self._products, x, strict=True)], out=out)


class _Batched:
    """One call for all points."""

    def __init__(self, weights: Tensor, bias: Tensor) -> None:
        """As ``_Packed``."""
        self._weights = weights.transpose(1, 2).contiguous()
        self._bias = bias

    def __call__(self, x: Tensor, out: Tensor) -> None:
        """As ``_Packed``."""
        with together(x.shape[1], self._weights.numel()):
            torch.bmm(x, self._weights, out=out)
        out[UNIT_POINT] += self._bias


class ResidualRows:
    """One residual unit; adds to its input in place."""

    def __init__(self, unit: ResidualUnit, taps: Taps, closing: PackedLinear, by_numpy: bool) -> None:
        self._snake = Snake.of(unit.act1)
        self._second = Snake.of(unit.act2)
        self._coefficient = self._second.angle * self._second.minus_half
        self._rows_before = CONTEXT * unit.conv1.dilation
        self._taps = taps
        self._closing = closing
        self._by_numpy = by_numpy
        self._plans: dict[int, TapsPlan] = {}

    def new_state(self) -> Tensor:
        """Return the past before the start, ``[6 * dilation, C]``."""
        return self._snake.initial(self._rows_before)

    def step(self, x: Tensor, state: Tensor) -> None:
        """Take the next ``[rows, C]`` and add the unit's result to it; ``state`` advances."""
        plan = self._plans.get(len(x))
        if plan is None:
            plan = self._plans[len(x)] = self._taps.plan(len(x))
        angle = plan.spare.view(-1)[: x.numel()].view(x.shape)
        torch.mul(x, self._snake.angle, out=angle)
        cosine_into(angle, angle, by_numpy=self._by_numpy)
        plan.context.copy_(state)
        self._snake.finish(x, angle, plan.fresh)
        state.copy_(plan.last)
        result = self._taps.run(plan)
        # The taps' weights bear the factor of the second Snake's angle, so the result is one already.
        cosine_into(result, plan.spare, by_numpy=self._by_numpy)
        torch.addcmul(result, plan.spare, self._coefficient, out=plan.activated_by_tile)
        x.add_(self._closing(plan.activated))


def residual_rows(
    unit: ResidualUnit,
    workspace: Workspace,
    *,
    outputs: int | None,
    by_numpy: bool,
    dtype: torch.dtype = torch.float32,
    closing_dtype: torch.dtype = torch.float32,
) -> ResidualRows:
    """Take a unit's weights.

    Args:
        unit: with biases.
        workspace: shared by the units of a block, which run one after the other.
        outputs: of a Toom-Cook tile; None multiplies directly.
        by_numpy: who computes cosines.
        dtype: of the taps.
        closing_dtype: of the pointwise product.

    """
    first, second = Snake.of(unit.act1), Snake.of(unit.act2)
    conv1, conv2 = unit.conv1.conv, unit.conv2.conv
    weight, bias = conv1.weight.detach(), conv1.bias
    assert bias is not None
    assert conv2.bias is not None
    bias = bias.detach() + first.offset(weight.sum(dim=2))
    weight = weight * second.angle[:, None, None]
    bias = bias * second.angle
    pointwise = conv2.weight.detach()[..., 0]
    closing = PackedLinear(
        pointwise / second.angle, conv2.bias.detach() + second.offset(pointwise), dtype=closing_dtype
    )
    dilation = unit.conv1.dilation
    taps: Taps
    if outputs is None:
        taps = DirectTaps(weight, bias, dilation, workspace, dtype)
    else:
        taps = ToomCookTaps(weight, bias, dilation, workspace, outputs, dtype)
    return ResidualRows(unit, taps, closing, by_numpy)
