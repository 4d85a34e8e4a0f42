"""Arrival, decoding and playing on one fake clock: the real code, no thread, no waiting.

While a chunk is "decoded" the clock goes on, packets arrive and the audio callback runs, as they would.
Not realistic: the callback is always on time, and nothing costs time but decoding.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from app.playback.chunk_policy import CHUNK_FRAMES, DecodeCost, StartBuffer
from app.playback.decoder import Pcm
from app.playback.facts import DecodeFact
from app.playback.pcm_source import PcmSource
from app.playback.speech_job import End, Frames, SpeechJob
from app.playback.track import Track
from app.playback.utterance_decoder import UtteranceDecoder
from tests.helpers.fake_decoder import SPEC, STEP, FakeDecoder, frames

RATE_HZ = SPEC.sample_rate_hz


class FakeClock:
    """Stands still until it is told to go on; then what was planned happens in order."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self._plan: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()

    def __call__(self) -> float:
        return self.now_s

    def at(self, at_s: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._plan, (at_s, next(self._count), act))

    def advance(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        while self._plan and self._plan[0][0] <= until_s:
            self._next()
        self.now_s = until_s

    def advance_to_next(self) -> None:
        assert self._plan, "nothing will ever happen again"
        self._next()

    def _next(self) -> None:
        self.now_s, _, act = heapq.heappop(self._plan)
        act()


@dataclass
class Simulation:
    """One utterance; ``run`` plays it to its end, and the rest says how it went."""

    cost_s: Callable[[int], float]
    """Seconds that a chunk of so many frames takes."""
    start_buffer: StartBuffer = field(default_factory=lambda: StartBuffer(0.16))
    expected_s: float = 0.0
    block_s: float = 0.01
    clock: FakeClock = field(default_factory=FakeClock)
    facts: list[DecodeFact] = field(default_factory=list)
    heard: list[Pcm] = field(default_factory=list)
    too_slow: list[tuple[int, float]] = field(default_factory=list)
    """Chunks that took longer than the sound in the ring while it was heard: frames and that sound."""

    def __post_init__(self) -> None:
        self.started_s = self.clock()
        self.decoder = FakeDecoder(before_chunk=self._decoding)
        self.track = Track(RATE_HZ)
        self.source = PcmSource(RATE_HZ, clock=self.clock)
        self.source.add(self.track)
        self.job = SpeechJob(1, self.track, self.expected_s)
        self._block = np.ones(round(self.block_s * RATE_HZ), np.float32)

    def run(self, arrivals: Iterable[tuple[float, int]], end_s: float) -> None:
        """Have packets of so many frames arrive at these seconds from now, and the end at ``end_s``."""
        first = 0
        for at_s, count in arrivals:
            self._at(at_s, Frames(frames(first, count), self.started_s + at_s))
            first += count
        self._at(end_s, End())
        self.clock.at(self.started_s, self._callback)
        cost = DecodeCost({n: self.cost_s(n) for n in CHUNK_FRAMES})
        tell = self.facts.append
        work = UtteranceDecoder(self.job, self.decoder, cost, self.start_buffer, tell, self.clock)
        while not work.is_done:
            while self.job.inbox:
                work.take(self.job.inbox.popleft())
            if work.can_advance:
                work.advance()
            else:
                self.clock.advance_to_next()
        while self.track.finished_dac_s is None:
            self.clock.advance_to_next()

    @property
    def first_sound_s(self) -> float:
        assert self.track.first_dac_s is not None
        return self.track.first_dac_s - self.started_s

    @property
    def sound(self) -> Pcm:
        """All that was heard, the silence with it."""
        return np.concatenate(self.heard)

    def _at(self, at_s: float, item: Frames | End) -> None:
        self.clock.at(self.started_s + at_s, lambda: self.job.inbox.append(item))

    def _callback(self) -> None:
        self._block.fill(1.0)
        self.source.read_into(self._block, self.clock())
        self.heard.append(self._block.copy())
        self.clock.at(self.clock() + self.block_s, self._callback)

    def _decoding(self, count: int) -> None:
        buffered_s, seconds = self.track.buffered_s, self.cost_s(count)
        if self.track.first_dac_s is not None and seconds > buffered_s > 0:
            self.too_slow.append((count, buffered_s))
        self.clock.advance(seconds)


def linear(per_chunk_s: float, rtf: float) -> Callable[[int], float]:
    """A decoder with a price for each chunk and one for each frame."""
    return lambda count: per_chunk_s + rtf * count * SPEC.frame_s


def live(count: int, packet_frames: int = 1, first_s: float = 0.1) -> list[tuple[float, int]]:
    """Packets as a server sends them that makes them in real time."""
    every_s = packet_frames * SPEC.frame_s
    return [(first_s + n * every_s, packet_frames) for n in range(count // packet_frames)]


def played(heard: Pcm) -> Pcm:
    """The samples that are the ramp's own: without silence, and without what fades in or decays."""
    is_next = np.diff(heard.astype(np.float64)) == STEP
    return heard[(heard != 0) & (np.append(is_next, False) | np.insert(is_next, 0, False))]
