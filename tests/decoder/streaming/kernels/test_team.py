"""Threads are woken for what is worth it, and everybody finds their number as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from decoder.streaming.kernels.team import Alone, together


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_large_products_get_all_threads(threads: int) -> None:
    """Many multiply-adds, or many weights that several rows share."""
    with Alone():
        for rows, weights, wanted in (
            (100, 1_000_000, threads),
            (4, 1_000_000, threads),
            (1, 1_000_000, 1),
            (100, 1_000, 1),
        ):
            with together(rows, weights):
                assert torch.get_num_threads() == wanted
            assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == threads


def test_an_error_leaves_the_number_as_it_was(threads: int) -> None:
    """Inside of both."""
    with pytest.raises(ZeroDivisionError), Alone(), together(100, 1_000_000):
        _ = 1 / 0
    assert torch.get_num_threads() == threads


def test_outside_nothing_changes(threads: int) -> None:
    """A kernel that is used by itself runs on what torch is set to."""
    with together(100, 1_000_000):
        assert torch.get_num_threads() == threads
