"""Residual units on rows: Snake, 7 dilated taps, Snake, pointwise product, sum.

Rows are shared out among threads (see ``crew``): a part writes what the taps look at to memory that all
parts see, meets the others, and has the rest for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from decoder.streaming.blocks import ResidualUnit
from decoder.streaming.kernels.cosine import cosine_into
from decoder.streaming.kernels.crew import Crew, Meet
from decoder.streaming.kernels.packed_linear import PackedLinear
from decoder.streaming.kernels.shares import Memory, Shares
from decoder.streaming.kernels.snake import Snake
from decoder.streaming.kernels.taps import CONTEXT, DirectTaps, Taps, TapsPlan, ToomCookTaps


@dataclass(frozen=True)
class ResidualPart:
    """Views for one part of a unit's step."""

    fresh: Tensor
    """``[rows, C]``, where it writes what the taps look at."""
    angle: Tensor
    """``[rows, C]``"""
    taps: TapsPlan


@dataclass(frozen=True)
class ResidualPlan:
    """Views for a unit's step."""

    context: Tensor
    """``[6 * dilation, C]``, the rows before the new ones."""
    last: Tensor
    """``[6 * dilation, C]``, the rows that the next step's context is."""
    padding: Tensor
    """``[some, C]``, rows behind the new ones that fill the last tiles."""
    parts: list[ResidualPart]


class ResidualRows:
    """One residual unit; adds to its input."""

    def __init__(self, unit: ResidualUnit, taps: Taps, closing: PackedLinear, by_numpy: bool) -> None:
        self._snake = Snake.of(unit.act1)
        self._second = Snake.of(unit.act2)
        self._coefficient = self._second.angle * self._second.minus_half
        self._rows_before = CONTEXT * unit.conv1.dilation
        self._channels = len(self._snake.angle)
        self._taps = taps
        self._closing = closing
        self._by_numpy = by_numpy

    def new_state(self) -> Tensor:
        """Return the past before the start, ``[6 * dilation, C]``."""
        return self._snake.initial(self._rows_before)

    def plan(self, shares: Shares, memory: Memory, buffer: str) -> ResidualPlan:
        """Lay out the memory for steps of ``shares.rows``.

        What is shared is the block named ``buffer``. Two units in a row take different ones: a part that is
        ahead writes the next unit's while another one still reads this one's.
        """
        rows, before = shares.rows, self._rows_before
        lengths = [end - start for start, end in zip(shares.bounds, shares.bounds[1:], strict=False)]
        reach = max(
            start + self._taps.reach(length) for start, length in zip(shares.bounds, lengths, strict=False)
        )
        shared = memory.shared.take(buffer, reach, self._channels)
        parts = []
        for number, length in enumerate(lengths):
            start = shares.bounds[number]
            taps = self._taps.plan(shared[start:], length, memory.own(number))
            parts.append(
                ResidualPart(
                    fresh=shared[before + start : before + start + length],
                    angle=taps.spare.view(-1)[: length * self._channels].view(length, -1),
                    taps=taps,
                )
            )
        return ResidualPlan(
            context=shared[:before],
            last=shared[rows : rows + before],
            padding=shared[before + rows :],
            parts=parts,
        )

    def step(
        self, x: Tensor, state: Tensor, plan: ResidualPlan, number: int, meet: Meet, out: Tensor
    ) -> None:
        """Do one part of a step.

        Args:
            x: the part's next rows ``[rows, C]``.
            state: of the unit; it advances.
            plan: for all parts.
            number: of the part.
            meet: waits for the other parts; called once.
            out: takes the sum of ``x`` and the unit's result; may be ``x``.

        """
        part = plan.parts[number]
        torch.mul(x, self._snake.angle, out=part.angle)
        cosine_into(part.angle, part.angle, by_numpy=self._by_numpy)
        if number == 0:
            plan.context.copy_(state)
            if len(plan.padding):
                plan.padding.zero_()  # whatever another step left there would change the rounding
        self._snake.finish(x, part.angle, part.fresh)
        meet()
        if number == 0:
            state.copy_(plan.last)
        result = self._taps.run(part.taps)
        # The taps' weights bear the factor of the second Snake's angle, so the result is one already.
        cosine_into(result, part.taps.spare, by_numpy=self._by_numpy)
        torch.addcmul(result, part.taps.spare, self._coefficient, out=part.taps.activated_by_tile)
        torch.add(x, self._closing(part.taps.activated), out=out)


def residual_rows(
    unit: ResidualUnit,
    crew: Crew,
    *,
    outputs: int | None,
    by_numpy: bool,
    dtype: torch.dtype = torch.float32,
    closing_dtype: torch.dtype = torch.float32,
) -> ResidualRows:
    """Take a unit's weights.

    Args:
        unit: with biases.
        crew: that its steps are shared out to.
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
        taps = DirectTaps(weight, bias, dilation, dtype)
    else:
        taps = ToomCookTaps(weight, bias, dilation, outputs, dtype, crew)
    return ResidualRows(unit, taps, closing, by_numpy)
