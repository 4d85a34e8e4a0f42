"""Which notices stand in the window, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.engine.events import Severity

INFO_S = 8.0
WARNING_S = 20.0
MOST = 4
"""So many are shown; of more, the least and oldest go."""

_LASTS_S = {Severity.INFO: INFO_S, Severity.WARNING: WARNING_S, Severity.ERROR: None}
_RANK = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True)
class Shown:
    """A notice that stands there."""

    number: int
    severity: Severity
    text: str
    times: int
    """How often it came while it stood there."""
    until_s: float | None
    """When it goes by itself; ``None``: an error stays until somebody has seen it."""


class NoticeStack:
    """The notices in view, oldest first; time is what each call says it is."""

    def __init__(self) -> None:
        self._count = 0
        self._shown: list[Shown] = []

    @property
    def shown(self) -> tuple[Shown, ...]:
        """Those in view."""
        return tuple(self._shown)

    def add(self, severity: Severity, text: str, now_s: float) -> Shown:
        """Show ``text``; the same text again is counted, not shown twice."""
        lasts_s = _LASTS_S[severity]
        until_s = None if lasts_s is None else now_s + lasts_s
        for i, shown in enumerate(self._shown):
            if (shown.severity, shown.text) == (severity, text):
                self._shown[i] = replace(shown, times=shown.times + 1, until_s=until_s)
                return self._shown[i]
        self._count += 1
        added = Shown(self._count, severity, text, 1, until_s)
        self._shown.append(added)
        if len(self._shown) > MOST:
            # What was just said is seen at least once.
            self._shown.remove(min(self._shown[:-1], key=lambda s: (_RANK[s.severity], s.number)))
        return added

    def dismiss(self, number: int) -> None:
        """Take one away; it may have gone already."""
        self._shown = [shown for shown in self._shown if shown.number != number]

    def clear(self) -> None:
        """Take all away."""
        self._shown.clear()

    def expire(self, now_s: float) -> None:
        """Take away those whose time is over."""
        self._shown = [s for s in self._shown if s.until_s is None or s.until_s > now_s]

    def next_expiry_s(self) -> float | None:
        """Return when the next one goes by itself, if any does."""
        return min((s.until_s for s in self._shown if s.until_s is not None), default=None)
