"""The pace, without waiting for it: instants in, instants out."""

from __future__ import annotations

import random

import pytest

from server.emulator.pacer import Pacer
from server.emulator.scenario import Scenario


def instants(scenario: Scenario, sizes: list[int], ready_s: dict[int, float] | None = None) -> list[float]:
    """Send packets of ``sizes`` as soon as they may leave; some are ready later than the one before left."""
    pacer = Pacer(scenario, 12.5, random.Random(1))
    now_s, first, out = 100.0, 0, []
    for number, size in enumerate(sizes):
        now_s = max(now_s, (ready_s or {}).get(number, 0.0))
        now_s = max(now_s, pacer.due_s(first, size, now_s))
        first += size
        out.append(round(now_s - 100.0, 6))
    return out


def test_frames_come_at_the_pace_and_the_first_at_once() -> None:
    assert instants(Scenario(pace=2), [1] * 4) == [0.0, 0.04, 0.08, 0.12]


def test_a_packet_is_due_with_its_last_frame() -> None:
    assert instants(Scenario(pace=1), [1, 5, 5]) == [0.0, 0.4, 0.8]
    assert instants(Scenario(pace=1), [5]) == [0.32]


def test_unpaced_is_at_once() -> None:
    assert instants(Scenario(pace=0), [1, 40, 3]) == [0.0, 0.0, 0.0]


def test_a_late_talker_does_not_catch_up() -> None:
    assert instants(Scenario(pace=1), [1] * 3, {1: 105.0}) == [0.0, 5.0, 5.08]


def test_a_sleep_that_overslept_is_made_up_for() -> None:
    assert instants(Scenario(pace=1), [1] * 3, {1: 100.12}) == [0.0, 0.12, 0.16]


def test_a_stall_moves_the_rest_or_is_caught_up() -> None:
    stall = {"pace": 1.0, "stall_at_frame": 2, "stall_s": 0.5}
    assert instants(Scenario(**stall), [1] * 4) == pytest.approx([0.0, 0.08, 0.66, 0.74])
    caught_up = instants(Scenario(**stall, catch_up=True), [1] * 10)
    assert caught_up == pytest.approx([0.0, 0.08, *[0.66] * 7, 0.72])


def test_a_burst_costs_no_time() -> None:
    assert instants(Scenario(pace=1, burst_frames=3), [1] * 5) == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.08])


def test_jitter_only_delays_and_comes_from_the_seed() -> None:
    scenario = Scenario(pace=1, jitter_s=0.05)
    late = [at - n * 0.08 for n, at in enumerate(instants(scenario, [1] * 20))]
    assert 0 <= min(late) <= max(late) <= 0.05
    assert len(set(late)) > 10
    assert instants(scenario, [1] * 20) == instants(scenario, [1] * 20)
