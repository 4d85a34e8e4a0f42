"""What gives way to what, in the whole engine; the desk's tests have the cases that people meet."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace

import pytest

from app.engine.events import GroupEnded, SentenceHeard, StageChanged
from app.engine.order import Interrupt, Order
from app.engine.state import Stage
from decoder.wire.events import Outcome
from decoder.wire.messages import SessionConfig
from server.emulator import Scenario
from tests.helpers.counting_talker import text_for
from tests.helpers.engine_rig import FAST, Tape, rig, sound
from tests.helpers.waiting import eventually

BY_SENTENCE = SessionConfig(split_granularity="sentence")


async def test_a_plain_order_is_no_order_at_all() -> None:
    async with rig(FAST) as r:
        ends = [r.engine.speak(text_for(2)), r.engine.speak(text_for(2), order=Order())]
        assert [(await end).outcome for end in ends] == [Outcome.COMPLETE] * 2
        assert [u.text for u in r.emulator.utterances] == [text_for(2)] * 2
        assert not r.of(GroupEnded)


async def test_sentences_are_told_when_they_are_heard_whether_or_not_their_sound_is_kept() -> None:
    async with rig(FAST, speed=2.0) as r:
        text = f"{text_for(3)} {text_for(4, 101)}"
        done = await r.engine.speak(text, how=BY_SENTENCE, order=Order("a"))
    assert r.of(SentenceHeard) == [
        SentenceHeard(1, text_for(3), 0, "a"),
        SentenceHeard(1, text_for(4, 101), 3 * 1920, "a"),
    ]
    assert (done.group, done.heard_s) == ("a", pytest.approx(0.56))


async def test_what_was_written_down_is_not_sent_a_second_time() -> None:
    """A recording has the first of its sound already: it stays, and the more urgent comes after it."""
    tape = Tape()
    async with rig(FAST, speed=1.0) as r:
        heard = r.engine.speak(text_for(10))
        ahead = r.engine.speak(text_for(5, 101), (tape,))
        await eventually(lambda: r.of(SentenceHeard))
        await r.until(Stage.BUFFERING, 2)
        await r.engine.speak(text_for(2, 201), order=Order(priority=5))
        assert ahead.done()
        assert heard.done()
        assert [u.text for u in r.emulator.utterances][1:] == [text_for(5, 101), text_for(2, 201)]
    assert len(tape.pcm) == 5 * 1920
    assert (tape.pcm == sound(101, 5)).all()


async def test_what_went_back_is_the_same_utterance_again() -> None:
    async with rig(replace(FAST, first_frame_delay_s=0.2), speed=8.0) as r:
        first = r.engine.speak(text_for(3))
        await r.until(Stage.WAITING)
        urgent = r.engine.speak(text_for(3, 101), order=Order(priority=1))
        assert [u.number for u in r.engine.upcoming()] == [2, 1]
        assert (await urgent).outcome is Outcome.COMPLETE
        done = await first
        assert (done.utterance, done.outcome) == (1, Outcome.COMPLETE)
        assert r.stages(1).count(Stage.QUEUED) == 2
        assert r.stages(1).count(Stage.DONE) == 1
        assert [u.text for u in r.emulator.utterances] == [text_for(3), text_for(3, 101), text_for(3)]
        assert r.emulator.utterances[0].cancelled_at is not None


async def test_a_group_is_stopped_while_another_is_heard_on() -> None:
    async with rig(Scenario(pace=8.0), speed=2.0) as r:
        mine = [r.engine.speak(text_for(4, 1 + 10 * n), order=Order("mine")) for n in range(2)]
        others = [r.engine.speak(text_for(4, 201 + 10 * n), order=Order("others")) for n in range(3)]
        await eventually(lambda: r.of(SentenceHeard))
        assert r.engine.stop("others")
        assert [end.result().reason for end in others] == ["stopped"] * 3
        assert not r.engine.stop("others")
        assert [(await end).outcome for end in mine] == [Outcome.COMPLETE] * 2
        assert GroupEnded("others", "stopped") in r.of(GroupEnded)


async def test_the_reason_of_a_stop_is_told() -> None:
    async with rig(Scenario(pace=2.0), speed=1.0) as r:
        end = r.engine.speak(text_for(20), order=Order("a"))
        await eventually(lambda: r.of(SentenceHeard))
        assert r.engine.stop("a", "because")
        done = await end
        assert (done.outcome, done.reason) == (Outcome.CANCELLED, "because")
        assert 0 < done.heard_s < 1.6


async def test_what_expires_was_never_sent() -> None:
    async with rig(Scenario(pace=4.0), speed=2.0) as r:
        first = r.engine.speak(text_for(20))
        await eventually(lambda: r.of(SentenceHeard))
        ahead = r.engine.speak(text_for(2, 101))
        late = r.engine.speak(text_for(2, 201), order=Order(ttl_s=0.1))
        done = await late
        assert (done.outcome, done.reason) == (Outcome.FAILED, "expired")
        await first
        await ahead
        assert text_for(2, 201) not in [u.text for u in r.emulator.utterances]


async def test_what_was_sent_and_not_heard_in_time_expires_too() -> None:
    async with rig(replace(FAST, first_frame_delay_s=1.0)) as r:
        done = await asyncio.wait_for(r.engine.speak(text_for(2), order=Order(ttl_s=0.2)), 0.9)
        assert done.reason == "expired"
        await eventually(lambda: r.emulator.utterances[0].finished)
        assert not len(r.speaker.sounded)


async def test_without_a_limit_nothing_is_watched() -> None:
    async with rig(FAST) as r:
        assert (await r.engine.speak(text_for(2), order=Order(ttl_s=math.inf))).outcome is Outcome.COMPLETE


async def test_an_interrupt_after_the_sentence_stops_the_server_and_the_decoder_behind_it() -> None:
    async with rig(Scenario(pace=3.0), speed=1.0) as r:
        first = r.engine.speak(f"{text_for(5)} {text_for(50, 101)}", how=BY_SENTENCE, order=Order("a"))
        await eventually(lambda: r.of(SentenceHeard))
        urgent = r.engine.speak(text_for(2, 301), order=Order("b", 0, Interrupt.AFTER_SENTENCE))
        done = await first
        assert (done.outcome, done.reason) == (Outcome.CANCELLED, "interrupted")
        assert done.heard_s == pytest.approx(0.4, abs=0.03)
        await urgent
        assert r.emulator.utterances[0].cancelled_at is not None
        stages = [e.stage for e in r.of(StageChanged) if e.utterance == 1]
        assert stages[-2:] == [Stage.DRAINING, Stage.DONE]


async def test_a_server_that_decodes_itself_is_interrupted_after_the_sentence_too() -> None:
    async with rig(Scenario(kind="stock", pace=3.0), speed=1.0) as r:
        text = f"{text_for(5)} {text_for(50, 101)}"
        first = r.engine.speak(text, how=BY_SENTENCE, order=Order("a"))
        await eventually(lambda: r.of(SentenceHeard))
        assert len(r.of(SentenceHeard)) == 1
        urgent = r.engine.speak(text_for(2, 301), order=Order("b", 0, Interrupt.AFTER_SENTENCE))
        done = await first
        assert (done.outcome, done.reason) == (Outcome.CANCELLED, "interrupted")
        assert [e.text for e in r.of(SentenceHeard) if e.group == "a"] == [text_for(5)]
        assert (await urgent).outcome is Outcome.COMPLETE
