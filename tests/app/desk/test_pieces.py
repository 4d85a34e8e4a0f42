"""Text that arrives in pieces, over the real engine: when it starts, what it sounds like, how it ends."""

from __future__ import annotations

import asyncio
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.desk.events import Failed, Finished, Interrupted, Queued, SentenceAudible, Started
from app.desk.feeding import AHEAD
from app.desk.request import Interrupt, Request
from app.errors import NothingToSay, TextTooLong
from app.text import MAX_TEXT_CHARS
from server.emulator import Scenario
from tests.helpers.counting_talker import text_for
from tests.helpers.desk_rig import WHOLE_FIRST_S, desk_rig, frames_of
from tests.helpers.engine_rig import FAST
from tests.helpers.fake_decoder import SPEC, sound
from tests.helpers.waiting import eventually


def numbers(*ranges: tuple[int, int]) -> list[int]:
    return [n for count, first in ranges for n in range(first, first + count)]


async def test_the_first_sentence_is_heard_while_the_second_is_still_written() -> None:
    async with desk_rig(FAST, speed=4.0) as r:
        pieces = r.desk.open(Request(id="a"))
        assert r.of(Queued, "a")[0].text == ""
        for word in text_for(4).split(" "):
            pieces.write(f"{word} ")
        await r.until(Started, "a")
        pieces.write("Say 3 frames fr")
        await eventually(lambda: r.heard_frames == numbers((4, 1)))
        assert not pieces.ticket.done.done()
        pieces.write("om 101.")
        pieces.close()
        end = await r.end(pieces.ticket)
    assert isinstance(end, Finished)
    assert end.played_s == pytest.approx(7 * 0.08)
    assert r.heard_frames == numbers((4, 1), (3, 101))
    assert [e.index for e in r.of(SentenceAudible)] == [0, 1]


async def test_a_sentence_that_has_ended_is_taken_for_whole_after_a_moment() -> None:
    async with desk_rig(FAST, speed=4.0) as r:
        pieces = r.desk.open(Request(id="a"))
        pieces.write(text_for(4))
        await asyncio.sleep(0)
        assert not r.emulator.utterances
        took_s = await eventually(lambda: r.of(Started))
        assert took_s > 0.3
        pieces.close()
        assert isinstance(await r.end(pieces.ticket), Finished)


async def test_a_sentence_that_has_not_ended_is_not_spoken_however_long_it_takes() -> None:
    async with desk_rig(FAST, speed=4.0) as r:
        pieces = r.desk.open(Request(id="a"))
        pieces.write("Say 4 frames from")
        await asyncio.sleep(0.8)
        assert not r.emulator.utterances
        pieces.write(" 1")
        pieces.close()
        await r.end(pieces.ticket)
        assert [u.text for u in r.emulator.utterances] == ["Say 4 frames from 1"]


async def test_sentences_that_come_faster_than_they_are_spoken_are_put_together() -> None:
    async with desk_rig(FAST, speed=4.0) as r:
        pieces = r.desk.open(Request(id="a"))
        for n in range(12):
            pieces.write(f"{text_for(3, 1 + 10 * n)} ")
        pieces.close()
        end = await r.end(pieces.ticket)
        texts = [u.text for u in r.emulator.utterances]
    assert isinstance(end, Finished)
    assert texts[0] == text_for(3), "the first goes alone, to be heard soon"
    assert len(texts) <= 4
    assert r.heard_frames == numbers(*((3, 1 + 10 * n) for n in range(12)))
    assert len(r.sentences) == 12


