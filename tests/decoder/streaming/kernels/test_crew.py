"""Work is shared out: every part is done once, all meet, an error reaches the caller, nobody is left."""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
import time
from types import FrameType

import pytest
import torch

from decoder.streaming.kernels.crew import Crew, Meet
from decoder.streaming.kernels.team import Alone, size


def helpers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "decode-helper"]


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_every_part_is_done_once_and_all_meet(parts: int) -> None:
    """Nobody passes a meeting before everybody has come."""
    crew, came = Crew(), [0] * parts

    def work(number: int, meet: Meet) -> None:
        for turn in range(1, 20):
            came[number] = turn
            meet()
            assert min(came) >= turn
            meet()

    for _ in range(3):
        came[:] = [0] * parts
        crew.run(work, parts)
        assert came == [19] * parts


def test_parts_run_in_threads_of_their_own_with_one_thread_for_an_operation() -> None:
    """The caller is one of them, and finds its number of threads as it was."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        seen: dict[int, tuple[int, int, bool, int]] = {}

        def work(number: int, meet: Meet) -> None:
            meet()
            seen[number] = (
                threading.get_ident(),
                torch.get_num_threads(),
                torch.is_inference_mode_enabled(),
                size(),
            )

        with Alone(), torch.inference_mode():
            assert size() == 2
            Crew().run(work, 2)
            assert size() == 2
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen[0][0] == threading.get_ident() != seen[1][0]
    assert [facts[1:] for facts in seen.values()] == [(1, True, 1)] * 2


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_an_error_of_a_part_reaches_the_caller_and_holds_nobody(failing: int) -> None:
    """Those who wait for it are told; the crew works on."""
    crew = Crew()

    def work(number: int, meet: Meet) -> None:
        if number == failing:
            raise ZeroDivisionError
        meet()

    with pytest.raises(ZeroDivisionError):
        crew.run(work, 3)
    done = []
    crew.run(lambda number, _: done.append(number), 3)
    assert sorted(done) == [0, 1, 2]


def test_an_interrupt_of_the_calling_part_ends_the_others() -> None:
    """Those who wait at a meeting as well; then the crew works on."""
    crew = Crew()

    def work(number: int, meet: Meet) -> None:
        if number == 0:
            raise KeyboardInterrupt
        meet()

    others = set(helpers())
    with pytest.raises(KeyboardInterrupt):
        crew.run(work, 3)
    assert set(helpers()) <= others
    done: list[int] = []
    crew.run(lambda number, _: done.append(number), 3)
    assert sorted(done) == [0, 1, 2]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signal to a thread on this system")
def test_an_interrupt_while_the_caller_waits_leaves_nobody_at_work(request: pytest.FixtureRequest) -> None:
    """What a helper was doing is over when the caller goes on; the next work waits for its own results."""
    crew, caller = Crew(), threading.get_ident()
    interrupted, done = threading.Event(), threading.Event()

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        interrupted.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    def work(number: int, _: Meet) -> None:
        if number == 1:
            # One that comes just before the caller begins to wait is not seen while it waits.
            while not interrupted.wait(0.02):
                signal.pthread_kill(caller, signal.SIGINT)
            done.set()

    with pytest.raises(KeyboardInterrupt):
        crew.run(work, 2)
    assert done.is_set()
    for turn in range(3):
        turns: list[int] = []
        crew.run(lambda _number, _meet, turns=turns, turn=turn: turns.append(turn), 2)
        assert turns == [turn, turn]


def fine(_number: int, _meet: Meet) -> None:
    pass


@pytest.mark.parametrize("fails", [False, True])
def test_helpers_start_when_they_are_needed_and_end_with_the_crew(fails: bool) -> None:
    """One that was never shared has none; an error that was told keeps none alive."""
    gc.collect()
    others = set(helpers())
    crew = Crew()
    crew.run(fine, 1)
    assert set(helpers()) == others
    crew.run(fine, 3)

    def work(number: int, _meet: Meet, of: Crew = crew) -> None:
        if fails:
            raise ZeroDivisionError(f"part {number} of {of}")

    with contextlib.suppress(ZeroDivisionError):
        crew.run(work, 3)
    ours = set(helpers()) - others
    assert len(ours) == 2
    del crew, work
    gc.collect()
    deadline = time.monotonic() + 10
    for thread in ours:
        thread.join(max(0.0, deadline - time.monotonic()))
        assert not thread.is_alive()
