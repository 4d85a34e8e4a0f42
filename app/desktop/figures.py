"""How numbers are written: the same number of digits wherever it can be, so that nothing moves."""

from __future__ import annotations

NOT_KNOWN = "–"
"""Stands where a number will."""


def in_milliseconds(value_s: float | None) -> tuple[str, str]:
    """Return seconds as a figure and its unit: whole milliseconds, or seconds once there are ten."""
    if value_s is None:
        return NOT_KNOWN, "ms"
    if value_s < 10:
        return f"{value_s * 1000:.0f}", "ms"
    return f"{value_s:.1f}", "s"


def as_milliseconds(value_s: float | None) -> str:
    """Write seconds as milliseconds with the unit; only a dash if they are not known."""
    return NOT_KNOWN if value_s is None else " ".join(in_milliseconds(value_s))


def as_seconds(value_s: float) -> str:
    """Write seconds with two digits behind the point."""
    return f"{value_s:.2f} s"


def as_real_time_factor(value: float | None) -> str:
    """Write a real-time factor."""
    return NOT_KNOWN if value is None else f"{value:.2f}"


def as_kilobytes(count: float) -> str:
    """Write bytes as kB of 1000 bytes."""
    return f"{count / 1000:.1f} kB"


def as_kilobytes_per_s(bytes_per_s: float | None) -> str:
    """Write a rate as kB of 1000 bytes for each second."""
    return NOT_KNOWN if bytes_per_s is None else f"{bytes_per_s / 1000:.1f} kB/s"


def as_clock(value_s: float) -> str:
    """Write a place in a reading as ``m:ss``, or ``h:mm:ss`` where there are hours."""
    minutes, seconds = divmod(max(0, int(value_s)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def rounded_up(value: float) -> float:
    """Return the next round number: the end of a scale that should not change with every value.

    Raises:
        ValueError: ``value`` is not above 0.

    """
    if not value > 0:
        raise ValueError(f"a scale ends above 0, not at {value}")
    power = 1.0
    while power > value:
        power /= 10
    while power * 10 <= value:
        power *= 10
    # A hair of slack: 0.3 is 3 tenths, although 3 × 0.1 is a bit more.
    return next(power * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if power * step >= value * (1 - 1e-9))
