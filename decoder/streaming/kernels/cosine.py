"""Cosines into given memory, by whichever of torch and numpy is faster here."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from decoder.streaming.kernels.team import Alone

_TRIAL_SIZE = 1 << 16


def cosine_into(x: Tensor, out: Tensor, *, by_numpy: bool) -> None:
    """Write ``cos(x)`` to ``out``; both float32, contiguous, of one shape (they may be the same)."""
    if by_numpy:
        np.cos(x.numpy(), out=out.numpy())
    else:
        torch.cos(x, out=out)


@functools.cache
def numpy_is_faster() -> bool:
    """Compare them on one thread, once a process (a millisecond).

    Snake's sines are the largest part of a step outside of the products. Measured on AVX-512, one thread,
    in millions a second: ``torch.cos`` 760, ``numpy.cos`` 1850.
    """
    x = torch.linspace(-20, 20, _TRIAL_SIZE)
    out = torch.empty_like(x)

    def best(run: Callable[[], object]) -> float:
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    with Alone(), torch.inference_mode():
        numpy_s = best(lambda: cosine_into(x, out, by_numpy=True))
        torch_s = best(lambda: cosine_into(x, out, by_numpy=False))
    return numpy_s < torch_s
