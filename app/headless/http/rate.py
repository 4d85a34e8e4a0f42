"""How often a caller may ask; time is an argument."""

from __future__ import annotations

from collections import OrderedDict

MOST_CALLERS = 1000
"""Callers that are remembered; of more, the one that was quiet for the longest is forgotten."""


class Rate:
    """Allows each caller a number of requests a minute, a minute's worth of them at once."""

    def __init__(self, per_minute: int) -> None:
        """0 allows as many as anybody likes."""
        self._per_minute = per_minute
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Caller → requests left, and the instant at which they were."""

    @property
    def callers(self) -> int:
        """How many callers are remembered."""
        return len(self._left)

    def take(self, caller: str, now_s: float) -> float:
        """Count a request at ``now_s``; 0 if it may go on, else the seconds after which one may."""
        if not self._per_minute:
            return 0.0
        left = self._left_of(caller, now_s)
        if left < 1.0:
            return (1.0 - left) * 60.0 / self._per_minute
        self._left[caller] = (left - 1.0, now_s)
        self._left.move_to_end(caller)
        if len(self._left) > MOST_CALLERS:
            self._left.popitem(last=False)
        return 0.0

    def _left_of(self, caller: str, now_s: float) -> float:
        left, at_s = self._left.get(caller, (float(self._per_minute), now_s))
        return min(float(self._per_minute), left + (now_s - at_s) * self._per_minute / 60.0)
