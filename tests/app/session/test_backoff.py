"""Waits between tries."""

from __future__ import annotations

import random
from itertools import islice

from app.session.backoff import FIRST_S, LONGEST_S, delays_s


def test_waits_double_up_to_the_longest_each_with_its_jitter() -> None:
    plain = [min(FIRST_S * 2**n, LONGEST_S) for n in range(12)]
    for seed in range(50):
        for wait_s, full_s in zip(islice(delays_s(random.Random(seed)), 12), plain, strict=True):
            assert full_s * 2 / 3 <= wait_s <= full_s


def test_two_clients_do_not_call_in_the_same_instant() -> None:
    assert len({next(delays_s(random.Random(seed))) for seed in range(20)}) == 20


def test_the_same_source_of_chance_gives_the_same_waits() -> None:
    one, other = (list(islice(delays_s(random.Random(3)), 5)) for _ in range(2))
    assert one == other
