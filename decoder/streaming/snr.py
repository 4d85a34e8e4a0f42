"""How close one signal is to another."""

from __future__ import annotations

import math

from torch import Tensor


def snr_db(reference: Tensor, other: Tensor) -> float:
    """Return the energy of ``reference`` above that of the difference.

    Infinite for equal signals, minus infinite where ``other`` is not finite.
    """
    noise = (reference.double() - other.double()).square().sum().item()
    if not math.isfinite(noise):
        return -math.inf
    if noise == 0:
        return math.inf
    signal = reference.double().square().sum().item()
    return 10 * math.log10(signal / noise) if signal else -math.inf
