from __future__ import annotations

import asyncio
from collections.abc import Sequence

from app.headless.offered import Offered


class Slow:
    """A server that answers when it is let to."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.asked = 0

    async def ask(self) -> Sequence[str]:
        self.asked += 1
        await self.answers.wait()
        return ["ryan"]


async def test_nobody_waits_long_and_the_answer_is_kept() -> None:
    """One question is asked however many ask; its answer is there for the next."""
    server = Slow()
    offered = Offered(server.ask, 0.01)
    assert await asyncio.gather(offered.names(), offered.names()) == [("default",)] * 2
    server.answers.set()
    assert await offered.names() == ("ryan",)
    assert server.asked == 1
    assert await offered.names() == ("ryan",)
    assert server.asked == 2
    await offered.aclose()


async def test_closing_waits_for_no_answer() -> None:
    """Asked or not."""
    offered = Offered(Slow().ask, 5.0)
    await offered.aclose()
    offered.refresh()
    await offered.aclose()
