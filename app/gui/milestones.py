"""When the stages of a start were reached, counted from the start of the process."""

from __future__ import annotations

import os
import time
from pathlib import Path

_STAT = Path("/proc/self/stat")
_STARTTIME = 22 - 3
"""The field of proc(5), counted after the parenthesis of the second, which may hold anything."""


def process_age_s() -> float | None:
    """Return how long this process has been running (to a hundredth); ``None`` where that is not told."""
    try:
        fields = _STAT.read_text("ascii", errors="replace").rpartition(")")[2].split()
        started_s = int(fields[_STARTTIME]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started_s
    except (OSError, AttributeError, IndexError, ValueError):
        return None


class Milestones:
    """Instants of a start. Where the process's own start is not told, they count from the making of this."""

    def __init__(self) -> None:
        age_s = process_age_s()
        self._from_s = time.perf_counter() - (age_s or 0.0)
        self.reached: list[tuple[str, float, float]] = []
        """Name, seconds since the start, and CPU seconds of all threads until then, in order."""

    def mark(self, name: str) -> None:
        """Note that ``name`` is reached now."""
        self.reached.append((name, time.perf_counter() - self._from_s, time.process_time()))

    def table(self) -> str:
        """Return them as lines: instant, time since the line before, CPU time until then, name.

        Where other programs are busy, the last says what the first would be without them.
        """
        lines = ["   at     took      CPU  reached"]
        before_s = 0.0
        for name, at_s, cpu_s in self.reached:
            took_s, before_s = at_s - before_s, at_s
            lines.append(f"{1000 * at_s:5.0f} ms {1000 * took_s:5.0f} ms {1000 * cpu_s:5.0f} ms  {name}")
        return "\n".join(lines)
