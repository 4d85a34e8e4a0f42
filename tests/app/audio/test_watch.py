from __future__ import annotations

from dataclasses import dataclass

import pytest

from app.audio.output import OutputInfo
from app.audio.watch import Complaint, DeviceWatch, ReopenPolicy

LOOK_S = 0.25


INFO = OutputInfo("x", 24_000, 1, 0.1, audible=True)


@dataclass
class StillOutput:
    info: OutputInfo = INFO
    last_callback_s: float = 100.0
    failure: BaseException | None = None
    underflows: int = 0

    def close(self) -> None: ...


def looks(
    watch: DeviceWatch, output: StillOutput, from_s: float, to_s: float
) -> tuple[float, Complaint] | None:
    """The first complaint and its instant, looking every quarter of a second."""
    now_s = from_s
    while now_s <= to_s:
        complaint = watch.complaint(output, now_s)
        if complaint is not None:
            return now_s, complaint
        now_s += LOOK_S
    return None


def test_a6_callbacks_that_stop_are_noticed_within_two_seconds() -> None:
    noticed = looks(DeviceWatch(opened_s=10.0), StillOutput(), 100.1, 110.0)
    assert noticed is not None
    assert noticed[0] - 100.0 < 2.0 - LOOK_S
    assert not noticed[1].can_wait


def test_look_that_comes_late_itself_proves_nothing() -> None:
    watch, output = DeviceWatch(opened_s=10.0), StillOutput()
    assert watch.complaint(output, 105.0) is None
    output.last_callback_s = 105.1
    assert looks(watch, output, 105.2, 106.0) is None


def test_device_that_slept_may_begin_late() -> None:
    watch, output = DeviceWatch(opened_s=100.0), StillOutput()
    assert looks(watch, output, 100.0, 102.4) is None
    noticed = looks(watch, output, 102.5, 110.0)
    assert noticed is not None
    assert noticed[0] < 103.5


def test_device_with_a_long_buffer_asks_seldom() -> None:
    output = StillOutput(info=OutputInfo("x", 24_000, 1, 2.0, audible=True))
    assert looks(DeviceWatch(opened_s=10.0), output, 100.0, 104.0) is None


def test_a8_failure_is_told_at_once() -> None:
    complaint = DeviceWatch(opened_s=10.0).complaint(StillOutput(failure=ValueError("broken")), 100.0)
    assert complaint == Complaint("playing failed (ValueError: broken)")


def test_a14_storm_of_underflows_is_told_and_a_few_are_not() -> None:
    watch, output = DeviceWatch(opened_s=10.0), StillOutput()
    for look in range(100):
        now_s = output.last_callback_s = 100.0 + look * LOOK_S
        output.underflows += look % 4 == 0
        assert watch.complaint(output, now_s) is None
    for look in range(100, 108):
        now_s = output.last_callback_s = 100.0 + look * LOOK_S
        output.underflows += 5
        if complaint := watch.complaint(output, now_s):
            assert complaint.can_wait
            return
    pytest.fail("no complaint")


def test_first_loss_is_answered_at_once_the_next_after_five_seconds() -> None:
    policy = ReopenPolicy()
    assert policy.may_reopen(100.0)
    policy.lost(100.0)
    assert policy.next_s == 100.0
    policy.opened()
    assert not policy.may_reopen(104.9)
    policy.lost(101.0)
    assert policy.next_s == 105.0


def test_a3_pauses_grow_up_to_ten_seconds_and_start_over() -> None:
    policy = ReopenPolicy()
    pauses = []
    for _ in range(8):
        policy.failed(0.0)
        pauses.append(policy.next_s)
    assert pauses == [0.5, 1, 2, 4, 8, 10, 10, 10]
    policy.opened()
    policy.failed(0.0)
    assert policy.next_s == 0.5
