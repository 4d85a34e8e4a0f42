"""How long to wait before connecting again."""

from __future__ import annotations

import random
from collections.abc import Iterator

FIRST_S = 0.5
FACTOR = 2.0
LONGEST_S = 30.0


def delays_s(rng: random.Random) -> Iterator[float]:
    """Yield waits that double up to half a minute, each with a jitter of a third down.

    The jitter keeps twenty kiosks from calling a restarted server in the same instant.
    """
    delay_s = FIRST_S
    while True:
        yield delay_s * rng.uniform(2 / 3, 1.0)
        delay_s = min(delay_s * FACTOR, LONGEST_S)
