"""Fast convolution: the identity holds, and rounding stays small."""

from __future__ import annotations

import pytest
import torch

from decoder.streaming.kernels.toom_cook import POINTS, TAPS, UNIT_POINT, toom_cook
from tests.decoder.streaming.measure import snr_db


@pytest.mark.parametrize("outputs", POINTS)
def test_it_is_a_correlation(outputs: int, random: torch.Generator) -> None:
    """In float64 nothing is lost."""
    matrices = toom_cook(outputs)
    x = torch.randn(matrices.points, dtype=torch.float64, generator=random)
    w = torch.randn(TAPS, dtype=torch.float64, generator=random)
    y = matrices.output @ ((matrices.taps @ w) * (matrices.input @ x))
    wanted = torch.stack([w @ x[i : i + TAPS] for i in range(outputs)])
    assert torch.allclose(y, wanted, atol=1e-11)


@pytest.mark.parametrize("outputs", POINTS)
def test_float32_is_enough(outputs: int, random: torch.Generator) -> None:
    """100 dB on noise through 64 channels, where the whole decoder has to keep 80."""
    matrices, channels, tiles = toom_cook(outputs), 64, 20
    x = torch.randn(tiles * outputs + TAPS - 1, channels, generator=random)
    w = torch.randn(channels, channels, TAPS, generator=random)
    wanted = torch.nn.functional.conv1d(x.double().T[None], w.double())[0].T
    tiled = x.unfold(0, matrices.points, outputs)
    products = torch.einsum(
        "noc,tcn->nto",
        torch.einsum("nk,ock->noc", matrices.taps.float(), w),
        torch.einsum("nj,tcj->tcn", matrices.input.float(), tiled),
    )
    y = torch.einsum("mn,nto->tmo", matrices.output.float(), products).flatten(0, 1)
    assert snr_db(wanted, y) > 100


@pytest.mark.parametrize("outputs", POINTS)
def test_the_point_1_meets_every_output_alike(outputs: int) -> None:
    """So a bias can be added to one product in place of all outputs."""
    column = toom_cook(outputs).output[:, UNIT_POINT]
    assert (column == column[0]).all()
    assert column[0] != 0


def test_other_kernels_are_refused() -> None:
    """The points were chosen for seven taps."""
    with pytest.raises(ValueError, match="7 taps"):
        toom_cook(4, 5)
