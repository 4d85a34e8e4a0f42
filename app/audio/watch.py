"""When an open device is not to be trusted any more, and when to try again; time is an argument."""

from __future__ import annotations

import math
from dataclasses import dataclass

from app.audio.output import Output

# Two looks must agree: a look that comes late itself (a starved process) proves nothing.
_DEAD_AFTER_S = 1.0
# A sink that slept fills its buffer at once and then asks for nothing until it woke: PulseAudio's
# null sink, which containers have as auto_null, takes up to 2 s for that.
_DEAD_AT_FIRST_AFTER_S = 2.5
_AT_FIRST_S = 3.0
# Ten underflows in a second are heard as noise; a stream opened anew often recovers.
_STORM_UNDERFLOWS = 10
_STORM_WINDOW_S = 1.0
_REOPEN_EVERY_S = 5.0
_FIRST_RETRY_S = 0.5
_LAST_RETRY_S = 10.0


@dataclass(frozen=True)
class Complaint:
    """What is wrong with a device."""

    text: str
    can_wait: bool = False
    """Whether it still plays, so that opening it again may be put off."""


class DeviceWatch:
    """Looks at one output, opened at ``opened_s``, every quarter of a second or so."""

    def __init__(self, opened_s: float) -> None:
        self._opened_s = opened_s
        self._looked_dead = False
        self._window_from_s = -math.inf
        self._window_underflows = 0

    def complaint(self, output: Output, now_s: float) -> Complaint | None:
        """Say what is wrong as of ``now_s``, on ``time.perf_counter``'s scale; None if nothing is."""
        if output.failure is not None:
            return Complaint(f"playing failed ({type(output.failure).__name__}: {output.failure})")
        at_first = now_s - self._opened_s < _AT_FIRST_S
        # A device with a long buffer asks seldom.
        patience_s = max(_DEAD_AT_FIRST_AFTER_S if at_first else _DEAD_AFTER_S, 2 * output.info.latency_s)
        dead = now_s - output.last_callback_s > patience_s
        looked_dead, self._looked_dead = self._looked_dead, dead
        if dead and looked_dead:
            return Complaint("the device stopped asking for samples")
        return self._storm(output.underflows, now_s)

    def _storm(self, underflows: int, now_s: float) -> Complaint | None:
        count = underflows - self._window_underflows
        if now_s - self._window_from_s >= _STORM_WINDOW_S:
            self._window_from_s, self._window_underflows = now_s, underflows
        if count < _STORM_UNDERFLOWS:
            return None
        return Complaint(f"the device was served too late {count} times in a row", can_wait=True)


class ReopenPolicy:
    """At once after a loss, but every 5 s at most; then with growing pauses of up to 10 s."""

    def __init__(self) -> None:
        self.next_s = -math.inf
        """The instant before which nothing is to be tried."""
        self._reopened_s = -math.inf
        self._pause_s = _FIRST_RETRY_S

    def may_reopen(self, now_s: float) -> bool:
        """Whether a device that still plays may be opened again, for the better."""
        return now_s >= self._reopened_s + _REOPEN_EVERY_S

    def lost(self, now_s: float) -> None:
        """Plan for a device that was lost at ``now_s``."""
        self.next_s = self._reopened_s = max(now_s, self._reopened_s + _REOPEN_EVERY_S)
        self._pause_s = _FIRST_RETRY_S

    def failed(self, now_s: float) -> None:
        """Plan for an attempt that failed at ``now_s``."""
        self.next_s = now_s + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LAST_RETRY_S)

    def opened(self) -> None:
        """Plan for a device that opened."""
        self._pause_s = _FIRST_RETRY_S
