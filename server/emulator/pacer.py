"""When each packet may leave; time is an argument, so a pace can be tested without waiting for it."""

from __future__ import annotations

import random

from server.emulator.scenario import Scenario

LATE_S = 0.1
"""A talker later than this has lost the time; a smaller delay (a sleep that overslept) is made up for."""


class Pacer:
    """The clock of one utterance: packet after packet, the instants in seconds at which they are due."""

    def __init__(self, scenario: Scenario, frame_rate_hz: float, rng: random.Random) -> None:
        self._scenario = scenario
        self._period_s = 1.0 / (frame_rate_hz * scenario.pace) if scenario.pace else 0.0
        self._rng = rng
        self._next_s: float | None = None
        self._blocked_until_s = float("-inf")

    def due_s(self, first_frame: int, frames: int, now_s: float) -> float:
        """Return when the packet of ``frames`` frames from ``first_frame`` on is due; ``now_s`` it is ready.

        The first frame is due as soon as it is there, each later one a period after the one before, and a
        packet when its last frame is.
        """
        s = self._scenario
        if self._next_s is None or self._is_late(now_s):
            self._next_s = now_s
        if s.stall_at_frame == first_frame:
            self._blocked_until_s = max(now_s, self._next_s) + s.stall_s
            if not s.catch_up:
                self._next_s = self._blocked_until_s
        paced = min(frames, max(0, first_frame + frames - s.burst_frames))
        due_s = max(self._next_s + max(0, paced - 1) * self._period_s, self._blocked_until_s)
        self._next_s += paced * self._period_s
        return due_s + (self._rng.uniform(0.0, s.jitter_s) if s.jitter_s else 0.0)

    def _is_late(self, now_s: float) -> bool:
        assert self._next_s is not None
        if self._scenario.catch_up and self._blocked_until_s > float("-inf"):
            return False
        return not self._period_s or now_s > self._next_s + LATE_S
