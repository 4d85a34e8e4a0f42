"""The desk over the real engine, emulator and loudspeaker: taking, telling, stopping, in every state."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from app.config import Config
from app.desk.events import DeskEvent, Ending, Failed, Finished, Interrupted, Queued, SentenceAudible, Started
from app.desk.request import Interrupt, Request
from app.engine.events import Notice, StageChanged
from app.engine.state import Stage
from app.errors import BadField, DeskClosing, NothingToSay, QueueFull, RequestError, TextTooLong
from app.text import MAX_TEXT_CHARS
from server.emulator import Scenario
from tests.helpers.counting_talker import text_for
from tests.helpers.desk_rig import WHOLE_FIRST_S, DeskRig, desk_rig
from tests.helpers.engine_rig import FAST
from tests.helpers.waiting import eventually

SLOW = Scenario(pace=2.0)


def frames(*ranges: tuple[int, int]) -> list[int]:
    """Return ``count`` numbers from ``first``, for each pair of those."""
    return [n for count, first in ranges for n in range(first, first + count)]


def kinds(rig: DeskRig, id: str) -> list[type[DeskEvent]]:  # noqa: A002
    return [type(e) for e in rig.events if e.id == id]


async def test_a_request_is_told_from_its_queueing_to_its_end() -> None:
    async with desk_rig(speed=4.0) as r:
        ticket = r.say(f"{text_for(5)} {text_for(4, 101)}", "a", source="test")
        assert kinds(r, "a") == [Queued], "before speak returns"
        end = await r.end(ticket)
    assert kinds(r, "a") == [Queued, Started, SentenceAudible, SentenceAudible, Finished]
    assert {e.source for e in r.events} == {"test"}
    assert end == r.events[-1]
    assert isinstance(end, Finished)
    assert (end.played_s, end.report.audio_s) == (pytest.approx(0.72), pytest.approx(0.72))
    assert [(e.text, e.index) for e in r.of(SentenceAudible)] == [(text_for(5), 0), (text_for(4, 101), 1)]
    assert r.heard_frames == frames((5, 1), (4, 101))


async def test_a_sentence_is_told_when_it_is_heard_and_not_when_it_is_decoded() -> None:
    async with desk_rig(speed=1.0) as r:
        r.say(f"{text_for(5)} {text_for(4, 101)}", "a")
        await eventually(lambda: len(r.sentences) == 1)
        played_s = r.desk.status().speaking
        assert played_s is not None
        await eventually(lambda: len(r.sentences) == 2)
        speaking = r.desk.status().speaking
        assert speaking is not None
        assert speaking.sentence == text_for(4, 101)
        assert speaking.heard_s == pytest.approx(0.4, abs=0.15)
        await r.until(Finished, "a")


async def test_a_long_text_is_cut_into_utterances_and_is_one_request_all_the_same() -> None:
    text = " ".join(f"{text_for(2, 1 + 10 * n)} {'word ' * 25}end." for n in range(12))
    async with desk_rig() as r:
        ticket, other = r.say(text, "long"), r.say(text_for(3, 901), "other")
        await r.end(ticket)
        assert len(r.emulator.utterances) > 3
        assert not r.of(Started, "other") or kinds(r, "other")[:2] == [Queued, Started]
        await r.end(other)
    assert kinds(r, "long").count(Started) == 1
    assert isinstance(r.of(Ending, "long")[0], Finished)
    started = [e.id for e in r.events if isinstance(e, Started)]
    assert started == ["long", "other"]


@pytest.mark.parametrize(
    ("fields", "error", "code"),
    [
        ({"text": "…"}, NothingToSay, "nothing_to_say"),
        ({"text": "x" * (MAX_TEXT_CHARS + 1)}, TextTooLong, "text_too_long"),
        ({"text": "x", "priority": 1001}, BadField, "bad_field"),
        ({"text": "x", "ttl_s": 0.0}, BadField, "bad_field"),
        ({"text": "x", "ttl_s": float("nan")}, BadField, "bad_field"),
        ({"text": "x", "id": "a\nb"}, BadField, "bad_field"),
        ({"text": "x", "instructions": "x" * 5000}, BadField, "bad_field"),
    ],
)
async def test_what_cannot_be_taken_is_refused_with_a_code(
    fields: dict[str, object], error: type[RequestError], code: str
) -> None:
    async with desk_rig() as r:
        with pytest.raises(error) as refused:
            r.desk.speak(Request(**fields))  # type: ignore[arg-type]
        assert refused.value.code == code
        assert r.events == []


async def test_an_id_is_free_again_once_its_request_is_over() -> None:
    async with desk_rig() as r:
        first = r.say(text_for(3), "a")
        with pytest.raises(BadField, match="not over"):
            r.say(text_for(3), "a")
        await r.end(first)
        await r.end(r.say(text_for(3), "a"))
        assert len({r.say(text_for(1)).id for _ in range(5)}) == 5


async def test_more_than_may_wait_is_refused_and_what_waits_is_kept() -> None:
    def two_may_wait(config: Config) -> Config:
        return replace(config, kiosk=replace(config.kiosk, queue_limit=2))

    async with desk_rig(SLOW, speed=2.0, change=two_may_wait) as r:
        tickets = [r.say(text_for(4), "a")]
        await r.until(Started, "a")
        tickets += [r.say(text_for(2, 101)), r.say(text_for(2, 201))]
        with pytest.raises(QueueFull):
            r.say(text_for(2, 301))
        for ticket in tickets:
            assert isinstance(await r.end(ticket), Finished)


async def test_voice_language_and_style_of_a_request_are_what_the_server_is_told() -> None:
    async with desk_rig() as r:
        await r.end(r.say(text_for(2), "a"))
        await r.end(r.say(text_for(2), "b", voice=" Vivian", language="English", instructions="softly"))
        said = [u.config for u in r.emulator.utterances]
    assert [c.voice for c in said] == [None, "vivian"]
    assert (said[1].language, said[1].instructions) == ("English", "softly")


async def test_what_no_server_takes_is_refused_before_it_is_queued() -> None:
    def designed(config: Config) -> Config:
        return replace(config, voice=replace(config.voice, task="VoiceDesign", instructions="an old man"))

    async with desk_rig(change=designed) as r:
        with pytest.raises(BadField):
            r.say(text_for(2), instructions="")


# -- priority and interrupts ----------------------------------------------------------------------------


async def test_the_more_urgent_goes_first_and_equals_in_their_order() -> None:
    async with desk_rig(Scenario(pace=8.0), speed=2.0, start_buffer_s=WHOLE_FIRST_S) as r:
        r.say(text_for(6), "a")
        await r.until(Started, "a")
        tickets = [
            r.say(text_for(2, 101), "b"),
            r.say(text_for(2, 201), "c", priority=5),
            r.say(text_for(2, 301), "d"),
            r.say(text_for(2, 401), "e", priority=5),
        ]
        assert [w.id for w in r.desk.status().queue] == ["c", "e", "b", "d"]
        for ticket in tickets:
            await r.end(ticket)
        assert [e.id for e in r.of(Started)] == ["a", "c", "e", "b", "d"]
    assert r.heard_frames == frames((6, 1), (2, 201), (2, 401), (2, 101), (2, 301))
    assert r.underruns == 0


async def test_what_was_fetched_ahead_gives_way_to_the_more_urgent_and_is_heard_whole_afterwards() -> None:
    async with desk_rig(FAST, speed=1.0) as r:
        r.say(text_for(8), "a")
        ahead = r.say(text_for(3, 101), "b")
        await r.until(Started, "a")
        await eventually(lambda: len(r.emulator.utterances) == 2)
        assert r.emulator.utterances[1].text == text_for(3, 101)
        urgent = r.say(text_for(2, 201), "c", priority=1)
        assert [w.id for w in r.desk.status().queue] == ["c", "b"]
        assert isinstance(await r.end(urgent), Finished)
        assert isinstance(await r.end(ahead), Finished)
    assert r.heard_frames == frames((8, 1), (2, 201), (3, 101))
    assert kinds(r, "b") == [Queued, Started, SentenceAudible, Finished]


async def test_interrupt_now_ends_what_is_heard_and_keeps_the_queue() -> None:
    async with desk_rig(FAST, speed=1.0) as r:
        first = r.say(f"{text_for(30)} {text_for(30, 501)}", "a")
        waits = r.say(text_for(3, 101), "b")
        await r.until(Started, "a")
        urgent = r.say(text_for(3, 201), "c", interrupt=Interrupt.NOW)
        end = await r.end(first)
        assert isinstance(end, Interrupted)
        assert (end.why, end.played_s < 1.0) == ("interrupted", True)
        assert isinstance(await r.end(urgent), Finished)
        assert isinstance(await r.end(waits), Finished)
        heard = r.heard_frames
    assert heard[-6:] == frames((3, 201), (3, 101))
    assert 1 <= len(heard) - 6 <= 12


async def test_interrupt_after_the_sentence_ends_exactly_where_the_next_would_begin() -> None:
    async with desk_rig(FAST, speed=2.0, start_buffer_s=WHOLE_FIRST_S) as r:
        first = r.say(f"{text_for(10)} {text_for(10, 101)} {text_for(10, 201)}", "a")
        await r.until(Started, "a")
        urgent = r.say(text_for(3, 301), "b", interrupt=Interrupt.AFTER_SENTENCE)
        end = await r.end(first)
        assert isinstance(end, Interrupted)
        assert end.played_s == pytest.approx(0.8)
        await r.end(urgent)
    assert r.heard_frames == frames((10, 1), (3, 301))
    assert r.underruns == 0


async def test_interrupt_after_a_sentence_whose_end_is_not_known_yet() -> None:
    """The server is in the middle of the sentence: it is cut once the next one is seen to begin."""
    async with desk_rig(Scenario(pace=1.5), speed=1.0) as r:
        first = r.say(f"{text_for(10)} {text_for(40, 101)}", "a")
        await r.until(Started, "a")
        urgent = r.say(text_for(3, 301), "b", interrupt=Interrupt.AFTER_SENTENCE)
        assert isinstance(await r.end(first), Interrupted)
        await r.end(urgent)
        cancelled = r.emulator.utterances[0].cancelled_at
        assert cancelled is not None
    heard = r.heard_frames
    assert heard[:10] == frames((10, 1))
    assert heard[-3:] == frames((3, 301))
    assert len(heard) <= 14, "at most a block of the next sentence"


async def test_interrupt_after_the_last_sentence_lets_it_finish() -> None:
    async with desk_rig(FAST, speed=2.0) as r:
        first = r.say(text_for(8), "a")
        await r.until(Started, "a")
        urgent = r.say(text_for(3, 301), "b", interrupt=Interrupt.AFTER_SENTENCE)
        assert isinstance(await r.end(first), Finished)
        await r.end(urgent)
    assert r.heard_frames == frames((8, 1), (3, 301))


async def test_interrupt_after_the_utterance_goes_in_front_of_its_equals() -> None:
    async with desk_rig(FAST, speed=2.0) as r:
        r.say(f"{text_for(5)} {text_for(5, 101)}", "a")
        waits = r.say(text_for(3, 201), "b")
        await r.until(Started, "a")
        urgent = r.say(text_for(3, 301), "c", interrupt=Interrupt.AFTER_UTTERANCE)
        await r.end(urgent)
        await r.end(waits)
    assert r.heard_frames == frames((5, 1), (5, 101), (3, 301), (3, 201))


@pytest.mark.parametrize("interrupt", list(Interrupt))
async def test_the_less_urgent_interrupts_nothing(interrupt: Interrupt) -> None:
    async with desk_rig(FAST, speed=2.0) as r:
        first = r.say(f"{text_for(6)} {text_for(6, 101)}", "a", priority=1)
        await r.until(Started, "a")
        other = r.say(text_for(3, 301), "b", interrupt=interrupt)
        assert isinstance(await r.end(first), Finished)
        await r.end(other)
    assert r.heard_frames == frames((6, 1), (6, 101), (3, 301))


@pytest.mark.parametrize("interrupt", list(Interrupt))
async def test_an_interrupt_with_nothing_heard_is_heard_first_of_its_equals(interrupt: Interrupt) -> None:
    async with desk_rig(replace(FAST, first_frame_delay_s=0.3), speed=4.0) as r:
        first = r.say(text_for(3), "a")
        await eventually(lambda: len(r.emulator.utterances) == 1)
        second = r.say(text_for(3, 101), "b", interrupt=interrupt)
        assert isinstance(await r.end(first), Finished), "nothing that was not heard is interrupted"
        assert isinstance(await r.end(second), Finished)
        order = [e.id for e in r.of(Started)]
    assert order == (["a", "b"] if interrupt is Interrupt.NO else ["b", "a"])


# -- stop and pause -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stage", [Stage.QUEUED, Stage.CONNECTING, Stage.WAITING, Stage.PLAYING, Stage.DRAINING]
)
async def test_one_request_is_stopped_in_any_state_and_the_others_are_heard(stage: Stage) -> None:
    scenario = FAST if stage is Stage.DRAINING else replace(SLOW, first_frame_delay_s=0.1)
    async with desk_rig(scenario, speed=2.0) as r:
        ticket = r.say(text_for(20), "a")
        other = r.say(text_for(3, 101), "b")

        def reached() -> bool:
            return any(isinstance(e, StageChanged) and e.stage is stage for e in r.engine_events)

        await eventually(reached)
        assert r.desk.stop("a")
        assert ticket.done.done(), "before stop returns"
        end = ticket.done.result()
        assert isinstance(end, Interrupted)
        assert end.why == "stopped"
        assert not r.desk.stop("a")
        assert isinstance(await r.end(other), Finished)
        heard = r.heard_frames
    assert heard[-3:] == frames((3, 101))
    assert len(heard) < 20


async def test_stopping_what_waits_is_not_heard_in_what_sounds() -> None:
    async with desk_rig(FAST, speed=2.0, start_buffer_s=WHOLE_FIRST_S) as r:
        heard = r.say(text_for(8), "a")
        r.say(text_for(3, 101), "b")
        r.say(text_for(3, 201), "c")
        await r.until(Started, "a")
        assert r.desk.stop("b")
        assert r.desk.stop("c")
        end = await r.end(heard)
        sounded = r.speaker.sounded
    assert isinstance(end, Finished)
    assert r.heard_frames == frames((8, 1))
    assert len(sounded) in range(8 * 1920, 8 * 1920 + 200), "not a sample was faded or lost"


async def test_stop_without_an_id_empties_everything() -> None:
    async with desk_rig(SLOW, speed=2.0) as r:
        tickets = [r.say(text_for(20, 1 + 100 * n)) for n in range(4)]
        pieces = r.desk.open(Request())
        pieces.write("One. Two")
        await eventually(lambda: r.of(Started))
        r.desk.pause()
        assert r.desk.stop()
        assert [type(t.done.result()) for t in [*tickets, pieces.ticket]] == [Interrupted] * 5
        assert not r.desk.stop()
        status = r.desk.status()
        assert (status.speaking, status.queue, status.paused) == (None, (), False)
        assert isinstance(await r.end(r.say(text_for(2, 901))), Finished)
        assert r.heard_frames[-2:] == frames((2, 901))


async def test_a_pause_holds_the_sound_and_requests_are_taken_meanwhile() -> None:
    async with desk_rig(FAST, speed=2.0, start_buffer_s=WHOLE_FIRST_S) as r:
        ticket = r.say(text_for(8), "a")
        await r.until(Started, "a")
        r.desk.pause()
        r.desk.pause()
        other = r.say(text_for(2, 101), "b")
        assert r.desk.status().paused
        heard = len(r.speaker.sounded)
        await asyncio.sleep(0.2)
        assert len(r.speaker.sounded) <= heard + 1000
        r.desk.resume()
        await r.end(ticket)
        await r.end(other)
    assert r.heard_frames == frames((8, 1), (2, 101))
    assert r.underruns == 0


# -- growing old ----------------------------------------------------------------------------------------


async def test_what_has_not_begun_in_its_time_fails_as_expired() -> None:
    async with desk_rig(SLOW, speed=2.0) as r:
        first = r.say(text_for(15), "a", ttl_s=0.5)
        late = r.say(text_for(3, 101), "b", ttl_s=0.1)
        end = await r.end(late)
        assert isinstance(end, Failed)
        assert (end.reason, end.played_s) == ("expired", 0.0)
        assert isinstance(await r.end(first), Finished), "what has begun does not expire"
    assert r.heard_frames == frames((15, 1))


async def test_what_is_paused_too_long_expires_too() -> None:
    async with desk_rig() as r:
        r.desk.pause()
        end = await r.end(r.say(text_for(3), ttl_s=0.1))
        assert isinstance(end, Failed)
        r.desk.resume()
        assert isinstance(await r.end(r.say(text_for(3, 101))), Finished)
    assert r.heard_frames == frames((3, 101))


async def test_nothing_that_waited_through_an_outage_is_spoken_once_the_server_is_back() -> None:
    """C15: the server is away; what was asked for meanwhile fails, and only what is asked later is heard."""
    async with desk_rig(FAST, patience_s=0.3) as r:
        await r.end(r.say(text_for(2)))
        await r.lose_the_server()
        stale = [r.say(text_for(2, 101)), r.say(text_for(2, 201), ttl_s=0.2), r.say(text_for(2, 301))]
        ends = [await r.end(ticket) for ticket in stale]
        assert all(isinstance(end, Failed) for end in ends)
        await r.bring_the_server_back()
        assert isinstance(await r.end(r.say(text_for(2, 901))), Finished)
    assert r.heard_frames == frames((2, 1), (2, 901))


async def test_a_long_text_is_dropped_as_a_whole_once_it_has_grown_old() -> None:
    """C15: it is given to the engine bit by bit, but what was asked for at once grows old at once."""
    text = " ".join(f"{text_for(2, 1 + 10 * n)} {'word ' * 60}end." for n in range(20))
    async with desk_rig(FAST, patience_s=0.4) as r:
        await r.end(r.say(text_for(2)))
        await r.lose_the_server()
        started_s = asyncio.get_running_loop().time()
        pieces = r.desk.open(Request())
        pieces.write(text)
        pieces.close()
        for ticket in (r.say(text), pieces.ticket):
            end = await r.end(ticket)
            assert isinstance(end, Failed)
        assert asyncio.get_running_loop().time() - started_s < 4.0
        await r.bring_the_server_back()
        assert isinstance(await r.end(r.say(text_for(2, 901))), Finished)
        assert [u.text for u in r.emulator.utterances] == [text_for(2), text_for(2, 901)]


async def test_what_waits_a_short_outage_through_is_spoken() -> None:
    async with desk_rig(FAST, patience_s=20.0) as r:
        await r.end(r.say(text_for(2)))
        await r.lose_the_server()
        ticket = r.say(text_for(2, 101))
        await eventually(lambda: r.desk.status().link.value == "offline")
        await r.bring_the_server_back()
        assert isinstance(await r.end(ticket), Finished)
    assert r.heard_frames == frames((2, 1), (2, 101))


# -- engines that come and go ---------------------------------------------------------------------------


async def test_what_is_asked_before_there_is_an_engine_waits_for_it() -> None:
    async with desk_rig(start=False) as r:
        ticket = r.say(text_for(3), "a")
        assert [w.id for w in r.desk.status().queue] == ["a"]
        await r.host.start()
        assert isinstance(await r.end(ticket), Finished)


async def test_a_voice_that_changes_is_used_with_the_next_request() -> None:
    async with desk_rig() as r:
        await r.end(r.say(text_for(2)))
        await r.desk.apply(replace(r.config, voice=replace(r.config.voice, name="vivian")), is_demo=False)
        await r.end(r.say(text_for(2)))
        assert [u.config.voice for u in r.emulator.utterances] == [None, "vivian"]
        assert len(r.builder.speakers) == 1
        assert r.desk.config.voice.name == "vivian"


async def test_another_engine_finishes_the_sentence_and_keeps_what_waits() -> None:
    async with desk_rig(FAST, speed=2.0) as r:
        first = r.say(f"{text_for(10)} {text_for(10, 101)}", "a")
        waits = [r.say(text_for(2, 201 + 10 * n), f"w{n}") for n in range(3)]
        await r.until(Started, "a")
        decoder = replace(r.config.decoder, threads=1)
        await r.desk.apply(replace(r.config, decoder=decoder), is_demo=False)
        end = await r.end(first)
        assert isinstance(end, Interrupted)
        assert (end.why, end.played_s) == ("settings changed", pytest.approx(0.8))
        for ticket in waits:
            assert isinstance(await r.end(ticket), Finished)
        assert len(r.builder.speakers) == 2
        assert r.heard_frames == frames((2, 201), (2, 211), (2, 221))
    assert kinds(r, "w1") == [Queued, Started, SentenceAudible, Finished]


@pytest.mark.parametrize("section", ["server", "voice"])
async def test_settings_that_cannot_be_used_change_nothing(section: str) -> None:
    async with desk_rig(FAST, speed=2.0) as r:
        first = r.say(text_for(10), "a")
        await r.until(Started, "a")
        server, voice = (
            replace(r.config.server, url="ftp://host"),
            replace(r.config.voice, task="VoiceDesign"),
        )
        changed = {"server": server} if section == "server" else {"voice": voice}
        await r.desk.apply(replace(r.config, **changed), is_demo=False)
        notices = [e.text for e in r.engine_events if isinstance(e, Notice)]
        assert "the settings stay as they were" in notices[-1]
        assert isinstance(await r.end(first), Finished)
        assert isinstance(await r.end(r.say(text_for(2))), Finished)


async def test_closing_finishes_the_sentence_and_nothing_else() -> None:
    async with desk_rig(FAST, speed=2.0) as r:
        first = r.say(f"{text_for(10)} {text_for(10, 101)}", "a")
        waits = r.say(text_for(2, 201), "b")
        await r.until(Started, "a")
        await r.desk.aclose(5.0)
        end = first.done.result()
        assert isinstance(end, Interrupted)
        assert (end.why, end.played_s) == ("closing", pytest.approx(0.8))
        assert isinstance(waits.done.result(), Interrupted)
        with pytest.raises(DeskClosing):
            r.say(text_for(2))
    assert r.heard_frames == frames((10, 1))


async def test_closing_waits_no_longer_than_its_grace() -> None:
    async with desk_rig(FAST, speed=1.0) as r:
        first = r.say(text_for(100), "a")
        await r.until(Started, "a")
        started_s = asyncio.get_running_loop().time()
        await r.desk.aclose(0.3)
        assert asyncio.get_running_loop().time() - started_s < 1.0
        assert isinstance(first.done.result(), Interrupted)


async def test_a_listener_that_fails_harms_nobody_and_one_that_left_is_not_called() -> None:
    told: list[DeskEvent] = []

    def fails(event: DeskEvent) -> None:
        raise RuntimeError("a listener on strike")

    async with desk_rig() as r:
        r.desk.subscribe(fails)
        leave = r.desk.subscribe(told.append)
        await r.end(r.say(text_for(2)))
        count = len(told)
        leave()
        leave()
        await r.end(r.say(text_for(2)))
    assert count == len(told) > 3
