"""Residual units on rows: both ways to take the taps, any cut, any dilation."""

from __future__ import annotations

from typing import cast

import pytest
import torch

from decoder.streaming.blocks import ResidualUnit
from decoder.streaming.kernels import taps
from decoder.streaming.kernels.crew import Crew, Meet
from decoder.streaming.kernels.residual import ResidualRows, residual_rows
from decoder.streaming.kernels.shares import Memory, Shares
from decoder.streaming.kernels.team import Alone
from decoder.streaming.kernels.toom_cook import POINTS
from decoder.streaming.random_weights import _fill
from tests.decoder.streaming.measure import CUTS, PARITY_DB, snr_db, step_through

ROWS = 230


def unit_of(channels: int, dilation: int, random: torch.Generator) -> ResidualUnit:
    unit = ResidualUnit(channels, dilation)
    with torch.no_grad():
        for module in unit.modules():
            _fill(module, random)
    return unit.requires_grad_(False)


class Stepper:
    """A unit on rows, and all that a step of it takes."""

    def __init__(self, unit: ResidualUnit, outputs: int | None) -> None:
        self.crew, self.memory = Crew(), Memory()
        with torch.inference_mode():
            self.rows: ResidualRows = residual_rows(unit, self.crew, outputs=outputs, by_numpy=True)

    def step(self, x: torch.Tensor, state: torch.Tensor, parts: int = 1) -> torch.Tensor:
        shares = Shares.even(len(x), min(parts, len(x)))
        with torch.inference_mode():
            plan, out = self.rows.plan(shares, self.memory, "buffer"), torch.empty_like(x)

            def part(number: int, meet: Meet) -> None:
                mine = shares.of(number)
                self.rows.step(x[mine], state, plan, number, meet, out[mine])

            self.crew.run(part, shares.parts)
        return out

    def through(self, x: torch.Tensor, cut: tuple[int, ...], parts: int = 1) -> torch.Tensor:
        state = self.rows.new_state()
        return step_through(lambda piece: self.step(piece, state, parts), x, cut, dim=0)


def whole(unit: ResidualUnit, x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return cast(torch.Tensor, unit(x.T[None])[0].T)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("dilation", [1, 3, 9])
@pytest.mark.parametrize("outputs", [None, *POINTS])
def test_steps_equal_the_unit(outputs: int | None, dilation: int, cut: str, random: torch.Generator) -> None:
    """Incomplete tiles, pieces shorter than the dilation, and the start's silence included."""
    unit = unit_of(12, dilation, random)
    x = torch.randn(ROWS, 12, generator=random)
    assert snr_db(whole(unit, x), Stepper(unit, outputs).through(x, CUTS[cut])) >= PARITY_DB


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("dilation", [1, 9])
@pytest.mark.parametrize("outputs", [None, *POINTS])
def test_rows_shared_out_among_threads_equal_the_unit(
    outputs: int | None, dilation: int, parts: int, random: torch.Generator
) -> None:
    """Parts shorter than the context, tiles that reach into the next part and behind the last."""
    unit = unit_of(12, dilation, random)
    x = torch.randn(ROWS, 12, generator=random)
    for cut in ((1,), (50,), (7, 100)):
        assert snr_db(whole(unit, x), Stepper(unit, outputs).through(x, cut, parts)) >= PARITY_DB


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("threads", [1, 2, 16])
def test_both_ways_to_multiply_agree(
    packed: bool, threads: int, monkeypatch: pytest.MonkeyPatch, random: torch.Generator
) -> None:
    """A packed product for each point, the points shared out (also to more threads), or one batched call."""
    monkeypatch.setattr(taps, "packed_is_faster", lambda: packed)
    unit = unit_of(48, 3, random)
    x = torch.randn(50, 48, generator=random)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with Alone():
            assert snr_db(whole(unit, x), Stepper(unit, 4).through(x, (7,))) >= PARITY_DB
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("outputs", [None, 6])
def test_what_another_step_left_in_the_memory_changes_no_bit(
    outputs: int | None, parts: int, random: torch.Generator
) -> None:
    """Not even values that are not numbers."""
    unit = unit_of(12, 9, random)
    x = torch.randn(20, 12, generator=random)
    stepper = Stepper(unit, outputs)
    first = stepper.step(x, stepper.rows.new_state(), parts)
    stepper.step(torch.full((300, 12), float("nan")), stepper.rows.new_state(), parts)
    assert torch.equal(first, stepper.step(x, stepper.rows.new_state(), parts))
