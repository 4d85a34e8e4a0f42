from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.desktop.figures import (
    as_clock,
    as_kilobytes,
    as_kilobytes_per_s,
    as_milliseconds,
    as_real_time_factor,
    as_seconds,
    in_milliseconds,
    rounded_up,
)


@pytest.mark.parametrize(
    ("value_s", "figure", "unit"),
    [
        (None, "–", "ms"),
        (0.0, "0", "ms"),
        (0.1714, "171", "ms"),
        (9.9, "9900", "ms"),
        (10.0, "10.0", "s"),
        (61.26, "61.3", "s"),
    ],
)
def test_times_are_milliseconds_until_they_are_long(value_s: float | None, figure: str, unit: str) -> None:
    assert in_milliseconds(value_s) == (figure, unit)
    assert as_milliseconds(value_s) == ("–" if value_s is None else f"{figure} {unit}")


@pytest.mark.parametrize(
    ("value_s", "clock"),
    [(-1, "0:00"), (0, "0:00"), (9.99, "0:09"), (60, "1:00"), (754.3, "12:34"), (3_600, "1:00:00")],
)
def test_a_place_in_a_reading_is_minutes_and_seconds(value_s: float, clock: str) -> None:
    assert as_clock(value_s) == clock


def test_what_is_not_known_is_a_dash() -> None:
    assert as_real_time_factor(None) == as_kilobytes_per_s(None) == "–"


def test_units_are_written_out() -> None:
    assert as_real_time_factor(0.095) == "0.10"
    assert as_kilobytes_per_s(48_000) == "48.0 kB/s"
    assert as_kilobytes(1_234) == "1.2 kB"
    assert as_seconds(0.5) == "0.50 s"


@pytest.mark.parametrize(
    ("value", "end"), [(0.171, 0.2), (0.3, 0.3), (1.0, 1.0), (1.01, 1.5), (9, 10), (84, 100)]
)
def test_a_scale_ends_at_a_round_number(value: float, end: float) -> None:
    assert rounded_up(value) == pytest.approx(end)


@given(st.floats(1e-6, 1e9))
def test_a_scale_has_room_for_its_value_and_wastes_less_than_half(value: float) -> None:
    assert value * (1 - 1e-6) <= rounded_up(value) <= value * 1.51


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_a_scale_of_nothing_is_an_error(value: float) -> None:
    with pytest.raises(ValueError, match="ends above 0"):
        rounded_up(value)
