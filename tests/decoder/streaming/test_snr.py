"""Decibels between signals."""

from __future__ import annotations

import math

import pytest
import torch

from decoder.streaming.snr import snr_db


def test_decibels() -> None:
    signal = torch.tensor([1.0, -1.0, 1.0])
    assert snr_db(signal, signal * 1.01) == pytest.approx(40.0, abs=1e-3)
    assert snr_db(signal, signal) == math.inf
    assert snr_db(torch.zeros(3), signal) == -math.inf


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_is_as_far_off_as_can_be(bad: float) -> None:
    assert snr_db(torch.ones(2), torch.tensor([1.0, bad])) == -math.inf
