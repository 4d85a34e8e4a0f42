"""The link while nobody speaks: a real session over links without a network, in time that a test moves."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from app.engine.events import EngineEvent, LinkStatus, Notice, Severity
from app.engine.keeping import YOUNG_S, Keeping
from app.errors import ConfigError, NearfieldError, Refused, Unreachable
from app.session.address import ServerAddress, server_address
from app.session.events import LinkState, SessionEvent
from app.session.session import Session
from decoder.wire.events import Mode
from decoder.wire.messages import SessionConfig
from tests.helpers.fake_decoder import SPEC
from tests.helpers.fake_link import FakeLink
from tests.helpers.hand_time import HandTime, settle
from tests.helpers.waiting import eventually

CONFIG = SessionConfig()
ADDRESS = server_address("ws://127.0.0.1:9")
HOUR_S = 3600.0


@dataclass
class Room:
    """A keeper in front of a server that is there, away, refuses, or does not answer at all."""

    time: HandTime = field(default_factory=HandTime)
    answer: Exception | None = None
    """What is raised when a link is asked for; ``None`` while the server is there."""
    hangs: asyncio.Event | None = None
    """While it is there and not set, the server does not answer."""
    hangs_up: bool = False
    """Whether it takes calls and hangs up at once."""
    links: list[FakeLink] = field(default_factory=list)
    tries_s: list[float] = field(default_factory=list)
    told: list[EngineEvent] = field(default_factory=list)
    given_up: int = 0

    def __post_init__(self) -> None:
        self.session = Session(ADDRESS, SPEC, self.take, self.open, self.time, random.Random(1))
        self.keeping = Keeping(
            self.session, CONFIG, self.told.append, self.time, self.time.sleep, random.Random(1)
        )

    async def open(self, address: ServerAddress) -> FakeLink:
        self.tries_s.append(self.time())
        if self.hangs is not None:
            try:
                await self.hangs.wait()
            except asyncio.CancelledError:
                self.given_up += 1
                raise
        if self.answer is not None:
            raise self.answer
        self.links.append(FakeLink())
        if self.hangs_up:
            self.links[-1].bring(None)
        return self.links[-1]

    def take(self, event: SessionEvent) -> None:
        self.keeping.observe(event)

    @property
    def status(self) -> LinkStatus:
        return [e for e in self.told if isinstance(e, LinkStatus)][-1]

    @property
    def waits_s(self) -> list[float]:
        """The countdowns that were told."""
        return [e.retry_in_s for e in self.told if isinstance(e, LinkStatus) and e.retry_in_s is not None]

    @property
    def notices(self) -> list[str]:
        return [e.text for e in self.told if isinstance(e, Notice)]

    async def speak(self) -> None:
        """Say something as the engine does, and have it ended by the server."""
        with self.keeping.standing_aside():
            await self.session.ensure_ready(CONFIG)
        self.session.speak("Hello")
        self.keeping.text_was_sent()
        self.links[-1].bring({"type": "session.done", "utterance_index": 0, "total_sentences": 0})
        await settle()

    async def lose(self) -> None:
        """Have the link end."""
        self.links[-1].bring(None)
        await settle()


@asynccontextmanager
async def kept(room: Room) -> AsyncIterator[Room]:
    running = asyncio.ensure_future(room.keeping.run())
    await settle()
    try:
        yield room
    finally:
        room.keeping.stop()
        await asyncio.wait_for(running, 2)
        await room.session.aclose()


AWAY = Unreachable("cannot reach it")


async def test_it_connects_ahead_of_any_text_and_then_has_nothing_to_do() -> None:
    async with kept(Room()) as room:
        await room.time.leap(HOUR_S)
        assert len(room.tries_s) == 1
        assert not room.told


async def test_hours_without_a_server_are_one_notice_and_a_countdown_for_each_try(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with kept(Room(answer=AWAY)) as room:
        await room.time.leap(6 * HOUR_S)
        assert 6 * 120 <= len(room.tries_s) <= 6 * 180 + 10
        assert len(room.waits_s) == len(room.tries_s)
        assert max(room.waits_s) <= 30.0
        assert room.status == LinkStatus(
            LinkState.OFFLINE, Mode.UNKNOWN, "cannot reach it", room.status.retry_in_s
        )
        assert room.notices == ["cannot reach it; trying again"]
        assert not caplog.records
        room.answer = None
        await room.time.leap(31)
        assert len(room.links) == 1
        await room.speak()
        room.answer = AWAY
        await room.lose()
        await room.time.leap(HOUR_S)
        assert len(room.notices) == 2


async def test_the_countdown_is_what_is_left_of_the_wait() -> None:
    async with kept(Room(answer=AWAY)) as room:
        await room.time.leap(60)
        tried_s = room.tries_s[-1]
        assert room.status.retry_in_s is not None
        due_s = tried_s + room.status.retry_in_s
        await room.time.leap(due_s - room.time() - 0.1)
        assert room.tries_s[-1] == tried_s
        await room.time.leap(0.2)
        assert room.tries_s[-1] == pytest.approx(due_s, abs=0.06)


async def test_a_link_that_was_spoken_on_is_replaced_at_once_and_quietly() -> None:
    async with kept(Room()) as room:
        for _ in range(3):
            await room.speak()
            await room.lose()
        assert len(room.links) == 4
        assert not room.told


async def test_a_link_that_was_left_after_a_stop_is_replaced_at_once_and_quietly() -> None:
    """A server that decodes itself can only be stopped by leaving it."""
    async with kept(Room()) as room:
        await room.speak()
        await room.time.leap(HOUR_S)
        with room.keeping.standing_aside():
            await room.session.ensure_ready(CONFIG)
        room.session.speak("Hello")
        room.keeping.text_was_sent()
        start = {"type": "audio.start", "format": "pcm", "sample_rate": 24000, "sentence_index": 0}
        room.links[-1].bring(start)
        await settle()
        await room.session.cancel()
        await eventually(lambda: len(room.links) == 2)
        assert not room.told


async def test_an_idle_link_that_is_dropped_sleeps_until_somebody_speaks() -> None:
    async with kept(Room()) as room:
        await room.speak()
        await room.time.leap(30)
        await room.lose()
        await room.time.leap(HOUR_S)
        assert len(room.links) == 1
        assert room.told == [LinkStatus(LinkState.ASLEEP, Mode.UNKNOWN, "bye (code 1000)")]
        await room.speak()
        assert len(room.links) == 2
        await room.lose()
        assert len(room.links) == 3


async def test_a_link_on_which_an_answer_is_waited_for_is_not_idle() -> None:
    """A text was sent, and the server has said nothing for longer than a link may be idle."""
    async with kept(Room()) as room:
        with room.keeping.standing_aside():
            await room.session.ensure_ready(CONFIG)
        room.session.speak("Hello")
        room.keeping.text_was_sent()
        await room.time.leap(45)
        await room.lose()
        assert len(room.links) == 2


async def test_what_slept_and_cannot_be_reached_when_it_is_needed_is_tried_again_from_then_on() -> None:
    async with kept(Room()) as room:
        await room.time.leap(30)
        await room.lose()
        room.answer = AWAY
        with pytest.raises(Unreachable):
            await room.speak()
        await settle()
        assert room.status.retry_in_s is not None
        assert not room.notices, "the end of the text says it"
        room.answer = None
        await room.time.leap(1)
        assert len(room.links) == 2


async def test_a_text_that_is_stopped_before_it_has_a_link_lets_it_sleep_on() -> None:
    room = Room()
    async with kept(room):
        await room.time.leap(30)
        await room.lose()
        room.hangs = asyncio.Event()
        speaking = asyncio.ensure_future(room.speak())
        await settle()
        speaking.cancel()
        await asyncio.gather(speaking, return_exceptions=True)
        await room.time.leap(HOUR_S)
        assert room.status.state is LinkState.ASLEEP
        assert len(room.tries_s) == 2


async def test_a_server_that_takes_calls_and_hangs_up_is_not_called_all_the_time() -> None:
    async with kept(Room(hangs_up=True)) as room:
        await room.time.leap(HOUR_S)
        assert len(room.links) < 200
        assert max(room.waits_s) > 20


@pytest.mark.parametrize("error", [Refused("HTTP 401"), ConfigError("no such file")])
async def test_a_refusal_is_told_once_and_not_repeated_until_somebody_asks(error: NearfieldError) -> None:
    async with kept(Room(answer=error)) as room:
        await room.time.leap(HOUR_S)
        assert len(room.tries_s) == 1
        assert room.status == LinkStatus(LinkState.OFFLINE, Mode.UNKNOWN, str(error), refused=True)
        assert room.notices == [str(error)]
        room.keeping.try_now()
        await settle()
        assert len(room.tries_s) == 2
        assert len(room.notices) == 1
        with pytest.raises(type(error)):
            await room.speak()
        await room.time.leap(HOUR_S)
        assert len(room.tries_s) == 3
        room.answer = None
        await room.speak()
        await room.lose()
        assert len(room.links) == 2, "kept again from then on"


async def test_a_server_that_is_back_and_refuses_is_news() -> None:
    async with kept(Room(answer=AWAY)) as room:
        await room.time.leap(60)
        room.answer = Refused("HTTP 401")
        await room.time.leap(60)
        assert room.notices == ["cannot reach it; trying again", "HTTP 401"]
        assert all(e.severity is Severity.WARNING for e in room.told if isinstance(e, Notice))


@pytest.mark.parametrize("passed_s", [0.1, 200.0])
async def test_try_now_ends_the_wait_at_once(passed_s: float) -> None:
    async with kept(Room(answer=AWAY)) as room:
        await room.time.leap(passed_s)
        tries = len(room.tries_s)
        room.keeping.try_now()
        await settle()
        assert len(room.tries_s) == tries + 1
        assert room.waits_s[-1] <= 0.5
        room.answer = None
        room.keeping.try_now()
        await settle()
        assert len(room.links) == 1
        room.keeping.try_now()
        await settle()
        assert len(room.links) == 1, "there is nothing to try while the link is there"


async def test_try_now_wakes_a_link_that_sleeps() -> None:
    async with kept(Room()) as room:
        await room.time.leap(30)
        await room.lose()
        room.keeping.try_now()
        await settle()
        assert len(room.links) == 2


async def test_a_text_makes_its_own_try_at_once_and_its_success_ends_the_wait() -> None:
    async with kept(Room(answer=AWAY)) as room:
        await room.time.leap(200)
        tries, room.answer = len(room.tries_s), None
        await room.speak()
        await room.time.leap(HOUR_S)
        assert len(room.tries_s) == tries + 1
        assert room.tries_s[-1] == pytest.approx(1200.0)


async def test_a_texts_own_try_that_fails_leaves_the_countdown_as_it_was() -> None:
    async with kept(Room(answer=AWAY)) as room:
        await room.time.leap(200)
        due_s = room.tries_s[-1] + room.waits_s[-1]
        with pytest.raises(Unreachable):
            await room.speak()
        await settle()
        assert room.time() + room.waits_s[-1] == pytest.approx(due_s)


async def test_nothing_is_tried_while_a_patient_text_waits_and_try_now_ends_its_wait() -> None:
    room = Room(answer=AWAY)
    async with kept(room):
        with room.keeping.standing_aside():
            waiting = asyncio.ensure_future(room.session.ensure_ready(CONFIG, math.inf))
            await settle()
            tries = len(room.tries_s)
            await room.time.leap(2)  # the text itself waits for a third of a real second
            assert len(room.tries_s) == tries
            room.answer = None
            room.keeping.try_now()
            await settle()
            await settle()
            assert waiting.done()


async def test_a_text_does_not_wait_behind_a_try_that_is_stuck() -> None:
    stuck = asyncio.Event()
    async with kept(Room(hangs=stuck)) as room:
        await room.time.leap(YOUNG_S + 0.1)
        room.hangs = None
        await asyncio.wait_for(room.speak(), 2)
        assert room.given_up == 1
        assert len(room.links) == 1


async def test_a_text_waits_a_moment_for_a_try_that_has_just_begun_and_uses_its_link() -> None:
    answers = asyncio.Event()
    async with kept(Room(hangs=answers)) as room:
        speaking = asyncio.ensure_future(room.speak())
        await settle()
        answers.set()
        await asyncio.wait_for(speaking, 1)
        assert len(room.tries_s) == 1


async def test_a_try_that_has_just_begun_and_gets_stuck_is_not_waited_for_either() -> None:
    async with kept(Room(hangs=asyncio.Event())) as room:
        speaking = asyncio.ensure_future(room.speak())
        await settle()
        room.hangs = None
        await asyncio.wait_for(speaking, YOUNG_S + 0.5)
        assert room.given_up == 1


async def test_stopping_ends_a_try_that_is_stuck_and_a_wait() -> None:
    room = Room(hangs=asyncio.Event())
    async with kept(room):
        pass
    assert room.given_up == 1
    async with kept(Room(answer=AWAY)):
        pass


async def test_an_error_of_our_own_is_logged_and_does_not_end_the_keeping(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with kept(Room(answer=RuntimeError("a bug"))) as room:
        assert "a bug" in caplog.text
        room.answer = None
        await room.time.leap(1)
        assert len(room.links) == 1
