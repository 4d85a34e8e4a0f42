from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import numpy as np
import pytest

from app.audio.devices import DeviceChoice
from app.audio.keeper import OutputEvent, OutputKeeper, OutputLost, OutputMissing, OutputOpened
from app.audio.null import NullOutput
from app.audio.output import OpenError, OutputInfo, SampleSource
from tests.app.audio.sources import ListSource, ramp
from tests.helpers.hand_time import HandTime, settle

T = TypeVar("T")


class HandOutput:
    """An output whose callback is `tick`."""

    def __init__(self, source: SampleSource, clock: HandTime, name: str) -> None:
        self.info = OutputInfo(name, 24_000, 1, 0.1, audible=name not in ("none", "auto_null"))
        self.failure: BaseException | None = None
        self.underflows = 0
        self.closed = False
        self.dead = False
        self._source = source
        self._clock = clock
        self.last_callback_s = clock()

    def tick(self, samples: int = 480) -> np.ndarray:
        out = np.ones(samples, np.float32)
        if self.dead or self.closed:
            return out[:0]
        self.last_callback_s = self._clock()
        self._source.read_into(out, self._clock())
        return out

    def close(self) -> None:
        self.closed = True


class Room:
    """A keeper with its devices: ``refuses`` is what opening raises, None when a device is there."""

    def __init__(self, pcm: np.ndarray | None = None) -> None:
        self.time = HandTime()
        self.source = ListSource(pcm)
        self.refuses: list[OpenError] = []
        self.absent: OpenError | None = None
        self.broken: dict[str, OpenError] = {}
        """What is raised by the device of that name."""
        self.tried: list[str] = []
        self.make = HandOutput
        self.default = "speakers"
        self.outputs: list[HandOutput] = []
        self.tries_s: list[float] = []
        self.events: list[OutputEvent] = []
        self.heard: list[np.ndarray] = []
        self.keeper = OutputKeeper(
            self.source,
            self.open_device,
            self.events.append,
            open_null=lambda source: self.add(HandOutput(source, self.time, "none")),
            fingerprint=lambda: self.default,
            cause=lambda: "look at the cable",
            clock=self.time,
            sleep=self.time.sleep,
            off_loop=self.at_once,
        )

    async def at_once(self, call: Callable[[], T], /) -> T:
        return call()

    def open_device(self, source: SampleSource, choice: DeviceChoice | None) -> HandOutput:
        name = choice.name if choice else self.default
        self.tries_s.append(self.time() - 1000.0)
        self.tried.append(name)
        if name in self.broken:
            raise self.broken[name]
        if self.refuses:
            raise self.refuses.pop(0)
        if self.absent is not None:
            raise self.absent
        return self.add(self.make(source, self.time, name))

    def add(self, output: HandOutput) -> HandOutput:
        self.outputs.append(output)
        output.tick(480)  # as PortAudio does while it opens
        return output

    @property
    def output(self) -> HandOutput:
        return self.outputs[-1]

    def play(self) -> None:
        """Let every output that is not closed ask for 50 ms."""
        for output in self.outputs:
            block = output.tick(1200)
            if len(block) and output.info.audible:
                self.heard.append(block)

    async def pass_time(self, seconds: float) -> None:
        await self.time.advance(seconds, self.play)

    def kinds(self) -> list[type[OutputEvent]]:
        return [type(event) for event in self.events]


@asynccontextmanager
async def started(room: Room) -> AsyncIterator[Room]:
    starting = asyncio.ensure_future(room.keeper.start())
    while not starting.done():
        await settle()
        if not starting.done():
            await room.pass_time(0.05)
    await starting
    try:
        yield room
    finally:
        await room.keeper.aclose()
        assert all(output.closed for output in room.outputs)


async def test_start_opens_the_device_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "nearfield.audio")
    async with started(Room()) as room:
        await room.pass_time(10)
        assert room.events == [OutputOpened(room.output.info)]
        assert len(caplog.records) == 1
        assert room.keeper.info == room.output.info


async def test_a2_without_a_device_samples_go_nowhere_and_one_that_appears_is_picked_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    room = Room()
    room.absent = OpenError("there is no sound device")
    async with started(room):
        assert room.events == [OutputMissing("there is no sound device", "look at the cable")]
        assert room.keeper.info is not None
        assert not room.keeper.info.audible
        await room.pass_time(60)
        assert len(caplog.records) == 1, "it says so once"
        room.absent = None
        await room.pass_time(10.5)
        assert room.kinds() == [OutputMissing, OutputOpened]
        assert [output.info.name for output in room.outputs if not output.closed] == ["speakers"]


