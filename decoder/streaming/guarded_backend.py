"""A reduced-precision backend that never lets what it got wrong be heard."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

logger = logging.getLogger(__name__)

_HISTORY_FRAMES = 640
"""Codes kept for starting over: eight layers that look 71 positions back each, and what convolutions see."""


class _Inner(Protocol):
    """As ``backend.PrimingBackend``, which imports this module."""

    @property
    def name(self) -> str: ...
    def new_state(self) -> Any: ...
    def prime(self, codes: Tensor, state: Any) -> None: ...
    def step(self, codes: Tensor, state: Any) -> Tensor: ...


@dataclass
class GuardedState:
    """The reduced backend's state and what it takes to go on without it."""

    reduced: Any
    """None once the stream has fallen back."""
    exact: Any = None
    history: list[Tensor] = field(default_factory=list)
    """The last codes, int16 ``[T, 16]`` each; 20 kB at most."""

    @property
    def position_frames(self) -> int:
        """Frames decoded so far, primed ones included."""
        return int((self.exact or self.reduced).position_frames)

    @property
    def nbytes(self) -> int:
        """Bytes of carried tensors, the codes apart."""
        return int((self.exact or self.reduced).nbytes)


class GuardedBackend:
    """Decodes with ``reduced`` until a step of a stream is not a number; then that stream goes on exactly.

    The failed step is done again, so nothing is lost: the exact state is made from the codes of the last 640
    frames (about half a second of work). The exact weights are made when they are first needed.
    """

    def __init__(self, reduced: _Inner, make_exact: Callable[[], _Inner]) -> None:
        self.name = reduced.name
        self._reduced = reduced
        self._make_exact = make_exact
        self._exact: _Inner | None = None
        self._lock = threading.Lock()

    def new_state(self) -> GuardedState:
        """Return the state before the first frame: reduced again, whatever became of other streams."""
        return GuardedState(self._reduced.new_state())

    def prime(self, codes: Tensor, state: GuardedState) -> None:
        """As ``PrimingBackend.prime``."""
        if state.exact is not None:
            self._exact_backend().prime(codes, state.exact)
            return
        self._reduced.prime(codes, state.reduced)
        self._remember(codes, state)

    def step(self, codes: Tensor, state: GuardedState) -> Tensor:
        """As ``Backend.step``; every sample is a number."""
        if state.exact is None:
            pcm = self._reduced.step(codes, state.reduced)
            if _is_finite(pcm):
                self._remember(codes, state)
                return pcm
            self._fall_back(state)
        pcm = self._exact_backend().step(codes, state.exact)
        return pcm if _is_finite(pcm) else torch.nan_to_num(pcm, 0.0, 1.0, -1.0)

    def _fall_back(self, state: GuardedState) -> None:
        logger.warning(
            "reduced precision (%s) failed at frame %d; this utterance goes on in float32",
            self.name,
            sum(map(len, state.history)),
        )
        exact = self._exact_backend()
        fresh = exact.new_state()
        if state.history:
            exact.prime(torch.cat(state.history), fresh)
        state.exact, state.reduced = fresh, None
        state.history.clear()

    def _exact_backend(self) -> _Inner:
        with self._lock:
            if self._exact is None:
                self._exact = self._make_exact()
            return self._exact

    @staticmethod
    def _remember(codes: Tensor, state: GuardedState) -> None:
        state.history.append(codes.to(torch.int16))
        while sum(map(len, state.history[1:])) >= _HISTORY_FRAMES:
            del state.history[0]


def _is_finite(pcm: Tensor) -> bool:
    """Whether no sample is NaN or infinite (samples are within +-1, so their sum tells)."""
    return math.isfinite(float(pcm.sum()))
