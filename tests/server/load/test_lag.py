"""How late this process itself is."""

from __future__ import annotations

import asyncio
import time

from server.load.lag import LagMeter


async def test_a_loop_that_was_held_up_shows_it() -> None:
    async with LagMeter() as lag:
        await asyncio.sleep(0.05)
        time.sleep(0.15)  # noqa: ASYNC251  # what must not happen, and is to be noticed
        await asyncio.sleep(0.02)
    late_s = [late_s for _, late_s in lag.samples_s]
    assert 0.1 < max(late_s) < 5
    assert min(late_s) < 0.1
    instants = [at_s for at_s, _ in lag.samples_s]
    assert instants == sorted(instants)
    assert 0 < lag.cpu_share < 2


async def test_it_ends_with_its_block() -> None:
    async with LagMeter() as lag:
        pass
    count = len(lag.samples_s)
    await asyncio.sleep(0.03)
    assert len(lag.samples_s) == count
