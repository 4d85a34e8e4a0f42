"""How much memory this process holds. Needs no torch."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Memory:
    """Of one process, in bytes; None where the system does not tell."""

    resident_bytes: int | None
    """Mapped pages of files that are in memory included: a mapped checkpoint counts."""
    peak_bytes: int | None
    """The largest ``resident_bytes`` so far, or since ``reset_peak`` where that works."""


def memory() -> Memory:
    """Look at this process."""
    try:
        return parse_status(_STATUS.read_text("utf-8"))
    except OSError:
        return Memory(None, _peak_elsewhere())


def reset_peak() -> bool:
    """Start the peak anew; tells whether the system could (Linux)."""
    try:
        _CLEAR_REFS.write_text("5")
    except OSError:
        return False
    return True


def parse_status(text: str) -> Memory:
    """Take both numbers from Linux's ``/proc/PID/status``."""
    values: dict[str, int] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key in ("VmRSS", "VmHWM"):
            values[key] = int(value.split()[0]) * 1024
    return Memory(values.get("VmRSS"), values.get("VmHWM"))


def _peak_elsewhere() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