async def test_a_long_pause_is_silence_between_two_sentences_and_no_underrun() -> None:
    """Every sample is heard exactly as it was decoded: nothing fades, stops or starts in a sentence."""
    async with desk_rig(FAST, speed=4.0, start_buffer_s=WHOLE_FIRST_S) as r:
        pieces = r.desk.open(Request(id="a"))
        for n in range(3):
            pieces.write(f"{text_for(3, 1 + 100 * n)} ")
            await eventually(lambda n=n: len(r.heard_frames) == 3 * (n + 1))
            await asyncio.sleep(0.15)
            assert not pieces.ticket.done.done()
            status = r.desk.status()
            assert status.speaking is not None
            assert status.speaking.id == "a", "it stays started"
        pieces.close()
        assert isinstance(await r.end(pieces.ticket), Finished)
        heard = r.speaker.heard
    assert r.underruns == 0
    for n in range(3):
        whole = sound(1 + 100 * n, 3)
        start = int(np.flatnonzero(heard == whole[10])[0]) - 10
        assert np.array_equal(heard[start : start + len(whole)], whole)
    assert len(r.of(Started)) == 1


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 130), max_size=30))
def test_however_it_is_cut_it_sounds_the_same(cuts: list[int]) -> None:
    text = " ".join(text_for(2, 1 + 10 * n) for n in range(5))
    edges = sorted({0, len(text), *(min(c, len(text)) for c in cuts)})

    async def spoken() -> list[int]:
        async with desk_rig(FAST, speed=40.0) as r:
            pieces = r.desk.open(Request())
            for start, end in itertools.pairwise(edges):
                pieces.write(text[start:end])
                await asyncio.sleep(0)
            pieces.close()
            assert isinstance(await r.end(pieces.ticket), Finished)
            return r.heard_frames

    assert asyncio.run(spoken()) == numbers(*((2, 1 + 10 * n) for n in range(5)))


async def test_a_long_sentence_goes_out_in_parts() -> None:
    async with desk_rig(FAST, speed=8.0) as r:
        pieces = r.desk.open(Request())
        pieces.write("word " * 150)
        await eventually(lambda: r.of(Started))
        pieces.close()
        assert isinstance(await r.end(pieces.ticket), Finished)
        assert sum(u.text.count("word") for u in r.emulator.utterances) == 150


async def test_no_more_is_in_the_engine_than_what_is_heard_and_what_is_next() -> None:
    async with desk_rig(Scenario(pace=4.0), speed=2.0) as r:
        pieces = r.desk.open(Request())
        for n in range(100):
            pieces.write(f"{text_for(20, 1 + 30 * n)} ")
        assert r.host.engine is not None
        assert len(r.host.engine.upcoming()) <= AHEAD
        pieces.abort()


# -- among others ---------------------------------------------------------------------------------------


async def test_others_wait_while_a_text_is_still_arriving() -> None:
    async with desk_rig(FAST, speed=4.0) as r:
        pieces = r.desk.open(Request(id="a"))
        pieces.write(f"{text_for(3)} ")
        await r.until(Started, "a")
        other = r.say(text_for(3, 201), "b")
        await eventually(lambda: len(r.heard_frames) == 3)
        await asyncio.sleep(0.1)
        assert not r.of(Started, "b")
        pieces.write(f"{text_for(3, 101)} ")
        pieces.close()
        await r.end(pieces.ticket)
        await r.end(other)
    assert r.heard_frames == numbers((3, 1), (3, 101), (3, 201))


async def test_the_more_urgent_may_be_heard_in_a_pause() -> None:
    async with desk_rig(FAST, speed=4.0) as r:
        pieces = r.desk.open(Request(id="a"))
        pieces.write(f"{text_for(3)} ")
        await eventually(lambda: len(r.heard_frames) == 3)
        await r.end(r.say(text_for(3, 201), "b", priority=1))
        pieces.write(text_for(3, 101))
        pieces.close()
        assert isinstance(await r.end(pieces.ticket), Finished)
    assert r.heard_frames == numbers((3, 1), (3, 201), (3, 101))


async def test_one_who_writes_nothing_more_does_not_hold_up_the_others_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.desk.feeding.HOLD_S", 0.2)
    async with desk_rig(FAST, speed=4.0) as r:
        pieces = r.desk.open(Request(id="a"))
        pieces.write(f"{text_for(3)} ")
        await r.until(Started, "a")
        assert isinstance(await r.end(r.say(text_for(3, 201), "b")), Finished)
        pieces.write(text_for(3, 101))
        pieces.close()
        assert isinstance(await r.end(pieces.ticket), Finished)
    assert r.heard_frames == numbers((3, 1), (3, 201), (3, 101))


