from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from app.errors import RecordingError, Refused, Unreachable
from app.headless import recital as module
from app.headless.recital import Recital
from decoder.wire.messages import SessionConfig
from server.emulator import Scenario
from tests.helpers.counting_talker import text_for
from tests.helpers.engine_rig import FAST, Rig, rig
from tests.helpers.fake_decoder import sound
from tests.helpers.waiting import eventually


@dataclass
class Plain:
    """Samples as they are in memory, and a last byte that says that nothing follows."""

    fails_after: int | None = None
    pieces: int = field(default=0)

    def encode(self, pcm: NDArray[np.float32]) -> bytes:
        if self.fails_after is not None and self.pieces >= self.fails_after:
            raise OSError("no room")
        self.pieces += 1
        return pcm.astype("<f4").tobytes()

    def end(self) -> bytes:
        return b"."


@asynccontextmanager
async def reciting(
    *texts: str, scenario: Scenario = FAST, encoder: Plain | None = None, url: str = ""
) -> AsyncIterator[tuple[Rig, Recital]]:
    async with rig(scenario, url=url) as made:
        yield made, Recital(made.engine, texts, SessionConfig(), encoder or Plain())


async def collect(recital: Recital, into: bytearray) -> None:
    async with aclosing(recital.sound()) as pieces:
        async for piece in pieces:
            into += piece


async def whole(recital: Recital) -> bytes:
    data = bytearray()
    await collect(recital, data)
    return bytes(data)


async def test_the_pieces_of_a_text_become_one_sound() -> None:
    async with reciting(text_for(5), text_for(7, 6), text_for(3, 13)) as (_, recital):
        data = await asyncio.wait_for(whole(recital), 10)
        assert data[-1:] == b"."
        assert np.array_equal(np.frombuffer(data[:-1], "<f4"), sound(1, 15))
        assert recital.frames == 15
        assert recital.audio_s == pytest.approx(15 * 0.08)


async def test_no_more_than_two_pieces_are_under_way() -> None:
    texts = [text_for(3, 1 + 3 * number) for number in range(6)]
    async with reciting(*texts) as (made, recital):
        async with aclosing(recital.sound()) as pieces:
            async for _ in pieces:
                assert len(recital._waiting) <= 2
        assert len({event.utterance for event in made.events if hasattr(event, "utterance")}) == 6


async def test_who_leaves_stops_the_engine_and_the_server() -> None:
    async with reciting(text_for(200), text_for(200), scenario=Scenario(pace=4)) as (made, recital):
        async with aclosing(recital.sound()) as pieces:
            assert len(await anext(pieces)) > 0
        outcomes = [event.outcome.value for event in made.of(module.UtteranceDone)]
        assert outcomes == ["cancelled"] * 2
        done = await made.say(text_for(3))
        assert done.outcome.value == "complete", "the engine goes on"


async def test_a_slow_reader_is_not_recited_to() -> None:
    """What waits for it is bounded: the next piece begins when most of what there is was taken."""
    most = module.MOST_AHEAD_BYTES
    frames = 1 + most // (1920 * 4)
    texts = [text_for(frames, 1 + number * frames) for number in range(4)]
    async with reciting(*texts) as (made, recital):
        async with aclosing(recital.sound()) as pieces:
            await anext(pieces)
            await eventually(lambda: len(made.of(module.UtteranceDone)) == 2, 20)
            await asyncio.sleep(0.2)
            assert recital._next == 2, "the third was not begun"
            data = b"".join([piece async for piece in pieces])
        assert recital._next == 4
        assert len(data) > 3 * most


async def test_a_server_that_fails_is_told_after_what_there_was() -> None:
    async with reciting(text_for(30), scenario=Scenario(pace=0, cut_at_frame=10)) as (_, recital):
        heard = bytearray()
        with pytest.raises(Refused, match="did not speak all of it: incomplete"):
            await collect(recital, heard)
        assert np.array_equal(np.frombuffer(heard, "<f4"), sound(1, 10))


async def test_a_server_that_is_away_is_told_before_anything() -> None:
    async with reciting(text_for(3), url="ws://127.0.0.1:9") as (_, recital):
        with pytest.raises(Unreachable):
            await whole(recital)


async def test_an_encoder_that_fails_is_told() -> None:
    async with reciting(text_for(30), encoder=Plain(fails_after=1)) as (_, recital):
        with pytest.raises(RecordingError, match="no room"):
            await whole(recital)
