"""Ends what has not begun to be heard in time, when that time comes."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

from app.engine.agenda import Agenda
from app.engine.utterance import Utterance

LATE_S = 0.005
"""A little late rather than a little early, and then once more."""


class Expiring:
    """Sets one timer, for whatever is due first; ``active`` as in the engine."""

    def __init__(
        self,
        active: Sequence[Utterance],
        agenda: Agenda[Utterance],
        clock: Callable[[], float],
        expire: Callable[[float], None],
    ) -> None:
        # expire ends all that is due at an instant.
        self._active = active
        self._agenda = agenda
        self._clock = clock
        self._expire = expire
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def watch(self) -> None:
        """Take note that something new waits."""
        self._forget_timer()
        begun_s = [u.place.expires_s for u in self._active if not u.is_heard]
        due_s = min([*begun_s, self._agenda.next_expiry_s])
        if due_s < math.inf and not self._is_closed:
            wait_s = max(0.0, due_s - self._clock()) + LATE_S
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._on_time)

    def close(self) -> None:
        """Let nothing expire any more."""
        self._is_closed = True
        self._forget_timer()

    def _on_time(self) -> None:
        self._timer = None
        self._expire(self._clock())
        self.watch()

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
