"""Residual units on rows: both ways to take the taps, any cut, any dilation."""

from __future__ import annotations

import pytest
import torch

from decoder.streaming.blocks import ResidualUnit
from decoder.streaming.kernels.residual import _BATCHED_MAX_CHANNELS, residual_rows
from decoder.streaming.kernels.toom_cook import POINTS
from decoder.streaming.kernels.workspace import Workspace
from decoder.streaming.random_weights import _fill
from tests.decoder.streaming.measure import CUTS, PARITY_DB, snr_db, step_through

ROWS = 230


def unit_of(channels: int, dilation: int, random: torch.Generator) -> ResidualUnit:
    unit = ResidualUnit(channels, dilation)
    with torch.no_grad():
        for module in unit.modules():
            _fill(module, random)
    return unit.requires_grad_(False)


def stepped(unit: ResidualUnit, x: torch.Tensor, cut: tuple[int, ...], outputs: int | None) -> torch.Tensor:
    with torch.inference_mode():
        rows = residual_rows(unit, Workspace(), outputs=outputs, by_numpy=True)
        state = rows.new_state()

        def step(piece: torch.Tensor) -> torch.Tensor:
            piece = piece.clone()
            rows.step(piece, state)
            return piece

        return step_through(step, x, cut, dim=0)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("dilation", [1, 3, 9])
@pytest.mark.parametrize("outputs", [None, *POINTS])
def test_steps_equal_the_unit(outputs: int | None, dilation: int, cut: str, random: torch.Generator) -> None:
    """Incomplete tiles, pieces shorter than the dilation, and the start's silence included."""
    unit = unit_of(12, dilation, random)
    x = torch.randn(ROWS, 12, generator=random)
    with torch.inference_mode():
        wanted = unit(x.T[None])[0].T
    assert snr_db(wanted, stepped(unit, x, CUTS[cut], outputs)) >= PARITY_DB


@pytest.mark.parametrize("channels", [_BATCHED_MAX_CHANNELS, _BATCHED_MAX_CHANNELS + 1])
def test_both_ways_to_multiply_agree(channels: int, random: torch.Generator) -> None:
    """One batched call for narrow layers, a packed product for each point for wide ones."""
    unit = unit_of(channels, 3, random)
    x = torch.randn(50, channels, generator=random)
    with torch.inference_mode():
        wanted = unit(x.T[None])[0].T
    assert snr_db(wanted, stepped(unit, x, (7,), 4)) >= PARITY_DB


@pytest.mark.parametrize("outputs", [None, 6])
def test_what_another_step_left_in_the_workspace_changes_no_bit(
    outputs: int | None, random: torch.Generator
) -> None:
    """Not even values that are not numbers."""
    unit = unit_of(12, 9, random)
    x = torch.randn(20, 12, generator=random)
    with torch.inference_mode():
        rows = residual_rows(unit, Workspace(), outputs=outputs, by_numpy=False)
        first, second = x.clone(), x.clone()
        rows.step(first, rows.new_state())
        rows.step(torch.full((300, 12), float("nan")), rows.new_state())
        rows.step(second, rows.new_state())
    assert torch.equal(first, second)
