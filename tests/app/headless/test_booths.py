from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from app.config import Config, DecoderConfig, ServerConfig
from app.engine.engine import Engine
from app.errors import ConfigError, QueueFull
from app.headless.booths import Booths
from tests.helpers.waiting import eventually


@dataclass(eq=False)
class FakeEngine:
    """Starts and closes, and does nothing else."""

    made_of: Config
    log: list[str] = field(default_factory=list)

    async def start(self) -> None:
        self.log.append("start")

    async def aclose(self) -> None:
        self.log.append("close")


@dataclass
class Workshop:
    """Makes engines and keeps them in sight."""

    config: Config = field(
        default_factory=lambda: replace(
            Config(), kiosk=replace(Config().kiosk, speech_parallel=2, speech_waiting=1)
        )
    )
    made: list[FakeEngine] = field(default_factory=list)
    fails: bool = False

    def make(self, config: Config) -> Engine:
        if self.fails:
            raise ConfigError("no engine can be made of this")
        self.made.append(FakeEngine(config))
        return self.made[-1]  # type: ignore[return-value]

    def booths(self, idle_s: float = 60.0) -> Booths:
        return Booths(self.make, lambda: self.config, idle_s)


async def hold(booths: Booths, until: asyncio.Event) -> Engine:
    async with booths.engine() as engine:
        await until.wait()
        return engine


async def test_an_engine_is_kept_warm_for_the_next() -> None:
    shop = Workshop()
    booths = shop.booths()
    async with booths.engine() as first:
        pass
    async with booths.engine() as second:
        assert second is first
    await booths.aclose()
    assert [engine.log for engine in shop.made] == [["start", "close"]]


async def test_nobody_waits_with_a_text_for_a_server_that_is_away() -> None:
    """Whoever asks over a network is told at once, and may ask again."""
    shop = Workshop(replace(Config(), server=ServerConfig(patience_s=30.0)))
    booths = shop.booths()
    async with booths.engine():
        pass
    await booths.aclose()
    assert shop.made[0].made_of.server.patience_s == 0.0


async def test_so_many_are_lent_then_some_wait_in_line_and_then_none() -> None:
    shop = Workshop()
    booths = shop.booths()
    over = [asyncio.Event() for _ in range(3)]
    asking = [asyncio.create_task(hold(booths, each)) for each in over]
    await eventually(lambda: booths.waiting == 1)
    with pytest.raises(QueueFull, match="1 requests wait"):
        async with booths.engine():
            pass
    over[0].set()
    first = await asking[0]
    await eventually(lambda: booths.waiting == 0)
    over[1].set()
    over[2].set()
    assert await asking[2] is first, "who was first in line got what was given back"
    await asking[1]
    assert len(shop.made) == 2
    await booths.aclose()


async def test_who_leaves_the_line_holds_nobody_up() -> None:
    shop = Workshop(replace(Config(), kiosk=replace(Config().kiosk, speech_parallel=1, speech_waiting=5)))
    booths = shop.booths()
    over = asyncio.Event()
    lent = asyncio.create_task(hold(booths, over))
    await eventually(lambda: len(shop.made) == 1)
    waiting = [asyncio.create_task(hold(booths, over)) for _ in range(3)]
    await eventually(lambda: booths.waiting == 3)
    waiting[0].cancel()
    waiting[1].cancel()
    over.set()
    await asyncio.wait_for(asyncio.gather(lent, waiting[2]), 5)
    assert booths.waiting == 0
    async with booths.engine():
        pass
    await booths.aclose()


async def test_who_is_called_and_leaves_in_the_same_moment_passes_the_turn_on() -> None:
    shop = Workshop(replace(Config(), kiosk=replace(Config().kiosk, speech_parallel=1, speech_waiting=5)))
    booths = shop.booths()
    over = asyncio.Event()
    lent = asyncio.create_task(hold(booths, over))
    await eventually(lambda: len(shop.made) == 1)
    leaving = asyncio.create_task(hold(booths, over))
    staying = asyncio.create_task(hold(booths, over))
    await eventually(lambda: booths.waiting == 2)
    over.set()
    lent.add_done_callback(lambda _: leaving.cancel())
    await asyncio.wait_for(staying, 5)
    await asyncio.gather(lent, leaving, return_exceptions=True)
    await booths.aclose()


async def test_an_engine_that_failed_is_thrown_away_and_one_that_was_left_is_not() -> None:
    shop = Workshop()
    booths = shop.booths()
    with pytest.raises(ValueError, match="no"):
        async with booths.engine():
            raise ValueError("no")
    leaving = asyncio.create_task(hold(booths, asyncio.Event()))
    await eventually(lambda: len(shop.made) == 2)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    async with booths.engine() as engine:
        assert engine is shop.made[1]
    await booths.aclose()
    assert [engine.log for engine in shop.made] == [["start", "close"]] * 2


async def test_other_settings_are_another_engine() -> None:
    shop = Workshop()
    booths = shop.booths()
    async with booths.engine():
        pass
    shop.config = replace(shop.config, voice=replace(shop.config.voice, name="vivian"))
    async with booths.engine():
        assert len(shop.made) == 1, "a voice is said with each text"
    shop.config = replace(shop.config, decoder=DecoderConfig(threads=1))
    async with booths.engine():
        assert len(shop.made) == 2
    await eventually(lambda: shop.made[0].log == ["start", "close"])
    await booths.aclose()


async def test_an_engine_that_nobody_uses_is_closed() -> None:
    shop = Workshop()
    booths = shop.booths(idle_s=0.02)
    async with booths.engine():
        pass
    await eventually(lambda: shop.made[0].log == ["start", "close"])
    async with booths.engine():
        assert len(shop.made) == 2
    await booths.aclose()


async def test_what_cannot_be_made_is_told_and_takes_nobodys_place() -> None:
    shop = Workshop(fails=True)
    booths = shop.booths()
    for _ in range(5):
        with pytest.raises(ConfigError):
            async with booths.engine():
                pass
    shop.fails = False
    async with booths.engine():
        pass
    await booths.aclose()


async def test_an_engine_that_is_lent_is_closed_once_it_is_given_back() -> None:
    shop = Workshop()
    booths = shop.booths()
    lent = asyncio.create_task(hold(booths, asyncio.Event()))
    await eventually(lambda: len(shop.made) == 1)
    closing = asyncio.create_task(booths.aclose())
    await asyncio.sleep(0)
    lent.cancel()
    await asyncio.wait_for(closing, 5)
    await asyncio.gather(lent, return_exceptions=True)
    assert shop.made[0].log == ["start", "close"]
