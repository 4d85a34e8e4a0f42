"""Rows are shared out without a gap, about evenly; memory of parts is apart."""

from __future__ import annotations

import pytest

from decoder.streaming.kernels.shares import Memory, Plans, Shares


@pytest.mark.parametrize(
    ("rows", "parts", "bounds"), [(7, 2, (0, 3, 7)), (9, 3, (0, 3, 6, 9)), (0, 1, (0, 0))]
)
def test_parts_are_about_as_long(rows: int, parts: int, bounds: tuple[int, ...]) -> None:
    """And follow each other."""
    shares = Shares.even(rows, parts)
    assert shares.bounds == bounds
    assert (shares.rows, shares.parts) == (rows, parts)
    assert [row for part in range(parts) for row in range(rows)[shares.of(part)]] == list(range(rows))


def test_a_longer_signal_has_the_same_parts() -> None:
    """Behind a transposed convolution."""
    assert Shares.even(7, 2).times(5).bounds == (0, 15, 35)


def test_parts_have_memory_of_their_own_beside_what_is_shared() -> None:
    """And all of it is counted."""
    memory = Memory()
    blocks = [memory.shared.take("x", 10), memory.own(1).take("x", 10), memory.own(0).take("x", 10)]
    assert len({block.data_ptr() for block in blocks}) == 3
    assert memory.own(1).take("x", 10).data_ptr() == blocks[1].data_ptr()
    assert memory.nbytes == 3 * 40


def test_a_plan_is_made_once_and_again_when_memory_has_grown() -> None:
    """Old views would keep the smaller memory alive; a plan that grew it itself keeps none of it, either."""
    memory = Memory()
    made: list[int] = []

    def make(shares: Shares) -> list[int]:
        made.append(shares.rows)
        return [memory.shared.take("x", size).data_ptr() for size in (shares.rows, 2 * shares.rows)]

    plans: Plans[list[int]] = Plans(memory)
    small, large = Shares.even(1000, 1), Shares.even(2000, 1)
    first = plans.of(small, make)
    assert first[0] == first[1]
    assert plans.of(small, make) is first
    before = len(made)
    assert len(set(plans.of(large, make) + plans.of(small, make))) == 1
    assert made[before:] == [2000, 2000, 1000]
