"""Seven dilated taps on rows, in two ways of one interface.

``DirectTaps`` gathers and multiplies, ``ToomCookTaps`` transforms tiles so that fewer products do. Time per
output column relative to the direct way, measured (AVX-512, float32): see CONTRIBUTING.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from decoder.streaming.kernels.crew import Crew, Meet
from decoder.streaming.kernels.packed_linear import PackedLinear, packed_is_faster
from decoder.streaming.kernels.shares import Shares
from decoder.streaming.kernels.team import size, together
from decoder.streaming.kernels.toom_cook import TAPS, UNIT_POINT, toom_cook
from decoder.streaming.kernels.workspace import Workspace

CONTEXT = TAPS - 1

_BATCHED_MAX_CHANNELS = 511
"""Up to so many channels the products of all points may be one batched call; above, a packed call each."""


@dataclass(frozen=True)
class TapsPlan:
    """Views of memory for one part of a step, made once."""

    windows: Tensor
    """All inputs of all its outputs, overlapping, in what all parts see."""
    gathered: Tensor
    """The same, copied, in what the product takes."""
    transformed: Tensor
    """Shaped like ``gathered``; unused where nothing is transformed."""
    spare: Tensor
    """Shaped like what ``Taps.run`` returns."""
    activated: Tensor
    """``[rows, C]`` in the order of time."""
    activated_by_tile: Tensor
    """The same memory in the order of ``Taps.run``'s result, with surplus rows."""


class Taps(Protocol):
    """A causal convolution with 7 taps from C to C channels, without bias of its own."""

    def reach(self, rows: int) -> int:
        """Return how many inputs, counted from the first that it sees, ``rows`` outputs take."""
        ...

    def plan(self, buffer: Tensor, rows: int, own: Workspace) -> TapsPlan:
        """Lay out the memory for ``rows`` outputs whose inputs begin with ``buffer``."""
        ...

    def run(self, plan: TapsPlan) -> Tensor:
        """Convolve; the result lasts until the next run on the same ``Workspace``."""
        ...


class DirectTaps:
    """Each output's 7 inputs side by side, one product for all."""

    def __init__(self, weight: Tensor, bias: Tensor, dilation: int, dtype: torch.dtype) -> None:
        """Take ``weight`` ``[C, C, 7]`` and ``bias`` ``[C]``."""
        self._channels = weight.shape[0]
        self._dilation = dilation
        self._product = PackedLinear(weight.permute(0, 2, 1).flatten(1), bias, dtype=dtype)

    def reach(self, rows: int) -> int:
        """As ``Taps.reach``."""
        return CONTEXT * self._dilation + rows

    def plan(self, buffer: Tensor, rows: int, own: Workspace) -> TapsPlan:
        """As ``Taps.plan``."""
        channels, dilation = self._channels, self._dilation
        windows = buffer[: self.reach(rows)].as_strided(
            (rows, TAPS, channels), (channels, dilation * channels, 1), buffer.storage_offset()
        )
        gathered = own.take("gathered", rows, TAPS, channels)
        if self._product.dtype == torch.bfloat16:
            gathered = gathered.view(-1).view(torch.bfloat16)[: gathered.numel()].view(gathered.shape)
        return TapsPlan(
            windows=windows,
            gathered=gathered,
            transformed=gathered,
            spare=own.take("spare", rows, channels),
            activated=own.take("gathered", rows, channels),
            activated_by_tile=own.take("gathered", rows, channels),
        )

    def run(self, plan: TapsPlan) -> Tensor:
        """As ``Taps.run``: ``[rows, C]``."""
        plan.gathered.copy_(plan.windows)
        return self._product(plan.gathered.flatten(1))


