"""Toom-Cook matrices: ``m`` outputs of a correlation with ``r`` taps from ``m + r - 1`` products.

For a tile ``x`` of ``n = m + r - 1`` inputs and taps ``w``::

    y[i] = sum_k w[k] x[i + k]  =  output @ ((taps @ w) * (input @ x))

(Winograd 1980; Lavin and Gray, arXiv:1509.09308, call it F(m, r).) The matrices are computed
with fractions and are exact before they are rounded. What the points decide is how much rounding grows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

POINTS: dict[int, tuple[str, ...]] = {
    3: ("0", "1", "-1", "1/2", "-1/2", "2", "-2", "3/2"),
    4: ("0", "1", "-1", "1/2", "-1/2", "2", "-2", "3/4", "-3/4"),
    6: ("0", "1", "-1", "1/3", "-1/3", "2/3", "-2/3", "3/2", "-3/2", "3", "-3"),
}
"""For 7 taps, by ``m``; infinity is added. Of all sets of small fractions with 1 among them nearly the best
for ``m`` 4 (110 dB on noise, float32) and the best for 6 (108 dB)."""

TAPS = 7

UNIT_POINT = 1
"""Index of the point 1: what is added to its product is added to every output of the tile."""


@dataclass(frozen=True)
class ToomCook:
    """The three matrices, float64."""

    outputs: int
    """m."""
    points: int
    """n = m + r - 1."""
    output: Tensor
    """``[m, n]``, its column of the point 1 all equal."""
    taps: Tensor
    """``[n, r]``"""
    input: Tensor
    """``[n, n]``"""


@functools.cache
def toom_cook(outputs: int, taps: int = TAPS) -> ToomCook:
    """Return the matrices for ``outputs`` (a key of ``POINTS``) and 7 taps."""
    if taps != TAPS:
        raise ValueError(f"points are known for {TAPS} taps, not {taps}")
    points = [Fraction(text) for text in POINTS[outputs]]
    count = outputs + taps - 1
    inverse = _inverse(_powers(points, count))
    output = _tensor(_powers(points, outputs)).T
    tap = _tensor(_powers(points, taps))
    spread = _tensor(inverse).T
    # Scale each product's three rows to about the same size. Powers of two round nothing.
    by_input = _power_of_two(spread.norm(dim=1))
    by_taps = _power_of_two((tap * by_input[:, None]).norm(dim=1))
    return ToomCook(
        outputs=outputs,
        points=count,
        output=output * by_taps,
        taps=tap * (by_input / by_taps)[:, None],
        input=spread / by_input[:, None],
    )


def _powers(points: Sequence[Fraction], count: int) -> list[list[Fraction]]:
    """Rows ``1, p, p^2, ..`` for each point; for infinity, the last power alone."""
    rows = [[point**power for power in range(count)] for point in points]
    return [*rows, [Fraction(0)] * (count - 1) + [Fraction(1)]]


def _inverse(matrix: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """Invert by Gauss and Jordan, exactly."""
    size = len(matrix)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(size))] for i, row in enumerate(matrix)]
    for column in range(size):
        pivot = next(i for i in range(column, size) if rows[i][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for i in range(size):
            if i != column and rows[i][column]:
                factor = rows[i][column]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[column], strict=True)]
    return [row[size:] for row in rows]


def _tensor(rows: Sequence[Sequence[Fraction]]) -> Tensor:
    return torch.tensor([[float(value) for value in row] for row in rows], dtype=torch.float64)


def _power_of_two(values: Tensor) -> Tensor:
    return torch.exp2(torch.round(torch.log2(values)))
