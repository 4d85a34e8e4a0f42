from __future__ import annotations

import asyncio
import gc

import pytest

from app.gui.tasks import Tasks


async def test_what_is_started_survives_a_collection() -> None:
    """D1: asyncio itself keeps only weak references."""
    tasks, done = Tasks(), asyncio.Event()

    async def work() -> None:
        await asyncio.get_running_loop().create_future()

    async def wait() -> None:
        await asyncio.sleep(0.01)
        done.set()

    tasks.spawn(wait())
    tasks.spawn(work())
    await asyncio.sleep(0)
    gc.collect()
    await asyncio.wait_for(done.wait(), 2)
    await tasks.aclose()
    assert len(asyncio.all_tasks()) == 1


async def test_what_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    tasks = Tasks()

    async def fail() -> None:
        raise ValueError("of a slot")

    tasks.spawn(fail())
    await asyncio.sleep(0.01)
    assert "of a slot" in caplog.text
    await tasks.aclose()


async def test_closing_ends_what_runs_and_says_nothing_of_it(caplog: pytest.LogCaptureFixture) -> None:
    tasks, ended = Tasks(), []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    tasks.spawn(work())
    await asyncio.sleep(0)
    await tasks.aclose()
    assert ended == [True]
    assert not caplog.records
