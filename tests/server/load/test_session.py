"""What brings sessions to speak at once."""

from __future__ import annotations

import asyncio

import pytest

from server.load.session import Gate


async def test_the_gate_opens_when_the_last_one_has_arrived() -> None:
    gate = Gate(3)
    waiting = asyncio.create_task(gate.wait())
    for _ in range(2):
        gate.arrive()
        await asyncio.sleep(0)
        assert not waiting.done()
    gate.arrive()
    await asyncio.wait_for(waiting, 1)


@pytest.mark.parametrize(("awaited", "arrivals"), [(1, 1), (1, 5), (0, 0)])
async def test_who_comes_later_finds_it_open(awaited: int, arrivals: int) -> None:
    gate = Gate(awaited)
    for _ in range(arrivals):
        gate.arrive()
    await asyncio.wait_for(gate.wait(), 1)