async def test_a3_it_is_tried_again_with_growing_pauses_and_the_hint_of_the_error() -> None:
    room = Room()
    room.absent = OpenError("no device", "set XDG_RUNTIME_DIR")
    async with started(room):
        assert room.events == [OutputMissing("no device", "set XDG_RUNTIME_DIR")]
        await room.pass_time(60)
    pauses = np.diff(room.tries_s)
    assert pauses[0] < 1
    assert (np.diff(pauses) > -0.3).all()
    assert pauses.max() < 10.5


async def test_a5_changed_default_is_followed_between_utterances_only() -> None:
    async with started(Room()) as room:
        room.default = "headset"
        await room.pass_time(10)
        assert len(room.outputs) == 1
        await room.keeper.between_utterances()
        assert room.output.info.name == "headset"
        assert room.outputs[0].closed
        assert room.kinds() == [OutputOpened, OutputOpened]
        await room.keeper.between_utterances()
        assert len(room.outputs) == 2


async def test_a5_default_that_cannot_be_opened_is_not_waited_for() -> None:
    async with started(Room()) as room:
        room.default = "headset"
        room.absent = OpenError("no")
        await room.keeper.between_utterances()
        assert room.output.info.name == "none"
        assert room.kinds() == [OutputOpened, OutputMissing]


async def test_a5_caller_that_is_cancelled_leaves_one_output_open() -> None:
    async with started(Room()) as room:
        room.default = "headset"
        asking = asyncio.ensure_future(room.keeper.between_utterances())
        await asyncio.sleep(0)
        asking.cancel()
        await settle()
        assert [output.info.name for output in room.outputs if not output.closed] == ["headset"]


async def use(room: Room, device: str) -> None:
    """Ask for another device, and let time pass until that has been dealt with."""
    asking = asyncio.ensure_future(room.keeper.use(device))
    await settle()
    while not asking.done():
        await room.pass_time(0.05)
    await asking


def opened(room: Room) -> list[tuple[str, str]]:
    """Name and note of every device that was told to be open."""
    return [(e.info.name, e.info.note) for e in room.events if isinstance(e, OutputOpened)]


async def test_another_device_goes_on_with_the_very_next_sample() -> None:
    pcm = ramp(24_000 * 4)
    async with started(Room(pcm)) as room:
        await room.pass_time(1)
        await use(room, "Pulse: headset")
        assert [o.info.name for o in room.outputs if not o.closed] == ["headset"]
        await room.pass_time(1)
        await use(room, "")
        await room.pass_time(4)
        sound = np.concatenate(room.heard)
        assert np.array_equal(sound[sound != 0], pcm)
        assert opened(room) == [("speakers", ""), ("headset", ""), ("speakers", "")]


async def test_the_device_that_was_chosen_stays_chosen_when_it_is_lost_and_when_the_default_changes() -> None:
    async with started(Room()) as room:
        await use(room, "Pulse: headset")
        await room.pass_time(6)
        room.output.dead = True
        await room.pass_time(3)
        room.default = "screen"
        await room.keeper.between_utterances()
        assert room.tried == ["speakers", "headset", "headset", "headset"]


async def test_the_device_that_is_open_already_is_not_opened_again() -> None:
    async with started(Room()) as room:
        await use(room, "Pulse: headset")
        await use(room, "Pulse: headset")
        assert len(room.outputs) == 2


async def test_a_device_that_cannot_be_opened_is_told_and_the_sound_stays_where_it_was() -> None:
    pcm = ramp(24_000 * 4)
    async with started(Room(pcm)) as room:
        await room.pass_time(1)
        room.broken["headset"] = OpenError("the headset is broken", "mend it")
        await use(room, "headset")
        await room.pass_time(4)
        sound = np.concatenate(room.heard)
        assert np.array_equal(sound[sound != 0], pcm)
        note = "the headset is broken; mend it; the sound stays where it was"
        assert opened(room) == [("speakers", ""), ("speakers", note)]
        room.output.dead = True
        await room.pass_time(8)
        assert room.tried[-1] == "speakers"


