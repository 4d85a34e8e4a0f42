"""One server over time: a real emulator where that shows more, a link without a network elsewhere."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from app.errors import ConfigError, NearfieldError, Refused, Unreachable
from app.session.address import ServerAddress, server_address
from app.session.events import LinkChanged, LinkState, SessionEvent
from app.session.session import Session
from decoder.wire.events import (
    FramesArrived,
    LinkUseless,
    Mode,
    ModeKnown,
    Outcome,
    PcmArrived,
    ServerSaid,
    UtteranceEnded,
)
from decoder.wire.messages import SessionConfig
from server.emulator import Emulator, Scenario
from tests.helpers.counting_talker import CountingTalker, text_for
from tests.helpers.fake_decoder import SPEC, frames
from tests.helpers.fake_link import FakeLink
from tests.helpers.waiting import eventually

CONFIG = SessionConfig()
ADDRESS = server_address("ws://127.0.0.1:9")


@dataclass
class Heard:
    """What a session told."""

    events: list[SessionEvent] = field(default_factory=list)

    @property
    def states(self) -> list[LinkState]:
        return [e.state for e in self.events if isinstance(e, LinkChanged)]

    @property
    def ends(self) -> list[UtteranceEnded]:
        return [e for e in self.events if isinstance(e, UtteranceEnded)]

    @property
    def modes(self) -> list[Mode]:
        return [e.mode for e in self.events if isinstance(e, ModeKnown)]

    @property
    def codes(self) -> np.ndarray:
        empty = np.zeros((0, 16), np.int16)
        return np.concatenate([empty, *(e.codes for e in self.events if isinstance(e, FramesArrived))])

    async def ended(self, count: int = 1) -> UtteranceEnded:
        await eventually(lambda: len(self.ends) >= count)
        return self.ends[count - 1]


@asynccontextmanager
async def served(scenario: Scenario) -> AsyncIterator[tuple[Session, Heard, Emulator]]:
    heard = Heard()
    async with Emulator(CountingTalker(), scenario) as emulator:
        session = Session(server_address(emulator.url), SPEC, heard.events.append)
        try:
            yield session, heard, emulator
        finally:
            await session.aclose()


FAST = Scenario(pace=0)


async def say(session: Session, text: str) -> None:
    await session.ensure_ready(CONFIG)
    session.speak(text)


async def test_a_link_is_made_once_probed_and_kept() -> None:
    async with served(FAST) as (session, heard, emulator):
        for turn in (1, 2, 3):
            await say(session, text_for(4, 10 * turn))
            assert (await heard.ended(turn)).outcome is Outcome.COMPLETE
        assert len(emulator.sessions) == 1
        assert heard.modes == [Mode.CODEC]
        assert np.array_equal(heard.codes, np.concatenate([frames(10 * turn, 4) for turn in (1, 2, 3)]))
    assert heard.states == [LinkState.CONNECTING, LinkState.READY]


async def test_many_who_speak_at_once_take_turns_on_one_link() -> None:
    """Two clicks on Speak, and a click while it connects: one reader, every frame once, nothing mixed."""
    async with served(replace(FAST, handshake_delay_s=0.05)) as (session, heard, emulator):
        await asyncio.gather(*(say(session, text_for(5, first)) for first in (1, 100, 200, 300)))
        await heard.ended(4)
        assert len(emulator.sessions) == 1
        assert [u.text for u in emulator.utterances] == [text_for(5, first) for first in (1, 100, 200, 300)]
    assert np.array_equal(heard.codes, np.concatenate([frames(first, 5) for first in (1, 100, 200, 300)]))


async def test_a_cancel_is_there_within_200_ms_and_the_link_is_used_again() -> None:
    async with served(Scenario(pace=2.0, faulty_utterances=1)) as (session, heard, emulator):
        await say(session, text_for(100))
        await eventually(lambda: len(heard.codes))
        await session.cancel()
        assert heard.ends[0].outcome is Outcome.CANCELLED
        await eventually(lambda: emulator.utterances[0].cancelled_at is not None, 0.2)
        had = len(heard.codes)
        await say(session, text_for(2, 500))
        assert (await heard.ended(2)).outcome is Outcome.COMPLETE
        assert np.array_equal(heard.codes[had:], frames(500, 2)), "nothing of the one before"
        assert len(emulator.sessions) == 1


async def test_a_server_that_ignores_the_cancel_is_left_for_a_fresh_link() -> None:
    stubborn = Scenario(pace=2.0, ignore_cancel=True, faulty_utterances=1)
    async with served(stubborn) as (session, heard, emulator):
        await say(session, text_for(100))
        await eventually(lambda: len(heard.codes))
        await session.cancel()
        had = len(heard.codes)
        await say(session, text_for(2, 500))
        assert (await heard.ended(2)).outcome is Outcome.COMPLETE
        assert np.array_equal(heard.codes[had:], frames(500, 2))
        assert len(emulator.sessions) == 2
        assert any(isinstance(e, LinkUseless) for e in heard.events)


@pytest.mark.parametrize("code", [1000, 1001, 1005, 1006, 1008, 1011, 1012, 1013])
async def test_whatever_the_close_code_an_utterance_in_flight_is_incomplete(code: int) -> None:
    scenario = replace(FAST, cut_at_frame=3, cut_code=code, faulty_utterances=1)
    async with served(scenario) as (session, heard, emulator):
        await say(session, text_for(10))
        assert (await heard.ended()).outcome is Outcome.INCOMPLETE
        assert heard.states[-1] is LinkState.OFFLINE
        await say(session, text_for(2))
        assert (await heard.ended(2)).outcome is Outcome.COMPLETE
        assert len(emulator.sessions) == 2


async def test_a_stock_server_is_found_by_the_probe_before_any_text() -> None:
    async with served(replace(FAST, kind="stock")) as (session, heard, emulator):
        await session.ensure_ready(CONFIG)
        await eventually(lambda: heard.modes == [Mode.PCM])
        assert not emulator.utterances
        await say(session, text_for(3))
        assert (await heard.ended()).outcome is Outcome.COMPLETE
        pcm = np.concatenate([e.pcm for e in heard.events if isinstance(e, PcmArrived)])
        assert 2 * len(pcm) == emulator.utterances[0].pcm_bytes


async def test_a_stock_server_is_stopped_by_closing_and_closing_it_while_it_speaks_is_fine() -> None:
    async with served(Scenario(kind="stock", pace=2.0)) as (session, heard, emulator):
        for sessions in (1, 2):
            await say(session, text_for(60))
            await eventually(lambda: isinstance(heard.events[-1], PcmArrived))
            assert len(emulator.sessions) == sessions
            if sessions == 1:
                await session.cancel()
                await eventually(lambda: not emulator.sessions[0].open)
        await session.aclose()
        await eventually(lambda: emulator.open_sessions == 0)


async def test_an_adapter_without_codec_tokens_is_asked_once_more() -> None:
    async with served(replace(FAST, kind="no-codec-adapter")) as (session, heard, emulator):
        await say(session, text_for(3))
        assert (await heard.ended()).outcome is Outcome.COMPLETE
        await say(session, text_for(3))
        assert (await heard.ended(2)).outcome is Outcome.COMPLETE
        assert [u.config.output_mode for u in emulator.utterances] == ["codec_tokens", "pcm", "pcm"]


async def test_an_idle_link_that_is_dropped_is_told_and_replaced_by_the_next_text() -> None:
    async with served(replace(FAST, idle_timeout_s=0.1)) as (session, heard, emulator):
        await session.ensure_ready(CONFIG)
        await eventually(lambda: heard.states[-1] is LinkState.OFFLINE)
        assert any(isinstance(e, ServerSaid) and "Idle timeout" in e.message for e in heard.events)
        emulator.scenario = FAST
        await say(session, text_for(3))
        assert (await heard.ended()).outcome is Outcome.COMPLETE
        assert np.array_equal(heard.codes, frames(1, 3))
        assert [u.text for u in emulator.utterances] == [text_for(3)]


async def test_another_configuration_is_sent_before_the_next_text() -> None:
    async with served(FAST) as (session, heard, emulator):
        await say(session, text_for(2))
        await heard.ended()
        await session.ensure_ready(SessionConfig(voice="vivian"))
        session.speak(text_for(2))
        await heard.ended(2)
        assert [u.config.voice for u in emulator.utterances] == [None, "vivian"]


# -- a server that cannot be reached --------------------------------------------------------------------


@dataclass
class Door:
    """Opens links as it is told to; counts how often it was asked."""

    answers: list[Exception | FakeLink]
    asked: int = 0

    async def __call__(self, address: ServerAddress) -> FakeLink:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


AWAY = Unreachable("cannot reach it")


def session_at(door: Door, heard: Heard) -> Session:
    return Session(ADDRESS, SPEC, heard.events.append, door, rng=random.Random(1))


async def test_without_patience_there_is_one_try() -> None:
    heard, door = Heard(), Door([AWAY])
    session = session_at(door, heard)
    with pytest.raises(Unreachable, match="cannot reach it"):
        await session.ensure_ready(CONFIG)
    assert door.asked == 1
    assert heard.events == [
        LinkChanged(LinkState.CONNECTING, ADDRESS.url),
        LinkChanged(LinkState.OFFLINE, "cannot reach it"),
    ]
    await session.aclose()


async def test_with_patience_it_waits_and_says_for_how_long_then_gives_up_before_its_time() -> None:
    heard, door = Heard(), Door([AWAY])
    session = session_at(door, heard)
    started_s = time.perf_counter()
    with pytest.raises(Unreachable):
        await session.ensure_ready(CONFIG, started_s + 0.9)
    assert time.perf_counter() - started_s < 0.9
    assert door.asked == 2
    waits = [e.retry_in_s for e in heard.events if isinstance(e, LinkChanged) and e.retry_in_s]
    assert len(waits) == 1
    await session.aclose()


async def test_it_goes_on_once_the_server_is_there() -> None:
    heard, door = Heard(), Door([AWAY, FakeLink()])
    session = session_at(door, heard)
    await session.ensure_ready(CONFIG, time.perf_counter() + 60)
    assert heard.states == [
        LinkState.CONNECTING, LinkState.OFFLINE, LinkState.CONNECTING, LinkState.READY
    ]  # fmt: skip
    await session.aclose()


@pytest.mark.parametrize("error", [Refused("HTTP 401"), ConfigError("no such file")])
async def test_a_refusal_is_not_tried_again_and_leaves_the_state_offline(error: NearfieldError) -> None:
    heard, door = Heard(), Door([error])
    session = session_at(door, heard)
    with pytest.raises(type(error)):
        await session.ensure_ready(CONFIG, time.perf_counter() + 60)
    assert door.asked == 1
    assert heard.events[-1] == LinkChanged(LinkState.OFFLINE, str(error), refused=True)
    await session.aclose()


async def test_a_wait_between_tries_is_interrupted_at_once_and_leaves_the_state_offline() -> None:
    heard, door = Heard(), Door([AWAY])
    session = session_at(door, heard)
    waiting = asyncio.ensure_future(session.ensure_ready(CONFIG, time.perf_counter() + 60))
    await eventually(lambda: LinkState.OFFLINE in heard.states)
    started_s = time.perf_counter()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert time.perf_counter() - started_s < 0.2
    assert heard.events[-1] == LinkChanged(LinkState.OFFLINE)
    door.answers = [FakeLink()]
    await asyncio.wait_for(session.ensure_ready(CONFIG), 1)
    await session.aclose()


async def test_a_configuration_no_server_takes_is_refused_and_costs_no_link() -> None:
    heard, door = Heard(), Door([FakeLink()])
    session = session_at(door, heard)
    for connects in (True, False):
        for ask in (session.ensure_ready, session.connect):
            with pytest.raises(Refused, match="no server would take"):
                await ask(SessionConfig(speed=2.0))
        assert heard.states == ([] if connects else [LinkState.CONNECTING, LinkState.READY])
        await asyncio.wait_for(session.ensure_ready(CONFIG), 1)
    assert door.asked == 1
    await session.aclose()


async def test_a_link_made_ahead_of_need_is_the_one_that_is_used() -> None:
    heard, door = Heard(), Door([FakeLink()])
    session = session_at(door, heard)
    for _ in range(2):
        await session.connect(CONFIG)
    await session.ensure_ready(CONFIG)
    assert door.asked == 1
    assert heard.states == [LinkState.CONNECTING, LinkState.READY]
    await session.aclose()


@pytest.mark.parametrize("error", [AWAY, Refused("HTTP 401"), ConfigError("no such file")])
async def test_a_try_ahead_of_need_is_one_and_its_failure_is_the_callers_to_tell(
    error: NearfieldError,
) -> None:
    heard, door = Heard(), Door([error])
    session = session_at(door, heard)
    with pytest.raises(type(error)):
        await session.connect(CONFIG)
    assert door.asked == 1
    assert heard.states == [LinkState.CONNECTING]
    await session.aclose()


async def test_who_is_in_a_hurry_ends_the_wait_for_the_next_try() -> None:
    heard, door = Heard(), Door([AWAY])
    session = session_at(door, heard)
    waiting = asyncio.ensure_future(session.ensure_ready(CONFIG, time.perf_counter() + 60))
    await eventually(lambda: LinkState.OFFLINE in heard.states)
    started_s = time.perf_counter()
    for turn in (2, 3, 4, 5, 6):
        session.hurry()
        await eventually(lambda n=turn: door.asked == n)
        await eventually(lambda: heard.states[-1] is LinkState.OFFLINE)
    door.answers = [FakeLink()]
    session.hurry()
    await asyncio.wait_for(waiting, 5)
    assert time.perf_counter() - started_s < 5.0, "by itself it waits for half a minute"
    await session.aclose()


async def test_a_hurry_while_nobody_waits_is_forgotten() -> None:
    heard, door = Heard(), Door([AWAY])
    session = session_at(door, heard)
    session.hurry()
    waiting = asyncio.ensure_future(session.ensure_ready(CONFIG, time.perf_counter() + 60))
    await eventually(lambda: LinkState.OFFLINE in heard.states)
    await asyncio.sleep(0.05)
    assert door.asked == 1
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await session.aclose()


async def test_speaking_on_a_link_that_was_lost_in_between_says_so() -> None:
    heard, link = Heard(), FakeLink()
    session = session_at(Door([link]), heard)
    await session.ensure_ready(CONFIG)
    link.bring(None)
    await eventually(lambda: heard.states[-1] is LinkState.OFFLINE)
    with pytest.raises(Unreachable, match="was lost before the text was sent"):
        session.speak("Hello")
    await session.aclose()


# -- the end --------------------------------------------------------------------------------------------


async def test_closing_an_idle_session_closes_the_link_and_makes_no_other() -> None:
    heard, link = Heard(), FakeLink()
    door = Door([link])
    session = session_at(door, heard)
    await session.ensure_ready(CONFIG)
    await session.aclose()
    await session.aclose()
    assert link.is_closed
    with pytest.raises(Unreachable, match="closed"):
        await session.ensure_ready(CONFIG)
    assert door.asked == 1


async def test_a_link_that_opens_while_the_session_is_closed_is_closed_again() -> None:
    heard, link, opened = Heard(), FakeLink(), asyncio.Event()

    async def slow_door(address: ServerAddress) -> FakeLink:
        await opened.wait()
        return link

    session = Session(ADDRESS, SPEC, heard.events.append, slow_door)
    connecting = asyncio.ensure_future(session.ensure_ready(CONFIG))
    await asyncio.sleep(0)
    await session.aclose()
    opened.set()
    with pytest.raises(Unreachable, match="closed"):
        await asyncio.wait_for(connecting, 1)
    assert link.is_closed


async def test_a_link_that_does_not_close_is_not_waited_for_any_longer() -> None:
    heard, link = Heard(), FakeLink()
    link.never_closes = True
    session = session_at(Door([link]), heard)
    await session.ensure_ready(CONFIG)
    started_s = time.perf_counter()
    await session.aclose()
    assert time.perf_counter() - started_s < 3.0
