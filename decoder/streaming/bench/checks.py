"""What is measured once and not in turn: exactness, and whether late steps cost more than early ones."""

from __future__ import annotations

import time
from itertools import cycle

import torch
from torch import Tensor

from decoder.streaming.backend import Backend
from decoder.streaming.bench.subject import CodeSource
from decoder.streaming.bench.timing import quantile

_CUT = (1, 12, 25, 4)
"""Lengths of the steps that are compared with the whole forward, in turn."""
_STRIDE = 25


def stepped(backend: Backend, codes: Tensor) -> Tensor:
    """Decode ``codes`` in steps of changing lengths."""
    state = backend.new_state()
    pieces: list[Tensor] = []
    start = 0
    for frames in cycle(_CUT):
        if start >= codes.shape[0]:
            break
        pieces.append(backend.step(codes[start : start + frames], state).cpu())
        start += frames
    return torch.cat(pieces)


def drift(
    backend: Backend, codes: CodeSource, *, late_frames: int = 1000, early_frames: int = 10, rounds: int = 5
) -> float:
    """Return the median time of late 1-frame steps ÷ that of early ones.

    One from ``late_frames`` on and one from ``early_frames`` on in turn, ten of each, ``rounds`` times; the
    late utterance goes on, the early one starts over.
    """
    late_state = backend.new_state()
    _advance(backend, codes, late_state, late_frames)
    late: list[float] = []
    early: list[float] = []
    for _ in range(rounds):
        early_state = backend.new_state()
        _advance(backend, codes, early_state, early_frames)
        for _ in range(10):
            for times, state in ((early, early_state), (late, late_state)):
                piece = codes.take(1)
                start = time.perf_counter()
                backend.step(piece, state).cpu()
                times.append(time.perf_counter() - start)
    return quantile(late, 0.5) / quantile(early, 0.5)


def _advance(backend: Backend, codes: CodeSource, state: object, frames: int) -> None:
    while frames > 0:
        backend.step(codes.take(min(frames, _STRIDE)), state).cpu()
        frames -= _STRIDE