async def test_a_busy_device_is_asked_a_few_times_before_the_sound_stays_where_it_was() -> None:
    async with started(Room()) as room:
        room.broken["headset"] = OpenError("in use", busy=True)
        await use(room, "headset")
        assert room.tried == ["speakers", *["headset"] * 4, "speakers"]


async def test_if_the_old_device_cannot_be_opened_any_more_either_samples_go_nowhere_until_it_can() -> None:
    async with started(Room()) as room:
        room.broken["headset"] = OpenError("no headset")
        room.broken["speakers"] = OpenError("no speakers")
        await use(room, "headset")
        assert room.events[-1] == OutputMissing("no headset", "look at the cable")
        room.broken.clear()
        await room.pass_time(11)
        assert room.output.info.name == "speakers"


async def test_where_there_was_no_device_the_chosen_one_is_opened_or_waited_for() -> None:
    room = Room()
    room.absent = OpenError("there is no sound device")
    async with started(room):
        await use(room, "headset")
        assert room.kinds() == [OutputMissing, OutputMissing]
        room.absent = None
        await room.pass_time(11)
        assert room.output.info.name == "headset"


async def test_a_device_asked_for_while_it_closes_is_not_opened() -> None:
    async with started(Room()) as room:
        await room.keeper.aclose()
        await room.keeper.use("headset")
        assert room.tried == ["speakers"]


