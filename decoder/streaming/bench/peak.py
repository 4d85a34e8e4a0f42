"""The convolution peak: what this machine does with a large convolution of a good shape."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from decoder.streaming.static import float32_stays_float32

_SHAPES = ((1536, 120), (768, 480), (384, 1920), (256, 4000))
"""Channels in and out, and columns; kernel 7. Which is best differs from machine to machine."""
_KERNEL = 7
_TRIALS = 3


@dataclass(frozen=True)
class ConvPeak:
    """A convolution that is as fast as any here."""

    gflop: float
    """Of one run."""
    run: Callable[[], object]

    def gflop_per_s(self, seconds: float) -> float:
        """Return the rate of a run that took ``seconds``."""
        return self.gflop / seconds


def find_peak(dtype: torch.dtype, device: torch.device, shrink: int = 1) -> ConvPeak:
    """Try a few shapes and return the fastest; a second at most. ``shrink`` divides the channels."""
    return min(
        (_conv(dtype, device, max(1, width // shrink), columns) for width, columns in _SHAPES), key=_time
    )


def _conv(dtype: torch.dtype, device: torch.device, channels: int, columns: int) -> ConvPeak:
    x = torch.randn(1, channels, columns + _KERNEL - 1, device=device).to(dtype)
    weight = (torch.randn(channels, channels, _KERNEL, device=device) / channels).to(dtype)

    def run() -> None:
        with torch.inference_mode(), float32_stays_float32(device):
            F.conv1d(x, weight)
            if device.type == "cuda":
                torch.cuda.synchronize()

    return ConvPeak(2e-9 * channels * channels * _KERNEL * columns, run)


def _time(peak: ConvPeak) -> float:
    """Seconds per GFLOP, the best of a few runs."""
    peak.run()
    times = []
    for _ in range(_TRIALS):
        start = time.perf_counter()
        peak.run()
        times.append(time.perf_counter() - start)
    return min(times) / peak.gflop
