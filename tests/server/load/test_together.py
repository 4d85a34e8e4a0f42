"""Tasks that end together."""

from __future__ import annotations

import asyncio

import pytest

from server.load.together import together


async def test_all_run_at_once() -> None:
    met = asyncio.Event()

    async def waits() -> None:
        await asyncio.wait_for(met.wait(), 5)

    async def comes() -> None:
        met.set()

    await together([waits(), comes()])


async def test_when_one_fails_the_others_are_ended_before_it_is_raised() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("waited")

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("a mistake")

    with pytest.raises(ValueError, match="a mistake"):
        await together([waits(), fails()])
    assert ended == ["waited"]


async def test_who_is_interrupted_has_the_time_to_hang_up() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.02)
            ended.append("hung up")

    task = asyncio.create_task(together([waits(), waits()]))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["hung up"] * 2
