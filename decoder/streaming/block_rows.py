"""Upsampling blocks on rows, their steps shared out among threads."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from decoder.streaming.blocks import UpsampleBlock
from decoder.streaming.kernels.crew import Crew, Meet
from decoder.streaming.kernels.residual import ResidualPlan, ResidualRows, residual_rows
from decoder.streaming.kernels.rows import BehindPlan, LastRows, UpsampleRows
from decoder.streaming.kernels.shares import Memory, Plans, Shares
from decoder.streaming.kernels.team import size
from decoder.streaming.precision import Precision, of_block

_BLOCK_ELEMENTS = 400_000
"""A block takes at most about so many values of signal at once, so that what it works on stays in the caches.

Measured on 2 busy cores, 12 frames: 60,000 948 ms; 100,000 654; 200,000 531; 400,000 502; 800,000 488.
"""
_LEAST_ELEMENTS = 60_000
"""Values of signal that a thread is woken for at least. With fewer, what an operation costs beside its
arithmetic, much of which only one thread at a time can do in Python, is more than another thread brings.
"""
_TOOM_COOK_MIN_CHANNELS = 64
_WIDE_CHANNELS = 512


@dataclass
class BlockState:
    """Of one upsampling block; rows of what its convolutions saw last."""

    upsample: Tensor
    units: list[Tensor]


class BlockRows:
    """An upsampling block: Snake, transposed convolution, residual units."""

    def __init__(
        self,
        block: UpsampleBlock,
        memory: Memory,
        crew: Crew,
        by_numpy: bool,
        precision: Precision,
        index: int,
    ) -> None:
        act, up, units = block.typed_parts()
        self._channels, self._stride = up.conv.out_channels, up.stride
        outputs = None
        if index >= precision.toom_cook_from_block and self._channels >= _TOOM_COOK_MIN_CHANNELS:
            outputs = 4 if self._channels >= _WIDE_CHANNELS else 6
        self.most_rows = max(1, _BLOCK_ELEMENTS // (self._channels * up.stride))
        """Input rows to take at once, for each thread."""
        self._name = f"block {index}"
        self._memory, self._crew = memory, crew
        self._plans: Plans[_BlockPlan] = Plans(memory)
        self._upsample = UpsampleRows(act, up, by_numpy, of_block(precision.transposed, index))
        self._units: list[ResidualRows] = [
            residual_rows(
                unit,
                crew,
                outputs=outputs,
                by_numpy=by_numpy,
                dtype=of_block(precision.taps, index),
                closing_dtype=of_block(precision.closing, index),
            )
            for unit in units
        ]

    def new_state(self) -> BlockState:
        """Return the state before the first row."""
        return BlockState(self._upsample.new_state(), [unit.new_state() for unit in self._units])

    def step(self, x: Tensor, state: BlockState) -> Tensor:
        """Take the next ``[T, C_in]``, return the next ``[T * stride, C_out]``; they last until the next."""
        shares = shared_out(len(x), self._stride * self._channels)
        plan = self._plans.of(shares, self._plan)
        self._crew.run(lambda number, meet: self._part(x, state, plan, number, meet), shares.parts)
        return plan.out

    def _plan(self, shares: Shares) -> _BlockPlan:
        after = shares.times(self._stride)
        upsample = self._upsample.plan(shares, self._memory)
        units = [
            unit.plan(after, self._memory, f"buffer {number % 2}") for number, unit in enumerate(self._units)
        ]
        out = self._memory.shared.take(self._name, after.rows, self._channels)
        return _BlockPlan(shares, after, upsample, units, out)

    def _part(self, x: Tensor, state: BlockState, plan: _BlockPlan, number: int, meet: Meet) -> None:
        mine = self._upsample.step(x[plan.before.of(number)], state.upsample, plan.upsample, number, meet)
        out = plan.out[plan.after.of(number)]
        for unit, unit_state, unit_plan in zip(self._units, state.units, plan.units, strict=True):
            unit.step(mine, unit_state, unit_plan, number, meet, out if unit is self._units[-1] else mine)


@dataclass(frozen=True)
class _BlockPlan:
    """How a step is shared out, and the memory for it."""

    before: Shares
    """Of input rows."""
    after: Shares
    """Of output rows."""
    upsample: BehindPlan
    units: list[ResidualPlan]
    out: Tensor
    """``[T * stride, C_out]``"""


class LastStep:
    """What makes samples of the last block's rows."""

    def __init__(self, rows: LastRows, memory: Memory, crew: Crew) -> None:
        self._rows = rows
        self._memory, self._crew = memory, crew
        self._plans: Plans[BehindPlan] = Plans(memory)
        self.new_state = rows.new_state

    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """Take the next ``[T, C]``, return the next ``[T]``."""
        shares = shared_out(len(x), x.shape[1])
        plan = self._plans.of(shares, lambda shares: self._rows.plan(shares, self._memory))
        out = torch.empty(len(x))

        def part(number: int, meet: Meet) -> None:
            mine = shares.of(number)
            self._rows.step(x[mine], state, plan, number, meet, out[mine])

        self._crew.run(part, shares.parts)
        return out


def shared_out(rows: int, elements: int) -> Shares:
    """Share ``rows`` of so many values each out to all threads, or to fewer if that is too little."""
    return Shares.even(rows, max(1, min(size(), rows, rows * elements // _LEAST_ELEMENTS)))