class ToomCookTaps:
    """``n`` products for ``m`` outputs instead of ``7 m``.

    A dilated convolution is ``dilation`` plain ones on every dilation-th row. They are taken
    together: ``dilation`` rows are one wide row, and tiles are made of wide rows. The last tile's missing
    rows are what comes behind, and its surplus outputs dropped.
    """

    def __init__(
        self, weight: Tensor, bias: Tensor, dilation: int, outputs: int, dtype: torch.dtype, crew: Crew
    ) -> None:
        """Take ``weight`` ``[C, C, 7]`` and ``bias`` ``[C]``; ``outputs`` is a tile's m.

        ``dtype`` is how packed products are kept; batched ones are float32.
        """
        matrices = toom_cook(outputs)
        self._channels = weight.shape[0]
        self._dilation = dilation
        self._outputs, self._points = matrices.outputs, matrices.points
        self._input, self._output = matrices.input.float(), matrices.output.float()
        by_tap = weight.double().permute(2, 0, 1).flatten(1)
        transformed = matrices.taps.matmul(by_tap).view(self._points, self._channels, self._channels).float()
        scaled_bias = (bias.double() / matrices.output[0, UNIT_POINT]).float()
        self._multiply: _Batched | _Packed
        if self._channels > _BATCHED_MAX_CHANNELS or packed_is_faster():
            self._multiply = _Packed(transformed, scaled_bias, dtype, crew)
        else:
            self._multiply = _Batched(transformed, scaled_bias)

    def reach(self, rows: int) -> int:
        """As ``Taps.reach``: whole tiles."""
        return (CONTEXT + self._tiles(rows) * self._outputs) * self._dilation

    def plan(self, buffer: Tensor, rows: int, own: Workspace) -> TapsPlan:
        """As ``Taps.plan``."""
        channels, dilation = self._channels, self._dilation
        outputs, points, tiles = self._outputs, self._points, self._tiles(rows)
        wide = dilation * channels
        windows = buffer[: self.reach(rows)].as_strided(
            (points, tiles, wide), (wide, outputs * wide, 1), buffer.storage_offset()
        )
        in_time = own.take("gathered", tiles * outputs * dilation, channels)
        return TapsPlan(
            windows=windows,
            gathered=own.take("gathered", points, tiles, wide),
            transformed=own.take("transformed", points, tiles, wide),
            spare=own.take("spare", outputs, tiles, dilation, channels),
            activated=in_time[:rows],
            activated_by_tile=in_time.view(tiles, outputs, dilation, channels).transpose(0, 1),
        )

    def run(self, plan: TapsPlan) -> Tensor:
        """As ``Taps.run``: ``[m, tiles, dilation, C]``."""
        points, gathered, transformed = self._points, plan.gathered, plan.transformed
        gathered.copy_(plan.windows)
        columns = transformed.numel() // points
        with together(columns, self._input.numel()):
            torch.mm(self._input, gathered.view(points, -1), out=transformed.view(points, -1))
        products = gathered.view(points, -1, self._channels)
        self._multiply(transformed.view(products.shape), products)
        result = transformed.flatten()[: plan.spare.numel()].view(plan.spare.shape)
        with together(columns, self._output.numel()):
            torch.mm(self._output, products.view(points, -1), out=result.view(self._outputs, -1))
        return result

    def _tiles(self, rows: int) -> int:
        return math.ceil(math.ceil(rows / self._dilation) / self._outputs)


class _Packed:
    """A packed product for each point; threads that do not work on rows of their own share the points."""

    def __init__(self, weights: Tensor, bias: Tensor, dtype: torch.dtype, crew: Crew) -> None:
        """Take ``[points, out, in]``, and what is added at the point 1."""
        self._products = [
            PackedLinear(weight, bias if index == UNIT_POINT else None, dtype=dtype)
            for index, weight in enumerate(weights)
        ]
        self._crew = crew

    def __call__(self, x: Tensor, out: Tensor) -> None:
        """``[points, rows, in]`` -> ``[points, rows, out]``."""
        shares = Shares.even(len(x), min(size(), len(x)))

        def part(number: int, _: Meet) -> None:
            mine = shares.of(number)
            products = zip(self._products[mine], x[mine], strict=True)
            torch.stack([product(rows) for product, rows in products], out=out[mine])

        self._crew.run(part, shares.parts)


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
