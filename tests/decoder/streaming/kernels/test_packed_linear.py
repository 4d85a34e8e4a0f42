"""Packed products: as torch's own, to the precision that is asked for."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from decoder.streaming.kernels import packed_linear
from decoder.streaming.kernels.packed_linear import PackedLinear, half_works
from tests.decoder.streaming.measure import snr_db

ENOUGH_DB = {torch.float32: 120, torch.float16: 65, torch.bfloat16: 40}


@pytest.mark.parametrize("dtype", ENOUGH_DB, ids=str)
@pytest.mark.parametrize("rows", [1, 2, 33])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("gelu", [True, False])
def test_it_is_a_linear_layer(
    rows: int, bias: bool, gelu: bool, dtype: torch.dtype, random: torch.Generator
) -> None:
    """Whatever the weight is kept as, float32 goes in and comes out."""
    weight, offset = torch.randn(40, 24, generator=random), torch.randn(40, generator=random)
    x = torch.randn(rows, 24, generator=random)
    product = PackedLinear(weight, offset if bias else None, dtype=dtype, gelu=gelu, single_rows=True)
    wanted = F.linear(x, weight, offset if bias else None)
    y = product(x)
    assert y.dtype == torch.float32
    assert snr_db(F.gelu(wanted) if gelu else wanted, y) > ENOUGH_DB[dtype]


@pytest.mark.parametrize("size", [1e-7, 1e-3, 1.0, 1e6])
def test_half_weights_of_any_size_keep_their_digits(size: float, random: torch.Generator) -> None:
    """A factor keeps them away from float16's limits; a bias goes with it."""
    weight = torch.randn(40, 24, generator=random) * size
    bias = torch.randn(40, generator=random) * size
    x = torch.randn(5, 24, generator=random)
    y = PackedLinear(weight, bias, dtype=torch.float16)(x)
    assert snr_db(F.linear(x, weight, bias), y) > 65


def test_without_packing_it_is_torchs_own_product(
    random: torch.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build without the operators computes the same in float32, whatever was asked for."""
    monkeypatch.setattr(packed_linear, "packing_works", lambda _dtype: False)
    monkeypatch.setattr(packed_linear, "half_works", lambda: False)
    weight, x = torch.randn(8, 6, generator=random), torch.randn(3, 6, generator=random)
    for dtype in ENOUGH_DB:
        product = PackedLinear(weight, dtype=dtype)
        assert product.dtype == torch.float32
        assert torch.equal(product(x), F.linear(x, weight))


def test_nothing_of_the_weight_is_shared(random: torch.Generator) -> None:
    """A mapped checkpoint can be let go."""
    weight, bias = torch.randn(8, 6, generator=random), torch.randn(8, generator=random)
    x = torch.randn(3, 6, generator=random)
    product = PackedLinear(weight, bias)
    before = product(x)
    weight.zero_()
    bias.zero_()
    assert torch.equal(product(x), before)


@pytest.mark.parametrize(("most_s", "runs"), [(1e-9, 1), (100.0, 10)])
def test_a_slow_machine_is_not_measured_at_length(
    most_s: float, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once at least; bfloat16 without instructions may take a hundred times as long, at each load."""
    monkeypatch.setattr(packed_linear, "_TRIALS_S", most_s)
    made: list[int] = []
    assert packed_linear._best_s(lambda: made.append(1)) >= 0
    assert len(made) == runs


def test_half_works_is_known_here() -> None:
    """Only that the question has an answer: it depends on the build."""
    assert half_works() in (True, False)
