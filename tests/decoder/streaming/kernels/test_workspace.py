"""The workspace and the cosine: small things that steps rely on."""

from __future__ import annotations

import pytest
import torch

from decoder.streaming.kernels.cosine import cosine_into, numpy_is_faster
from decoder.streaming.kernels.workspace import Workspace
from tests.decoder.streaming.measure import snr_db


def test_a_block_is_used_again_and_grows() -> None:
    """The same memory for any shape that fits; what was taken before stays valid when it grows."""
    workspace = Workspace()
    first = workspace.take("a", 4, 5)
    assert workspace.take("a", 2, 3).data_ptr() == first.data_ptr()
    assert workspace.take("b", 4, 5).data_ptr() != first.data_ptr()
    first.fill_(3.0)
    workspace.take("a", 100).fill_(0.0)
    assert (first == 3.0).all()
    assert workspace.nbytes == 4 * (100 + 20)


@pytest.mark.parametrize("by_numpy", [True, False])
def test_both_cosines_are_cosines(by_numpy: bool) -> None:
    """In place, too, and for angles far away."""
    x = torch.linspace(-300, 300, 10_001)
    wanted = torch.cos(x.double())
    cosine_into(x, x, by_numpy=by_numpy)
    assert snr_db(wanted, x) > 120


def test_which_is_faster_is_found_out_once() -> None:
    """The answer holds for the process, so that two decoders in it agree to the bit."""
    assert numpy_is_faster() == numpy_is_faster()
