"""How long a text waits for a server that cannot be reached; time is an argument."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.session.events import LinkChanged, LinkState

_NEVER_S = float("-inf")


@dataclass
class Patience:
    """Watches the link's state.

    A text waits ``patience_s`` from the instant at which it was asked for, or at which a link that had
    worked was lost, whichever is later: what waits for its turn behind other texts does not grow old. What
    did grow old while nothing could be reached is dropped, not blurted out once the server is back.
    Tries that are made ahead of any need are not observed here: no text has waited for them.
    """

    patience_s: float
    _state: LinkState | None = None
    _lost_s: float = field(default=_NEVER_S, init=False)
    _failed_s: float = field(default=_NEVER_S, init=False)
    _failure: str = field(default="", init=False)

    def observe(self, event: LinkChanged, now_s: float) -> None:
        """Take a change of the link."""
        if event.state is LinkState.READY:
            self._failed_s = _NEVER_S
        elif event.state is LinkState.OFFLINE and self._state is LinkState.READY:
            self._lost_s = now_s
        elif event.state is LinkState.OFFLINE and event.detail:
            self._failed_s, self._failure = now_s, event.detail
        self._state = event.state

    def give_up_s(self, requested_s: float) -> float:
        """Return until when a text asked for at ``requested_s`` waits."""
        return max(requested_s, self._lost_s) + self.patience_s

    def why_dropped(self, requested_s: float, now_s: float) -> str:
        """Say why a text has grown old: the newest try, which failed since it was asked for; else ""."""
        is_old = self._failed_s >= requested_s and now_s >= self.give_up_s(requested_s)
        return self._failure if is_old else ""
