from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.headless.http.rate import MOST_CALLERS, Rate


def test_a_minutes_worth_may_come_at_once_and_then_one_at_a_time() -> None:
    rate = Rate(60)
    assert [rate.take("a", 100.0) for _ in range(60)] == [0.0] * 60
    assert rate.take("a", 100.0) == 1.0
    assert rate.take("a", 100.5) == 0.5
    assert rate.take("a", 101.0) == 0.0
    assert rate.take("a", 101.0) > 0.0


def test_callers_do_not_use_up_each_others() -> None:
    rate = Rate(1)
    assert (rate.take("a", 0.0), rate.take("b", 0.0)) == (0.0, 0.0)
    assert rate.take("a", 0.0) > 0.0


def test_zero_is_without_limit() -> None:
    assert not any(Rate(0).take("a", 0.0) for _ in range(10_000))


def test_callers_that_are_long_gone_are_forgotten() -> None:
    rate = Rate(1)
    for number in range(3 * MOST_CALLERS):
        rate.take(str(number), 0.0)
    assert rate.callers <= MOST_CALLERS


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=200), st.integers(1, 100))
def test_no_minute_holds_more_than_two_minutes_worth(waits: list[float], per_minute: int) -> None:
    """A full bucket and what trickles in meanwhile."""
    rate, now_s, taken = Rate(per_minute), 0.0, []
    for wait_s in waits:
        now_s += wait_s
        if not rate.take("a", now_s):
            taken.append(now_s)
    for start_s in taken:
        assert sum(start_s <= at_s < start_s + 60.0 for at_s in taken) <= 2 * per_minute + 1