async def test_one_that_has_not_begun_holds_up_nobody() -> None:
    async with desk_rig(FAST, speed=4.0) as r:
        pieces = r.desk.open(Request(id="a"))
        pieces.write("Well")
        assert isinstance(await r.end(r.say(text_for(3, 201), "b")), Finished)
        pieces.abort()


@pytest.mark.parametrize("interrupt", [Interrupt.NOW, Interrupt.AFTER_SENTENCE])
async def test_an_interrupt_in_a_pause_ends_the_text_that_is_arriving(interrupt: Interrupt) -> None:
    async with desk_rig(FAST, speed=4.0) as r:
        pieces = r.desk.open(Request(id="a"))
        pieces.write(f"{text_for(3)} And then")
        await eventually(lambda: len(r.heard_frames) == 3)
        await asyncio.sleep(0.05)
        urgent = r.say(text_for(3, 201), "b", interrupt=interrupt)
        end = await r.end(pieces.ticket)
        assert isinstance(end, Interrupted)
        assert (end.why, end.played_s) == ("interrupted", pytest.approx(0.24))
        pieces.write(" more. And more.")
        pieces.close()
        await r.end(urgent)
    assert r.heard_frames == numbers((3, 1), (3, 201))


# -- ends -----------------------------------------------------------------------------------------------


async def test_a_text_of_nothing_fails() -> None:
    async with desk_rig() as r:
        pieces = r.desk.open(Request(id="a"))
        pieces.write("… ")
        pieces.close()
        end = await r.end(pieces.ticket)
        assert isinstance(end, Failed)
        assert "nothing to say" in end.reason
        with pytest.raises(NothingToSay):
            r.desk.speak(Request())


async def test_what_cannot_be_spoken_by_itself_goes_with_what_follows() -> None:
    async with desk_rig(FAST, speed=8.0) as r:
        pieces = r.desk.open(Request(id="a"))
        pieces.write("… ")
        pieces.write(f"{text_for(2)} ")
        pieces.close()
        assert isinstance(await r.end(pieces.ticket), Finished)
        assert [u.text for u in r.emulator.utterances] == [f"… {text_for(2)}"]


async def test_an_abort_ends_it_at_once_and_may_be_repeated() -> None:
    async with desk_rig(FAST, speed=2.0) as r:
        pieces = r.desk.open(Request(id="a"))
        pieces.write(f"{text_for(30)} And")
        await r.until(Started, "a")
        pieces.abort()
        end = pieces.ticket.done.result()
        assert isinstance(end, Interrupted)
        assert end.why == "aborted"
        pieces.abort()
        pieces.write("more")
        pieces.close()
        assert isinstance(await r.end(r.say(text_for(2, 101))), Finished)
    assert len(frames_of(r.speaker.heard)) < 30


async def test_more_than_is_taken_at_once_is_refused_and_what_came_before_is_spoken() -> None:
    async with desk_rig(FAST, speed=8.0) as r:
        pieces = r.desk.open(Request(id="a"))
        pieces.write(f"{text_for(2)} ")
        with pytest.raises(TextTooLong):
            pieces.write("x" * MAX_TEXT_CHARS)
        pieces.close()
        assert isinstance(await r.end(pieces.ticket), Finished)


async def test_a_text_that_does_not_begin_in_its_time_expires_even_if_nothing_was_written() -> None:
    async with desk_rig() as r:
        pieces = r.desk.open(Request(ttl_s=0.1))
        end = await r.end(pieces.ticket)
        assert isinstance(end, Failed)
        assert end.reason == "expired"


async def test_the_text_of_the_request_is_its_first_piece() -> None:
    async with desk_rig(FAST, speed=8.0) as r:
        pieces = r.desk.open(Request(f"{text_for(2)} "))
        await eventually(lambda: r.of(Started))
        pieces.close()
        assert isinstance(await r.end(pieces.ticket), Finished)
        assert r.heard_frames == numbers((2, 1))


def test_a_frame_is_eighty_milliseconds() -> None:
    assert SPEC.samples_per_frame / SPEC.sample_rate_hz == 0.08
