"""When to connect again without being asked to; time is an argument."""

from __future__ import annotations

import math
import random

from app.session.backoff import delays_s

IDLE_S = 20.0
"""A link that ends after this long without an utterance was of no interest to the server, or to anybody."""

_AT_ONCE_S = -math.inf
_NEVER_S = math.inf


class ReconnectPolicy:
    """Plans the next try from what becomes of the link.

    A link that was spoken on is wanted back at once, and after tries that fail ever more slowly. One that
    ended before it was of any use is treated like a try that failed, or a server that takes calls and hangs
    up would be called all the time. One that ended after a while of idleness sleeps: many servers drop idle
    links, and to replace them for ever would be noise.

    Attributes are read-only.
    """

    def __init__(self, rng: random.Random) -> None:
        self.due_s = _AT_ONCE_S
        """The instant of the next try; infinite if it is not to be tried until somebody needs the link."""
        self.is_asleep = False
        self._rng = rng
        self._delays = delays_s(rng)
        self._idle_since_s = 0.0
        self._was_used = False

    def reached(self, now_s: float) -> None:
        """Plan for a link that was made."""
        self._plan(_NEVER_S)
        self._idle_since_s, self._was_used = now_s, False

    def used(self, now_s: float) -> None:
        """Take note that an utterance was on the link until now."""
        self._idle_since_s, self._was_used = now_s, True
        self._delays = delays_s(self._rng)

    def lost(self, now_s: float) -> None:
        """Plan for a link that has ended by itself."""
        if now_s - self._idle_since_s >= IDLE_S:
            self._plan(_NEVER_S, is_asleep=True)
            self._delays = delays_s(self._rng)
        elif self._was_used:
            self._plan(_AT_ONCE_S)
        else:
            self._plan(now_s + next(self._delays))

    def left(self) -> None:
        """Plan for a link that was left on purpose, because it was of no use for the next text."""
        self._plan(_AT_ONCE_S)

    def failed(self, now_s: float) -> None:
        """Plan for a try that failed, whoever made it; one that is planned already stays."""
        if not now_s < self.due_s < _NEVER_S:
            self._plan(now_s + next(self._delays))

    def refused(self) -> None:
        """Plan for a server that answered no: trying again by itself does not help."""
        self._plan(_NEVER_S)

    def hurry(self) -> None:
        """Plan for somebody who asks for a try."""
        self._plan(_AT_ONCE_S)
        self._delays = delays_s(self._rng)

    def _plan(self, due_s: float, *, is_asleep: bool = False) -> None:
        self.due_s, self.is_asleep = due_s, is_asleep
