"""A whole engine that stays connected to a real emulator, as a window or a kiosk has it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import replace

import pytest

from app.engine.events import Notice, Severity
from app.engine.keeping import YOUNG_S
from app.engine.state import Stage
from app.session.events import LinkState
from decoder.wire.events import Mode, Outcome
from server.emulator import Emulator, Scenario
from tests.helpers.counting_talker import CountingTalker, text_for
from tests.helpers.engine_rig import FAST, Rig, rig
from tests.helpers.servers import silent, tcp_server
from tests.helpers.waiting import eventually


def warnings(r: Rig) -> list[str]:
    return [n.text for n in r.of(Notice) if n.severity is not Severity.INFO]


def states(r: Rig) -> list[LinkState]:
    return [link.state for link in r.links]


async def test_it_is_connected_and_knows_who_decodes_before_any_text() -> None:
    async with rig() as r:
        r.engine.stay_connected()
        await eventually(lambda: r.links and r.links[-1].mode is Mode.CODEC)
        assert (await r.say(text_for(3))).outcome is Outcome.COMPLETE
        assert len(r.emulator.sessions) == 1
        assert states(r) == [LinkState.CONNECTING, LinkState.READY, LinkState.READY]


async def test_a_server_that_goes_and_comes_back_is_found_again_with_one_notice() -> None:
    async with Emulator(CountingTalker(), FAST) as first:
        port, url = first.port, first.url
        async with rig(url=url) as r:
            r.engine.stay_connected()
            assert (await r.say(text_for(2))).outcome is Outcome.COMPLETE
            await first.__aexit__(None, None, None)
            await eventually(lambda: any(link.retry_in_s for link in r.links))
            assert len(warnings(r)) == 1
            async with Emulator(CountingTalker(), FAST, port=port) as second:
                r.engine.try_now()
                await eventually(lambda: second.open_sessions == 1)
                await eventually(lambda: r.links[-1].mode is Mode.CODEC)
                assert (await r.say(text_for(2))).outcome is Outcome.COMPLETE
                assert len(warnings(r)) == 1
                assert len(second.sessions) == 1


async def test_without_asking_it_comes_back_by_itself_too() -> None:
    async with rig(replace(FAST, handshake_status=503, handshake_refusals=2)) as r:
        r.engine.stay_connected()
        await eventually(lambda: r.links and r.links[-1].mode is Mode.CODEC)
        assert [round(link.retry_in_s, 1) <= 1.0 for link in r.links if link.retry_in_s] == [True, True]


async def test_a_server_that_decodes_itself_is_reconnected_after_every_stop_without_a_word() -> None:
    async with rig(Scenario(kind="stock", pace=2.0), speed=4.0) as r:
        r.engine.stay_connected()
        for sessions in (2, 3, 4):
            finished = r.engine.speak(text_for(30))
            await r.until(Stage.PLAYING, utterance=sessions - 1)
            await r.engine.cancel()
            assert (await finished).outcome is Outcome.CANCELLED
            await eventually(lambda n=sessions: len(r.emulator.sessions) == n)
            await eventually(lambda: r.links[-1].mode is Mode.PCM)
        assert not warnings(r)
        assert LinkState.OFFLINE not in states(r)
        assert len([n for n in r.notices if "decodes itself" in n]) == 1


async def test_an_older_server_has_a_link_ready_for_every_text() -> None:
    async with rig(replace(FAST, old_generation=True)) as r:
        r.engine.stay_connected()
        for number in (1, 2, 3):
            await eventually(lambda n=number: len(r.emulator.sessions) == n)
            assert (await r.say(text_for(3))).outcome is Outcome.COMPLETE
        asked = [r.engine.speak(text_for(3, first)) for first in (100, 200, 300)]
        done = await asyncio.wait_for(asyncio.gather(*asked), 10)
        assert [d.outcome for d in done] == [Outcome.COMPLETE] * 3
        await eventually(lambda: len(r.emulator.sessions) == 7)
        assert not r.emulator.refused_handshakes
        assert not warnings(r)


async def test_an_idle_link_that_is_dropped_sleeps_and_the_next_text_is_spoken_exactly_once() -> None:
    """The clock is moved on by hand past the time after which a link counts as idle."""
    late_s = 0.0

    def clock() -> float:
        return time.perf_counter() + late_s

    async with rig(replace(FAST, idle_timeout_s=0.3), clock=clock) as r:
        r.engine.stay_connected()
        await eventually(lambda: r.links and r.links[-1].mode is Mode.CODEC)
        late_s = 25.0
        await eventually(lambda: r.links[-1].state is LinkState.ASLEEP)
        assert "connection" in r.links[-1].detail
        r.emulator.scenario = FAST
        await asyncio.sleep(0.1)
        assert len(r.emulator.sessions) == 1
        assert (await r.say(text_for(3))).outcome is Outcome.COMPLETE
        assert [u.text for u in r.emulator.utterances] == [text_for(3)]
        assert len(r.emulator.sessions) == 2
        assert not r.notices


async def test_a_text_lost_with_its_link_is_sent_once_more_on_one_new_link() -> None:
    async with rig(replace(FAST, cut_at_frame=0, faulty_utterances=1)) as r:
        r.engine.stay_connected()
        assert (await r.say(text_for(3))).outcome is Outcome.COMPLETE
        assert len(r.emulator.utterances) == 2
        assert len(r.emulator.sessions) == 2
        assert not warnings(r)


async def test_a_text_asked_for_during_the_wait_fails_at_once_and_the_countdown_goes_on() -> None:
    async with rig(Scenario(handshake_status=503)) as r:
        r.engine.stay_connected()
        await eventually(lambda: len([link for link in r.links if link.retry_in_s]) == 3)
        started_s = time.perf_counter()
        done = await r.say(text_for(3))
        assert done.outcome is Outcome.FAILED
        assert "HTTP 503" in done.reason
        assert time.perf_counter() - started_s < 1.0
        await eventually(lambda: r.links[-1].retry_in_s is not None)
        r.emulator.scenario = FAST
        assert (await r.say(text_for(3))).outcome is Outcome.COMPLETE


async def test_what_waits_behind_another_text_is_not_dropped_for_a_try_that_nobody_asked_for() -> None:
    """While two are heard their server goes; the tries that fail meanwhile are not those of the third."""
    async with contextlib.AsyncExitStack() as stack:
        first = await stack.enter_async_context(Emulator(CountingTalker(), FAST))
        port, r = first.port, await stack.enter_async_context(rig(url=first.url, speed=4.0))
        r.engine.stay_connected()
        asked = [r.engine.speak(text_for(20, at)) for at in (1, 100)]
        third = r.engine.speak(text_for(3, 200))
        await eventually(lambda: len(first.utterances) == 2 and first.utterances[1].finished)
        await first.__aexit__(None, None, None)
        await eventually(lambda: any(link.retry_in_s for link in r.links))
        await stack.enter_async_context(Emulator(CountingTalker(), FAST, port=port))
        done = await asyncio.wait_for(asyncio.gather(*asked, third), 10)
        assert [d.outcome for d in done] == [Outcome.COMPLETE] * 3


async def test_a_refusal_is_told_once_and_not_tried_again() -> None:
    async with rig(Scenario(handshake_status=401)) as r:
        r.engine.stay_connected()
        await eventually(lambda: r.links and r.links[-1].refused)
        await asyncio.sleep(0.1)
        assert r.emulator.refused_handshakes == 1
        assert len(warnings(r)) == 1
        r.emulator.scenario = FAST
        r.engine.try_now()
        await eventually(lambda: r.links[-1].mode is Mode.CODEC)


async def test_a_text_does_not_wait_for_a_try_that_gets_no_answer() -> None:
    """A try takes two seconds until it is given up: the text has waited for its own only."""
    async with tcp_server(silent) as port, rig(url=f"ws://127.0.0.1:{port}", open_timeout_s=2.0) as r:
        r.engine.stay_connected()
        await asyncio.sleep(YOUNG_S + 0.3)
        started_s = time.perf_counter()
        done = await r.say(text_for(3))
        assert "no answer in 2 s" in done.reason
        assert time.perf_counter() - started_s < 2.5


@pytest.mark.parametrize("when_s", [0.0, 0.01, 0.05, 0.5])
async def test_closing_ends_it_whatever_it_does(when_s: float, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with tcp_server(silent) as port, rig(url=f"ws://127.0.0.1:{port}") as r:
        r.engine.stay_connected()
        await asyncio.sleep(when_s)
        await asyncio.wait_for(r.engine.aclose(), 3)
    async with rig(Scenario(kind="stock", pace=2.0)) as r:
        r.engine.stay_connected()
        finished = r.engine.speak(text_for(30))
        await r.until(Stage.BUFFERING)
        await asyncio.wait_for(r.engine.aclose(), 3)
        assert (await finished).outcome is Outcome.CANCELLED
        assert len(r.emulator.sessions) == 1, "what is left because it ends is not replaced"
    assert not caplog.records


async def test_another_sound_device_is_asked_of_the_output() -> None:
    async with rig() as r:
        await r.engine.use_device("Pulse: headset")
        assert r.speaker.devices == ["Pulse: headset"]
