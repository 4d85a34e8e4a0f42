"""Thousands of utterances through one desk: whatever is left behind by one would be seen.

Texts that are heard to the end, that arrive in pieces, that are interrupted by more urgent ones or stopped,
and links that are cut in mid-utterance.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import statistics
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from app.desk.events import DeskEvent, Ending, Failed, Finished, Interrupted
from app.desk.request import Interrupt, Request
from app.desk.ticket import Final
from decoder.streaming.bench.memory import memory
from decoder.streaming.heap import trim_heap
from tests.helpers.counting_talker import text_for
from tests.helpers.fake_decoder import SPEC
from tests.helpers.hurried import Hurried, hurried
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left

__all__ = ["no_task_is_left", "no_thread_is_left"]

log = logging.getLogger("nearfield.soak")

SPEED = 50.0
FRAMES = 12
LENGTH_S = FRAMES * SPEC.frame_s
EVERY = 100
"""Utterances from one look to the next, so that each finds the same in flight."""


@dataclass(frozen=True)
class Look:
    """What the process holds."""

    utterances: int
    resident_bytes: int
    objects: int
    """All that the garbage collector knows; the event loop's cancelled timers come and go by the hundred."""
    ours: int
    """Those of classes of the client."""
    threads: int
    tasks: int
    files: int


def look(utterances: int) -> Look:
    trim_heap()  # what was freed and is kept for later is no leak
    resident = memory().resident_bytes
    assert resident is not None
    objects = gc.get_objects()
    return Look(
        utterances,
        resident,
        len(objects),
        sum(str(type(found).__module__).startswith(("app.", "decoder.")) for found in objects),
        threading.active_count(),
        len(asyncio.all_tasks()),
        len(list(Path("/proc/self/fd").iterdir())),
    )


@dataclass
class Crowd:
    """Programs that want to be heard, in turn each in its own way."""

    rig: Hurried
    ends: Counter[str] = field(default_factory=Counter)
    events: int = 0
    unfinished: dict[str, int] = field(default_factory=dict)
    """Requests that were queued and have not ended."""

    def __post_init__(self) -> None:
        self.rig.desk.subscribe(self._observe)

    def _observe(self, event: DeskEvent) -> None:
        self.events += 1
        if isinstance(event, Ending):
            self.unfinished.pop(event.id)
            self.ends[type(event).__name__] += 1
        else:
            self.unfinished[event.id] = self.unfinished.get(event.id, 0) + 1

    async def ask(self, number: int) -> None:
        """Have the ``number``-th request heard; two in some turns."""
        desk = self.rig.desk
        text = text_for(FRAMES, 1 + FRAMES * (number % 50))
        request = Request(text, voice="vivian" if number % 2 else None, source="crowd")
        if number % 100 == 99:
            await self._cut(request)
        elif number % 25 == 24:
            ticket = desk.speak(request)
            await asyncio.sleep(LENGTH_S / SPEED / 2)
            desk.stop(ticket.id)
            assert isinstance(await ticket.done, Interrupted | Finished)
        elif number % 10 == 9:
            first = desk.speak(request)
            await asyncio.sleep(LENGTH_S / SPEED / 2)
            urgent = desk.speak(replace(request, priority=1, interrupt=Interrupt.NOW, ttl_s=600.0))
            assert is_whole(await urgent.done)
            assert isinstance(await first.done, Interrupted | Finished)
        elif number % 10 == 4:
            pieces = desk.open(request)
            pieces.write(" And that")
            pieces.write(" was all.")
            pieces.close()
            assert isinstance(await pieces.ticket.done, Finished)
        else:
            assert is_whole(await desk.speak(request).done)

    async def _cut(self, request: Request) -> None:
        """Lose the link in mid-utterance: that text fails, the next one is heard on a fresh link."""
        healthy = self.rig.emulator.scenario
        self.rig.emulator.scenario = replace(healthy, cut_at_frame=FRAMES // 2)
        end = await self.rig.desk.speak(request).done
        self.rig.emulator.scenario = healthy
        assert isinstance(end, Failed), end
        assert is_whole(await self.rig.desk.speak(request).done)


def is_whole(end: Final) -> bool:
    assert isinstance(end, Finished), end
    assert abs(end.played_s - LENGTH_S) < SPEC.frame_s, end
    return True


async def soak(count: int, kept_records: int) -> tuple[list[Look], Crowd]:
    looks = []
    async with hurried(SPEED, kept_records) as rig:
        crowd = Crowd(rig)
        for number in range(count):
            await asyncio.wait_for(crowd.ask(number), 60)
            if (number + 1) % EVERY == 0:
                looks.append(look(number + 1))
                log.info("%s %s", looks[-1], dict(crowd.ends))
        assert not crowd.unfinished
        assert not rig.desk.status().queue
        assert rig.emulator.open_sessions == 1
    return looks, crowd


def bytes_an_utterance(looks: list[Look]) -> float:
    """Return how fast resident memory grows: the median growth over a thousand utterances.

    Not a straight line through all looks: the step of 3 MB of a ring that is alive in the moment of a look,
    or not any more, would tilt it.
    """
    apart = 1000 // EVERY
    return statistics.median(
        (later.resident_bytes - earlier.resident_bytes) / (later.utterances - earlier.utterances)
        for earlier, later in zip(looks, looks[apart:], strict=False)
    )


async def test_three_hundred_utterances_leave_nothing_behind() -> None:
    looks, crowd = await soak(300, kept_records=20)
    early, last = looks[0], looks[-1]
    assert crowd.ends["Finished"] > 250
    assert min(crowd.ends["Failed"], crowd.ends["Interrupted"]) >= 3
    assert abs(last.ours - early.ours) < 10, "one for each twentieth utterance would be a leak"
    assert last.objects - early.objects < 400, "so would be two for each"
    assert (last.threads, last.tasks, last.files) == (early.threads, early.tasks, early.files)


@pytest.mark.slow
async def test_ten_thousand_utterances_leave_memory_flat() -> None:
    """After the first thousand: less than 2 MB over the nine thousand that follow."""
    looks, crowd = await soak(10_000, kept_records=20)
    after = [found for found in looks if found.utterances >= 1000]
    assert crowd.ends["Finished"] > 9000
    assert bytes_an_utterance(after) < 200, after
    assert after[-1].resident_bytes - after[0].resident_bytes < 5e6, after
    assert max(found.ours for found in after) - after[0].ours < 50, after
    assert max(found.objects for found in after) - after[0].objects < 1000, after
    for what in ("threads", "tasks", "files"):
        counts = [getattr(found, what) for found in after]
        assert max(counts) - min(counts) <= 1, (what, counts)
