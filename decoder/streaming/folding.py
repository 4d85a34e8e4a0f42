"""Inference forms of weights, made once: the parameters stay the truth."""

from __future__ import annotations

from torch import nn


class FoldingModule(nn.Module):
    """A module that can prepare its parameters for fast steps.

    ``fold`` reads the parameters and keeps what a step wants (a fused matrix, exponentiated
    values, a table); ``unfold`` forgets it. The decoder folds all of its modules together when
    the first state is made, and unfolds them when its parameters may change
    (``train()``, ``load_state_dict``, ``to``), so a folded form is never older than its parameters.
    """

    def fold(self) -> None:
        """Make the inference form from the present parameters."""
        raise NotImplementedError

    def unfold(self) -> None:
        """Forget the inference form."""
        raise NotImplementedError
