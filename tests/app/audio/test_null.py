from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from app.audio.null import NullOutput
from tests.app.audio.sources import ListSource, ramp


class HandClock:
    """Time that only passes while the output waits; ``ends_at_s`` is when it is told to stop."""

    def __init__(self, ends_at_s: float) -> None:
        self.now_s = 50.0
        self.ends_at_s = 50.0 + ends_at_s
        self.ended = threading.Event()

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> bool:
        self.now_s += seconds
        if self.now_s < self.ends_at_s:
            return False
        self.ended.set()
        return True


def test_a2_paced_output_reads_in_real_time_and_is_not_audible() -> None:
    clock = HandClock(ends_at_s=1.01)
    source = ListSource()
    output = NullOutput(source, clock=clock, wait=clock.wait)
    assert clock.ended.wait(5)
    output.close()
    assert sum(480 for _ in source.asked_for) == 51 * 480
    for at, dac_s in source.asked_for:
        assert dac_s == pytest.approx(50.0 + 0.02 + at / 24_000)
    assert output.info.name == "none"
    assert not output.info.audible
    assert output.underflows == 0


def test_paced_output_does_not_catch_up_after_a_long_pause() -> None:
    clock = HandClock(ends_at_s=100.0)
    source = ListSource()
    plain_wait = clock.wait

    def wait(seconds: float) -> bool:
        if len(source.asked_for) == 10:
            clock.now_s += 60.0
        return plain_wait(seconds)

    output = NullOutput(source, clock=clock, wait=wait)
    assert clock.ended.wait(5)
    output.close()
    assert len(source.asked_for) == pytest.approx(40.0 / 0.02, abs=3)


def test_unpaced_output_takes_all_there_is_and_adds_no_silence() -> None:
    source = ListSource()
    output = NullOutput(source, paced=False)
    for samples in (1, 479, 480, 481, 5000):
        source.pcm = np.concatenate([source.pcm, ramp(samples)])
    give_up_at = time.monotonic() + 5
    while source.readable_samples() and time.monotonic() < give_up_at:
        time.sleep(0.001)
    output.close()
    assert source.at == len(source.pcm)
    # The next block would begin here: not one sample of silence was asked for.
    last_at, _ = source.asked_for[-1]
    assert last_at < len(source.pcm)


def test_unpaced_output_wants_a_source_that_says_what_it_holds() -> None:
    class Plain:
        rate_hz = 24_000

        def read_into(self, out: np.ndarray, dac_s: float) -> None: ...

    with pytest.raises(TypeError, match="readable_samples"):
        NullOutput(Plain(), paced=False)


@pytest.mark.parametrize("paced", [True, False])
def test_a8_source_that_raises_is_reported_and_not_asked_again(paced: bool) -> None:
    source = ListSource(ramp(100))
    source.error = ValueError("broken")
    output = NullOutput(source, paced=paced)
    output._thread.join(5)
    assert output.failure is source.error
    output.close()


def test_close_is_quick_and_repeatable() -> None:
    source = ListSource()
    output = NullOutput(source)
    begun = time.perf_counter()
    output.close()
    output.close()
    assert time.perf_counter() - begun < 1
    asked = len(source.asked_for)
    assert time.perf_counter() - output.last_callback_s < 60
    assert len(source.asked_for) == asked
