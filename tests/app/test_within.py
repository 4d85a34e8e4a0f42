from __future__ import annotations

import asyncio

import pytest

from app.within import within


async def echo(text: str) -> str:
    return text


async def fail() -> None:
    raise KeyError("x")


async def test_it_returns_and_raises_what_the_work_does() -> None:
    """As if there were no limit."""
    assert await within(5, echo("x")) == "x"
    with pytest.raises(KeyError):
        await within(5, fail())


async def test_what_takes_longer_is_cancelled() -> None:
    """And over by the time that is told."""
    ended = []

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with pytest.raises(asyncio.TimeoutError):
        await within(0.01, forever())
    assert ended


async def test_a_cancellation_is_never_swallowed() -> None:
    """Not even in the turn of the loop in which the work ends."""
    for turns in range(6):

        async def loop() -> None:
            while True:
                await within(5, echo("x"))

        task = asyncio.create_task(loop())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=2)
        assert done