async def test_a6_unplugged_in_mid_play_the_rest_plays_once_and_in_order(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pcm = ramp(24_000 * 8)
    async with started(Room(pcm)) as room:
        await room.pass_time(4)
        room.output.dead = True
        unplugged_s = room.time()
        while len(room.events) == 1:
            await room.pass_time(0.05)
        assert room.time() - unplugged_s < 2
        assert isinstance(room.events[1], OutputLost)
        await room.pass_time(6)
        sound = np.concatenate(room.heard)
        assert np.array_equal(sound[sound != 0], pcm)
        assert room.kinds() == [OutputOpened, OutputLost, OutputOpened]
        assert sum(record.levelno >= logging.WARNING for record in caplog.records) == 1


async def test_a6_device_that_stays_away_is_waited_for_then_samples_go_nowhere() -> None:
    pcm = ramp(24_000 * 60)
    async with started(Room(pcm)) as room:
        await room.pass_time(4)
        room.output.dead = True
        room.absent = OpenError("gone")
        played = room.source.at
        await room.pass_time(5)
        assert room.source.at == played, "nothing is skipped while it may come back"
        assert room.keeper.info is None
        await room.pass_time(5)
        assert room.kinds() == [OutputOpened, OutputLost, OutputMissing]
        assert room.source.at > played
        room.absent = None
        await room.pass_time(10.5)
        assert room.kinds()[-1] is OutputOpened


async def test_a6_device_back_within_five_seconds_skips_nothing() -> None:
    pcm = ramp(24_000 * 10)
    async with started(Room(pcm)) as room:
        await room.pass_time(4)
        room.output.dead = True
        room.refuses = [OpenError("gone"), OpenError("gone")]
        await room.pass_time(12)
        sound = np.concatenate(room.heard)
        assert np.array_equal(sound[sound != 0], pcm)


async def test_a8_failure_in_the_callback_is_told_and_the_device_opened_again() -> None:
    async with started(Room()) as room:
        await room.pass_time(1)
        room.output.failure = ValueError("broken")
        await room.pass_time(0.5)
        assert room.kinds() == [OutputOpened, OutputLost, OutputOpened]
        lost = room.events[1]
        assert isinstance(lost, OutputLost)
        assert "broken" in lost.reason


async def test_a8_source_that_always_fails_is_not_opened_in_a_tight_loop() -> None:
    async with started(Room()) as room:
        for _ in range(400):
            room.output.failure = ValueError("broken")
            await room.pass_time(0.05)
        assert len(room.tries_s) <= 1 + 1 + 20 / 5


async def test_a14_storm_of_underflows_reopens_every_five_seconds_at_most_and_is_counted() -> None:
    async with started(Room(ramp(24_000 * 20))) as room:
        for _ in range(200):
            room.output.underflows += 1
            await room.pass_time(0.05)
        assert room.keeper.underflows == 200
        assert 2 <= len(room.tries_s) <= 1 + 1 + 10 / 5
        await room.pass_time(12)
        sound = np.concatenate(room.heard)
        assert np.array_equal(sound[sound != 0], room.source.pcm)
        assert room.keeper.underflows == 200


async def test_a16_busy_device_is_tried_again_and_no_sample_is_lost() -> None:
    room = Room(ramp(2400))
    room.refuses = [OpenError("in use", busy=True)] * 3
    async with started(room):
        await room.pass_time(1)
        assert room.kinds() == [OutputOpened]
        sound = np.concatenate(room.heard)
        assert np.array_equal(sound[sound != 0], room.source.pcm)


async def test_a16_device_that_stays_busy_is_given_up_for_now() -> None:
    room = Room()
    room.absent = OpenError("in use", "close the other program", busy=True)
    async with started(room):
        assert len(room.tries_s) == 4
        assert room.events == [OutputMissing("in use", "close the other program")]


async def test_a23_dummy_sink_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    room = Room()
    room.default = "auto_null"
    async with started(room):
        assert "dummy" in caplog.text


async def test_only_one_output_reads_at_any_time() -> None:
    pcm = ramp(24_000 * 40)
    room = Room(pcm)
    room.absent = OpenError("gone")
    async with started(room):
        for _ in range(30):
            room.absent = None if room.absent else OpenError("gone")
            await room.pass_time(1.0)
            if room.output.info.audible and room.absent:
                room.output.dead = True
            assert sum(not output.closed for output in room.outputs) <= 1
        # Every 50 ms one output reads 1200 samples, and one that opens reads nothing.
        assert room.source.at % 1200 == 0


async def test_output_without_a_clock_may_ask_what_there_is_once_it_is_its_turn() -> None:
    pcm = ramp(5000)
    source = ListSource(pcm)
    keeper = OutputKeeper(
        source, lambda of, _: NullOutput(of, paced=False), lambda event: None, fingerprint=lambda: None
    )
    await keeper.start()
    give_up_at = time.perf_counter() + 5
    while source.readable_samples():
        assert time.perf_counter() < give_up_at
        await asyncio.sleep(0.001)
    await keeper.aclose()
    assert source.asked_for[-1][0] < len(pcm), "no silence was asked for"


async def test_opening_that_fails_in_an_unexpected_way_is_survived() -> None:
    room = Room()

    def broken(source: SampleSource, choice: DeviceChoice | None) -> HandOutput:
        raise RuntimeError("a bug")

    room.keeper._open_output = broken
    async with started(room):
        assert isinstance(room.events[0], OutputMissing)
        assert "a bug" in room.events[0].reason


async def test_listener_that_fails_is_logged_and_survived(caplog: pytest.LogCaptureFixture) -> None:
    room = Room()

    def broken(event: OutputEvent) -> None:
        raise RuntimeError("a bug")

    room.keeper._on_event = broken
    async with started(room):
        assert "a listener failed" in caplog.text


async def test_a7_aclose_is_quick_and_repeatable_and_ends_the_watch() -> None:
    async with started(Room()) as room:
        await room.keeper.aclose()
        assert room.output.closed
        await room.pass_time(10)
        await room.keeper.between_utterances()
        await room.keeper.aclose()
        assert len(room.outputs) == 1


async def test_a15_aclose_does_not_wait_for_an_opening_that_blocks() -> None:
    room = Room()
    release = threading.Event()

    def slow(source: SampleSource, choice: DeviceChoice | None) -> HandOutput:
        release.wait()
        return room.add(HandOutput(source, room.time, "late"))

    keeper = OutputKeeper(room.source, slow, room.events.append, fingerprint=lambda: None)
    starting = asyncio.ensure_future(keeper.start())
    await asyncio.sleep(0.01)
    begun = time.perf_counter()
    await keeper.aclose()
    assert time.perf_counter() - begun < 1
    await starting
    release.set()
    give_up_at = time.perf_counter() + 5
    while not (room.outputs and room.output.closed):
        assert time.perf_counter() < give_up_at
        await asyncio.sleep(0.01)
    assert not room.events


async def test_a7_aclose_gives_up_a_close_that_blocks_and_the_source_is_left_alone() -> None:
    release = threading.Event()

    class Blocks(HandOutput):
        def close(self) -> None:
            release.wait()
            super().close()

    room = Room(ramp(24_000))
    room.make = Blocks
    room.keeper._off_loop = asyncio.to_thread
    await room.keeper.start()
    room.output.tick()
    assert room.source.at == 480
    begun = time.perf_counter()
    await room.keeper.aclose()
    assert time.perf_counter() - begun < 2
    assert not room.output.tick().any()
    assert room.source.at == 480
    release.set()
