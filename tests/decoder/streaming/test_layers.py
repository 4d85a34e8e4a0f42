"""Causal convolutions and Snake: steps with carried state equal the whole signal."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.streaming.layers import _PRODUCT_MAX_COLUMNS, CausalConv1d, CausalTransposedConv1d, SnakeBeta
from tests.decoder.streaming.measure import CUTS, FRAMES, PARITY_DB, snr_db, step_through

CONVOLUTIONS = {
    "kernel 3": lambda: CausalConv1d(6, 8, 3),
    "kernel 7": lambda: CausalConv1d(6, 8, 7),
    "dilation 9": lambda: CausalConv1d(6, 6, 7, dilation=9),
    "pointwise": lambda: CausalConv1d(6, 5, 1),
    "depthwise": lambda: CausalConv1d(6, 6, 7, groups=6),
    "to one channel": lambda: CausalConv1d(6, 1, 7),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_convolution_steps_equal_the_whole(kind: str, cut: str, random: torch.Generator) -> None:
    """A causal convolution gives the same columns however its input is cut."""
    torch.manual_seed(0)
    conv = CONVOLUTIONS[kind]()
    x = torch.randn(2, 6, FRAMES, generator=random)
    state = conv.new_state(2)
    out = step_through(lambda piece: conv.step(piece, state), x, CUTS[cut], dim=-1)
    assert snr_db(conv(x), out) >= PARITY_DB


@pytest.mark.parametrize("columns", [_PRODUCT_MAX_COLUMNS, _PRODUCT_MAX_COLUMNS + 1])
def test_both_ways_to_convolve_agree(columns: int, random: torch.Generator) -> None:
    """The product for few columns and the convolution for many are the same function."""
    conv = CausalConv1d(6, 8, 7, dilation=3)
    x = torch.randn(1, 6, columns, generator=random)
    with torch.inference_mode():
        assert snr_db(conv(x), conv.step(x, conv.new_state(1))) >= PARITY_DB


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(("kernel", "stride"), [(2, 2), (16, 8), (10, 5), (6, 3), (7, 5)])
def test_transposed_steps_equal_the_whole(
    kernel: int, stride: int, cut: str, random: torch.Generator
) -> None:
    """A transposed convolution's overlap is carried, whether it is empty, partial or whole."""
    torch.manual_seed(0)
    conv = CausalTransposedConv1d(6, 4, kernel, stride)
    x = torch.randn(2, 6, FRAMES, generator=random)
    state = conv.new_state(2)
    out = step_through(lambda piece: conv.step(piece, state), x, CUTS[cut], dim=-1)
    assert out.shape[-1] == FRAMES * stride
    assert snr_db(conv(x), out) >= PARITY_DB


def test_a_transposed_kernel_beyond_two_strides_is_refused() -> None:
    """Three inputs would share an output, which the overlap-add does not do."""
    with pytest.raises(ValueError, match="twice"):
        CausalTransposedConv1d(2, 2, 9, 4)


@settings(max_examples=40, deadline=None)
@given(lengths=st.lists(st.integers(1, 40), min_size=1, max_size=12), dilation=st.sampled_from([1, 3, 9]))
def test_any_cut_gives_the_same(lengths: list[int], dilation: int) -> None:
    """No list of piece lengths changes what a convolution and a transposed one say."""
    torch.manual_seed(1)
    conv, up = CausalConv1d(3, 3, 7, dilation=dilation), CausalTransposedConv1d(3, 2, 6, 3)
    x = torch.randn(1, 3, sum(lengths))
    conv_state, up_state = conv.new_state(1), up.new_state(1)
    out = step_through(lambda piece: up.step(conv.step(piece, conv_state), up_state), x, lengths, dim=-1)
    assert snr_db(up(conv(x)), out) >= PARITY_DB


def test_the_state_is_no_larger_than_it_must_be() -> None:
    """A long step leaves only its last inputs, not the buffer that they were part of."""
    conv = CausalConv1d(4, 4, 7, dilation=9)
    state = conv.new_state(1)
    with torch.inference_mode():
        conv.step(torch.randn(1, 4, 5000), state)
    assert state.previous.untyped_storage().nbytes() == 4 * 54 * 4


@pytest.mark.parametrize("folded", [False, True])
def test_snake_in_steps_equals_its_formula(folded: bool, random: torch.Generator) -> None:
    """Folded or not, a step writes x + sin(exp(alpha) x)^2 / exp(beta)."""
    snake = SnakeBeta(5)
    with torch.no_grad():
        snake.alpha.normal_(generator=random)
        snake.beta.normal_(generator=random)
    x = torch.randn(1, 5, 50, generator=random)
    if folded:
        snake.fold()
    with torch.inference_mode():
        out = snake.step_into(x, torch.empty_like(x))
    wanted = x + torch.sin(x * snake.alpha.exp()[:, None]) ** 2 / snake.beta.exp()[:, None]
    assert snr_db(wanted.detach(), out) >= PARITY_DB
    assert snr_db(wanted.detach(), snake(x).detach()) >= PARITY_DB
