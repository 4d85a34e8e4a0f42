"""Following a talker step by step, without a checkpoint: a toy module takes the place of the true one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from decoder.wire.packets import Codes
from decoder.wire.rules import MAX_NEW_TOKENS
from server.reference.generation import Stopped
from server.reference.model import followed, new_tokens


class Predictor(nn.Module):
    """Gives the logits that it gets."""

    def forward(self, logits: torch.Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=logits)


class ToyTalker(nn.Module):
    """Reads a text in its first step, and makes a frame in each later one."""

    def __init__(self) -> None:
        super().__init__()
        self.code_predictor = Predictor()

    def forward(self, frame: int | None, logit: float = 0.0, inner: float = 0.0) -> SimpleNamespace:
        self.code_predictor(torch.full((1, 2, 8), inner))
        codes = None if frame is None else torch.full((1, 16), frame)
        # Only the last position is sampled from.
        logits = torch.tensor([[[float("nan")] * 8, [logit] * 8]])
        return SimpleNamespace(hidden_states=((), codes), logits=logits)


class Listener:
    def __init__(self, stop_at: int | None = None) -> None:
        self.checks = 0
        self.taken: list[Codes] = []
        self._stop_at = stop_at

    def check(self) -> None:
        if self.checks == self._stop_at:
            raise Stopped
        self.checks += 1

    def take(self, codes: Codes) -> None:
        self.taken.append(codes)


def run(talker: ToyTalker, listener: Listener, *frames: int | None, **values: float) -> None:
    with followed(talker, listener):
        for frame in frames:
            talker(frame, **values)


def test_every_frame_is_taken_once_and_the_reading_of_the_text_makes_none() -> None:
    talker, listener = ToyTalker(), Listener()
    run(talker, listener, None, 7, 7, 2047)
    assert listener.checks == 4
    assert [(c.dtype, c.shape) for c in listener.taken] == [(np.dtype(np.int16), (1, 16))] * 3
    assert [c[0, 0] for c in listener.taken] == [7, 7, 2047]
    talker(8)  # nobody follows any more
    assert len(listener.taken) == 3


def test_one_that_stops_ends_the_run_before_a_step() -> None:
    talker, listener = ToyTalker(), Listener(stop_at=2)
    with pytest.raises(Stopped):
        run(talker, listener, None, 1, 2)
    assert len(listener.taken) == 1
    talker(3)
    assert len(listener.taken) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("where", ["logit", "inner"])
def test_no_numbers_end_the_run_before_they_are_sampled_from(where: str, value: float) -> None:
    talker, listener = ToyTalker(), Listener()
    with pytest.raises(FloatingPointError, match="no numbers"):
        run(talker, listener, None, 1, **{where: value})
    assert listener.checks == 1


def test_the_limit_of_a_text_is_the_clients_or_the_checkpoints_within_what_a_client_may_ask() -> None:
    assert new_tokens(1, {"max_new_tokens": 9}) == 2
    assert new_tokens(None, {"max_new_tokens": 9}) == 9
    assert new_tokens(None, {"max_new_tokens": 2 * MAX_NEW_TOKENS}) == MAX_NEW_TOKENS + 1
    assert new_tokens(None, {}) is None
