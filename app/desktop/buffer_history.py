"""How much sound was in hand over the last while."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from app.desktop.figures import rounded_up

SPAN_S = 20.0
LEAST_SCALE_S = 0.5


class BufferHistory:
    """Depths with their instants; those older than ``span_s`` are forgotten."""

    def __init__(self, span_s: float = SPAN_S) -> None:
        self.span_s = span_s
        self._noted: deque[tuple[float, float]] = deque()

    def note(self, at_s: float, depth_s: float) -> None:
        """Remember that ``depth_s`` of sound was in hand at ``at_s``, which never goes back."""
        self._noted.append((at_s, depth_s))
        # One that is too old is kept: the line begins at the edge, not where the next one lies.
        while len(self._noted) > 2 and self._noted[1][0] <= at_s - self.span_s:
            self._noted.popleft()

    def clear(self) -> None:
        """Forget all of it: another reading begins."""
        self._noted.clear()

    def scale_s(self) -> float:
        """Return the depth that the whole height stands for."""
        return max(
            LEAST_SCALE_S, rounded_up(max((depth_s for _, depth_s in self._noted), default=0.0) or 0.1)
        )

    def points(self) -> Sequence[tuple[float, float]]:
        """Return the line, oldest first, as parts of the width (the newest at 1) and of the height."""
        if not self._noted:
            return ()
        newest_s, scale_s = self._noted[-1][0], self.scale_s()
        return [
            (max(0.0, 1.0 - (newest_s - at_s) / self.span_s), depth_s / scale_s)
            for at_s, depth_s in self._noted
        ]
