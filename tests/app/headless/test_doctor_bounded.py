"""A check that hangs or fails is a finding like any other."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable

import pytest

from app.errors import OutputError
from app.headless.doctor.bounded import Check, run
from app.headless.doctor.finding import Finding, Verdict
from decoder.errors import CheckpointError

WELL = Finding("it", Verdict.OK, "well")


def check(look: Callable[[], Finding], limit_s: float = 10.0) -> Check:
    return Check("it", look, limit_s, "restart it")


async def test_what_it_finds_is_what_comes_out() -> None:
    assert await run(check(lambda: WELL)) is WELL


async def test_one_that_hangs_is_given_up_and_said_to() -> None:
    """Nor does it hold up the loop meanwhile, or the end of the program: its thread is a daemon."""
    released = threading.Event()
    names: list[tuple[str, bool]] = []

    def hang() -> Finding:
        names.append((threading.current_thread().name, threading.current_thread().daemon))
        released.wait()
        return WELL

    begun_s = time.perf_counter()
    looking = asyncio.ensure_future(run(check(hang, 0.1)))
    await asyncio.sleep(0)
    assert time.perf_counter() - begun_s < 0.1
    found = await looking
    released.set()
    assert found.verdict is Verdict.PROBLEM
    assert "0.1 s" in found.summary
    assert found.advice == "restart it"
    assert names == [("looking at it", True)]


@pytest.mark.parametrize("error", [OutputError("the device is in use"), CheckpointError("it is truncated")])
async def test_what_is_raised_on_purpose_is_told_in_its_own_words(error: Exception) -> None:
    def fail() -> Finding:
        raise error

    assert await run(check(fail)) == Finding("it", Verdict.PROBLEM, str(error))


async def test_a_bug_in_one_is_a_finding_and_keeps_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> Finding:
        return {"here": WELL}["nowhere"]

    with caplog.at_level(logging.ERROR):
        found = await run(check(fail))
    assert found.verdict is Verdict.PROBLEM
    assert "KeyError" in found.summary
    assert "nowhere" in caplog.text
