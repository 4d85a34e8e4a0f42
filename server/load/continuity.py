"""Would a player have run dry? Pure: instants and seconds of sound in, an answer out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from server.caller import Arrival

START_BUFFERS_S = (0.0, 0.05, 0.1, 0.2)
"""How long a player may hold the first sound back."""


def needed_buffer_s(arrivals: Sequence[Arrival]) -> float:
    """Return the least start buffer with which a player of these arrivals never runs dry, in seconds.

    A player with a start buffer of ``b`` seconds begins ``b`` after the first arrival and plays in real time;
    it runs dry when what comes next has not arrived by the time that everything before it has been heard.
    0 for no arrivals.
    """
    needed_s = heard_s = 0.0
    for arrival in arrivals:
        needed_s = max(needed_s, arrival.at_s - arrivals[0].at_s - heard_s)
        heard_s += arrival.sound_s
    return needed_s


def gaps_s(arrivals: Sequence[Arrival]) -> list[float]:
    """Return the seconds between each message that brought sound and the next."""
    return [after.at_s - before.at_s for before, after in pairwise(arrivals)]
