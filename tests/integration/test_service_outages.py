"""A kiosk beside a real sound server, whose sink, server and network come and go while it speaks.

What was heard is what the sink's monitor recorded, compared with a whole decode of what the server sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import assets
from decoder.streaming import load_decoder
from server.emulator import Emulator, Scenario, SyntheticTalker
from server.emulator.talkers import demo_spec
from tests.helpers.pulse import PrivatePulse, Recorder
from tests.helpers.servers import Relay, tcp_server
from tests.helpers.waiting import eventually

RATE_HZ = 24_000
PIECE = RATE_HZ // 5
"""What is looked for in a recording: long enough to be unlike anything else, short enough to show gaps."""
ALIKE = 0.98
LOST_S = 1.0
"""Most of what a device that is taken away may take along: its own buffer."""
FIRST = "This one is long enough to be cut in its very middle."
SECOND = "That one is asked for while nobody hears it."
THIRD = "And this is what comes after it."


@dataclass
class Kiosk:
    """A process that speaks the lines it is given."""

    process: Process
    done: list[dict[str, Any]] = field(default_factory=list)
    """What it printed for each utterance."""
    notes: list[str] = field(default_factory=list)

    async def say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n".encode())
        await self.process.stdin.drain()

    async def until_done(self, count: int, within_s: float = 40.0) -> dict[str, Any]:
        """Wait until it has ended ``count`` utterances, and return how the last of them went."""
        await eventually(lambda: len(self.done) >= count, within_s, f"{count} ends; {self.notes}")
        return self.done[count - 1]

    async def until_noted(self, words: str, within_s: float = 20.0) -> None:
        await eventually(
            lambda: any(words in note for note in self.notes), within_s, f"{words}: {self.notes}"
        )

    async def read(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stderr is not None

        async def results(stream: asyncio.StreamReader) -> None:
            async for line in stream:
                self.done.append(json.loads(line))

        async def notes(stream: asyncio.StreamReader) -> None:
            async for line in stream:
                self.notes.append(line.decode())

        await asyncio.gather(results(self.process.stdout), notes(self.process.stderr))


@contextlib.asynccontextmanager
async def kiosk(url: str, env: Mapping[str, str], *flags: str) -> AsyncIterator[Kiosk]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app.cli", "--no-gui", "--json", "--server", url),
        *("--checkpoint", str(assets.folder("demo_voice")), *flags),
        env=dict(env),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    running = Kiosk(process)
    reading = asyncio.create_task(running.read())
    try:
        yield running
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 10)
        await asyncio.wait_for(reading, 10)


@dataclass(frozen=True)
class Found:
    """Where pieces of an utterance turned up in a recording: place in the utterance → in the recording."""

    places: Mapping[int, int]
    pieces: int

    @property
    def is_whole(self) -> bool:
        return len(self.places) == self.pieces

    @property
    def first(self) -> int:
        return min(self.places)

    @property
    def last(self) -> int:
        """The sample after the last piece."""
        return max(self.places) + PIECE


def find(recording: NDArray[np.float32], whole: NDArray[np.float32]) -> Found:
    """Look for every piece of ``whole`` that is not silent."""
    loud = [
        at
        for at in range(0, len(whole) - PIECE + 1, PIECE)
        if np.sqrt(np.mean(whole[at : at + PIECE] ** 2)) > 1e-3
    ]
    if len(recording) < PIECE:
        return Found({}, len(loud))
    size = 1 << (len(recording) + PIECE).bit_length()
    spectrum = np.fft.rfft(recording, size)
    sums = np.concatenate([[0.0], np.cumsum(recording.astype(np.float64) ** 2)])
    energy = sums[PIECE:] - sums[:-PIECE]
    places = {}
    for at in loud:
        piece = whole[at : at + PIECE]
        product = np.fft.irfft(spectrum * np.conj(np.fft.rfft(piece, size)), size)[: len(energy)]
        alike = product / np.sqrt(np.maximum(energy, 1e-6) * np.sum(piece.astype(np.float64) ** 2))
        best = int(np.argmax(alike))
        if alike[best] > ALIKE:
            places[at] = best
    return Found(places, len(loud))


class Texts:
    """What each text sounds like."""

    def __init__(self) -> None:
        self._talker = SyntheticTalker(demo_spec())
        self._decoder = load_decoder(assets.folder("demo_voice"), threads=1)

    def sound(self, text: str) -> NDArray[np.float32]:
        return self._decoder.new_stream().decode(self._talker.codes(text))


async def until_heard(recorder: Recorder, seconds: float) -> None:
    """Wait until so much sound was recorded."""
    await eventually(
        lambda: np.count_nonzero(recorder.so_far()) > seconds * RATE_HZ, 60.0, f"{seconds} s of sound"
    )


def ways_to_lose_it(pulse: PrivatePulse) -> dict[str, tuple[Callable[[], None], Callable[[], None]]]:
    return {
        "sink": (pulse.take_sink_away, pulse.give_sink_back),
        "server": (pulse.kill, pulse.start),
    }


@pytest.mark.parametrize("what", ["sink", "server"])
async def test_a_short_loss_of_the_sound_costs_what_the_device_had_and_nothing_more(what: str) -> None:
    """A6: the rest plays once, in order, on what comes back; then everything is as before."""
    texts = Texts()
    with PrivatePulse() as pulse:
        take, give_back = ways_to_lose_it(pulse)[what]
        async with (
            Emulator(SyntheticTalker(demo_spec()), Scenario(pace=4)) as emulator,
            kiosk(emulator.url, pulse.env) as speaking,
        ):
            before = pulse.record()
            await speaking.say(FIRST)
            await until_heard(before, 1.5)
            take()
            heard_before = before.stop()
            await speaking.until_noted("the device stopped asking for samples")
            give_back()
            after = pulse.record()
            assert (await speaking.until_done(1))["outcome"] == "complete"
            await speaking.say(THIRD)
            assert (await speaking.until_done(2))["outcome"] == "complete"
            await until_heard(after, 2.0)
            heard_after = after.stop()
    first = texts.sound(FIRST)
    head, tail = find(heard_before, first), find(heard_after, first)
    assert head.first < PIECE
    assert tail.last > len(first) - 2 * PIECE
    assert head.last <= tail.first + PIECE, "nothing is heard twice"
    assert tail.first - head.last < LOST_S * RATE_HZ
    steps = np.diff([tail.places[at] - at for at in sorted(tail.places)])
    assert not steps.any(), "the rest is in one piece"
    assert find(heard_after, texts.sound(THIRD)).is_whole


async def test_what_nobody_could_hear_is_not_heard_later() -> None:
    """C15: after a longer loss sound goes to nowhere, in time; when the sink is back only news is heard."""
    texts = Texts()
    with PrivatePulse() as pulse:
        async with (
            Emulator(SyntheticTalker(demo_spec()), Scenario(pace=4)) as emulator,
            kiosk(emulator.url, pulse.env) as speaking,
        ):
            before = pulse.record()
            await speaking.say(FIRST)
            await until_heard(before, 1.5)
            pulse.take_sink_away()
            before.stop()
            await speaking.say(SECOND)
            await speaking.until_done(2)
            pulse.give_sink_back()
            after = pulse.record()
            await eventually(pulse.is_played_to, 30.0, "the sink is found again")
            await speaking.say(THIRD)
            await speaking.until_done(3)
            await until_heard(after, 2.0)
            heard = after.stop()
    assert find(heard, texts.sound(THIRD)).is_whole
    for text in (FIRST, SECOND):
        assert not find(heard, texts.sound(text)).places, f"“{text}” is stale"


async def test_what_waited_for_a_server_in_vain_is_not_heard_later() -> None:
    """C15: the server goes in mid-sentence and comes back; what was asked for in between is over."""
    texts = Texts()
    with PrivatePulse() as pulse:
        recorder = pulse.record()
        async with contextlib.AsyncExitStack() as stack:
            async with Emulator(SyntheticTalker(demo_spec()), Scenario(pace=1)) as emulator:
                url, port = emulator.url, emulator.port
                speaking = await stack.enter_async_context(kiosk(url, pulse.env, "--patience", "0.5"))
                await speaking.say(FIRST)
                await until_heard(recorder, 1.5)
            assert (await speaking.until_done(1))["outcome"] != "complete"
            await speaking.say(SECOND)
            assert (await speaking.until_done(2))["outcome"] == "failed"
            async with Emulator(SyntheticTalker(demo_spec()), Scenario(pace=4), port=port) as emulator:
                await speaking.say(THIRD)
                assert (await speaking.until_done(3))["outcome"] == "complete"
                await eventually(lambda: find(recorder.so_far(), texts.sound(THIRD)).is_whole, 10.0)
                assert [record.text for record in emulator.utterances] == [THIRD]
                await stack.aclose()
        heard = recorder.stop()
    first, third = find(heard, texts.sound(FIRST)), find(heard, texts.sound(THIRD))
    assert not first.is_whole
    assert max(first.places.values()) < min(third.places.values())
    assert not find(heard, texts.sound(SECOND)).places


async def test_a_network_that_swallows_everything_costs_what_was_on_its_way() -> None:
    """C5, C15: nobody says that the link is gone; it is noticed, and nothing of before comes back."""
    texts = Texts()
    with PrivatePulse() as pulse:
        recorder = pulse.record()
        env = {**pulse.env, "NEARFIELD_SERVER_CONNECT_TIMEOUT_S": "1"}
        async with contextlib.AsyncExitStack() as stack:
            emulator = await stack.enter_async_context(
                Emulator(SyntheticTalker(demo_spec()), Scenario(pace=1))
            )
            cable = Relay(emulator.port)
            port = await stack.enter_async_context(tcp_server(cable))
            speaking = await stack.enter_async_context(
                kiosk(f"ws://127.0.0.1:{port}", env, "--patience", "0.5")
            )
            await speaking.say(FIRST)
            await until_heard(recorder, 1.5)
            cable.forwards = False
            await speaking.say(SECOND)
            ends = [(await speaking.until_done(count))["outcome"] for count in (1, 2)]
            assert "complete" not in ends
            cable.forwards = True
            await speaking.say(THIRD)
            assert (await speaking.until_done(3))["outcome"] == "complete"
            await eventually(lambda: find(recorder.so_far(), texts.sound(THIRD)).is_whole, 10.0)
        heard = recorder.stop()
    assert not find(heard, texts.sound(SECOND)).places
    first, third = find(heard, texts.sound(FIRST)), find(heard, texts.sound(THIRD))
    assert not first.is_whole
    assert max(first.places.values()) < min(third.places.values())
