"""When the next try is due; no clock is needed for that."""

from __future__ import annotations

import math
import random

import pytest

from app.engine.reconnect_policy import IDLE_S, ReconnectPolicy
from app.session.backoff import FIRST_S, LONGEST_S

AT_ONCE_S, NEVER_S = -math.inf, math.inf


def reached(at_s: float = 100.0) -> ReconnectPolicy:
    policy = ReconnectPolicy(random.Random(1))
    policy.reached(at_s)
    return policy


def test_the_first_try_is_due_at_once_and_none_while_the_link_is_there() -> None:
    policy = ReconnectPolicy(random.Random(1))
    assert policy.due_s == AT_ONCE_S
    policy.reached(100.0)
    assert policy.due_s == NEVER_S
    assert not policy.is_asleep


def test_tries_that_fail_are_repeated_ever_more_slowly() -> None:
    policy, now_s, waits = ReconnectPolicy(random.Random(1)), 0.0, list[float]()
    for _ in range(20):
        policy.failed(now_s)
        waits.append(policy.due_s - now_s)
        now_s = policy.due_s
    assert waits[0] <= FIRST_S
    assert max(waits) <= LONGEST_S
    assert all(wait >= LONGEST_S * 2 / 3 for wait in waits[8:])


def test_a_link_that_was_spoken_on_is_wanted_back_at_once() -> None:
    policy = reached()
    policy.used(110.0)
    policy.lost(111.0)
    assert policy.due_s == AT_ONCE_S


@pytest.mark.parametrize(("idle_s", "asleep"), [(IDLE_S - 0.1, False), (IDLE_S, True)])
@pytest.mark.parametrize("used", [False, True])
def test_a_link_that_ends_after_a_while_of_idleness_sleeps(idle_s: float, asleep: bool, used: bool) -> None:
    policy, since_s = reached(), 100.0
    if used:
        since_s = 500.0
        policy.used(since_s)
    policy.lost(since_s + idle_s)
    assert policy.is_asleep is asleep
    assert (policy.due_s == NEVER_S) is asleep


def test_a_server_that_takes_calls_and_hangs_up_is_called_ever_more_seldom() -> None:
    policy, now_s, waits = ReconnectPolicy(random.Random(1)), 0.0, list[float]()
    for _ in range(10):
        policy.reached(now_s)
        policy.lost(now_s + 0.1)
        waits.append(policy.due_s - now_s)
        now_s = policy.due_s
    assert waits[-1] > 15
    policy.reached(now_s)
    policy.used(now_s)
    policy.lost(now_s)
    policy.failed(now_s)
    assert policy.due_s - now_s <= FIRST_S, "a link that was of use starts anew"


def test_a_link_left_on_purpose_is_wanted_back_at_once_however_idle_it_was() -> None:
    policy = reached()
    policy.left()
    assert policy.due_s == AT_ONCE_S
    assert not policy.is_asleep


def test_a_try_that_is_planned_stays_when_somebody_elses_fails() -> None:
    policy = ReconnectPolicy(random.Random(1))
    policy.failed(0.0)
    due_s = policy.due_s
    policy.failed(0.1)
    assert policy.due_s == due_s


def test_a_text_that_failed_wakes_what_slept() -> None:
    policy = reached()
    policy.lost(200.0)
    policy.failed(300.0)
    assert not policy.is_asleep
    assert 300.0 < policy.due_s <= 300.0 + FIRST_S


def test_a_refusal_is_not_repeated_until_somebody_asks() -> None:
    policy = ReconnectPolicy(random.Random(1))
    policy.refused()
    assert policy.due_s == NEVER_S
    assert not policy.is_asleep
    policy.hurry()
    assert policy.due_s == AT_ONCE_S


def test_who_asks_for_a_try_starts_the_pauses_anew() -> None:
    policy = ReconnectPolicy(random.Random(1))
    for now_s in (0.0, 100.0, 200.0, 300.0, 400.0, 500.0):
        policy.failed(now_s)
    policy.hurry()
    policy.failed(600.0)
    assert policy.due_s - 600.0 <= FIRST_S
