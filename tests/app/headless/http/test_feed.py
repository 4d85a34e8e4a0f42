from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from app.desk.request import Request
from app.headless.http.feed import MOST_BEHIND, REMEMBERED, Feed, Reader, Told
from tests.helpers.fake_desk import FakeDesk


def feed_of(desk: FakeDesk) -> Feed:
    return Feed(desk)  # type: ignore[arg-type]


async def test_a_reader_is_told_all_of_a_request_in_order() -> None:
    desk = FakeDesk()
    feed = feed_of(desk)
    with feed.reader() as reader:
        desk.speak(Request("One. Two.", source="test"))
        told: list[Told] = []
        while not told or not told[-1].is_last:
            event = await asyncio.wait_for(reader.next(), 5)
            assert event is not None
            told.append(event)
    assert [each.name for each in told] == ["queued", "started", "sentence", "finished"]
    assert [each.number for each in told] == [1, 2, 3, 4]
    assert told[-1].body["played_ms"] == 1000
    assert feed.readers == 0


async def test_a_reader_of_one_request_is_told_of_no_other() -> None:
    desk = FakeDesk()
    feed = feed_of(desk)
    with feed.reader(only_id="b") as reader:
        for name in ("a", "b", "c"):
            desk.speak(Request(f"Text {name}.", id=name))
        await asyncio.sleep(0)
        feed.close()
        told = [each async for each in all_of(reader)]
    assert {each.body["id"] for each in told} == {"b"}
    assert len(told) == 4


async def all_of(reader: Reader) -> AsyncIterator[Told]:
    while (told := await reader.next()) is not None:
        yield told


async def test_who_comes_back_is_told_what_was_missed_and_nothing_twice() -> None:
    desk = FakeDesk(at_once=False)
    feed = feed_of(desk)
    for number in range(5):
        desk.speak(Request(f"Text {number}."))
    with feed.reader(after=2) as reader:
        desk.speak(Request("One more."))
        feed.close()
        numbers = [each.number async for each in all_of(reader)]
    assert numbers == [3, 4, 5, 6]


async def test_only_so_much_is_remembered() -> None:
    desk = FakeDesk(at_once=False)
    feed = feed_of(desk)
    for number in range(REMEMBERED + 50):
        desk.stop()
        desk.speak(Request(f"Text {number}."))
    feed.close()
    with feed.reader(after=0) as reader:
        numbers = [each.number async for each in all_of(reader)]
    assert len(numbers) == REMEMBERED
    assert numbers[-1] == 2 * (REMEMBERED + 50) - 1


async def test_a_reader_that_does_not_keep_up_is_dropped_and_nobody_waits_for_it() -> None:
    desk = FakeDesk(at_once=False)
    feed = feed_of(desk)
    lost: list[str] = []
    with feed.reader(lambda: lost.append("slow")) as slow, feed.reader(lambda: lost.append("fast")) as fast:
        taken = 0
        for number in range(MOST_BEHIND + 1):
            desk.stop()
            desk.speak(Request(f"Text {number}."))
            while fast.behind:
                assert await fast.next() is not None
                taken += 1
        assert lost == ["slow"]
        assert await slow.next() is None
        assert taken == 2 * (MOST_BEHIND + 1) - 1


async def test_a_closed_feed_ends_its_readers_and_those_who_come_late() -> None:
    feed = feed_of(FakeDesk())
    with feed.reader() as reader:
        waiting = asyncio.create_task(reader.next())
        await asyncio.sleep(0)
        feed.close()
        assert await asyncio.wait_for(waiting, 5) is None
    with feed.reader() as late:
        assert await late.next() is None
