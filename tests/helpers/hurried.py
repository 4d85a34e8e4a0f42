"""A desk with all behind it whose seconds are shorter than others, for what would take hours.

Real host, engine, session, socket, emulator, decode thread, ring, keeper, and an output with a thread of its
own. Not realistic: the decoder is fake; the output is the one without a device; the waits of the event loop
(looks, back-off) and the patience with a silent server keep their length, so that they are longer in
comparison.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from app.audio.keeper import OutputEvent, OutputKeeper
from app.audio.null import NullOutput
from app.audio.output import SampleSource
from app.config import Config
from app.desk.desk import Desk
from app.engine.build import output_events, session_config
from app.engine.engine import Engine, Parts
from app.engine.host import Host, Wanted
from app.playback.chunk_policy import StartBuffer
from app.playback.decode_worker import DecodeWorker
from app.playback.pcm_source import PcmSource
from app.session.address import server_address
from app.session.session import Session
from server.emulator import Emulator, Scenario
from tests.helpers.counting_talker import CountingTalker
from tests.helpers.fake_decoder import SPEC, FakeDecoder
from tests.helpers.waiting import eventually


@dataclass(frozen=True)
class FastClock:
    """Seconds that pass ``speed`` times as fast."""

    speed: float
    _began_s: float = field(default_factory=time.perf_counter)

    def __call__(self) -> float:
        return (time.perf_counter() - self._began_s) * self.speed


class FastOutput(NullOutput):
    """The output without a device, in a hurry."""

    def __init__(self, source: SampleSource, clock: FastClock) -> None:
        self._ended = threading.Event()
        super().__init__(source, clock=clock, wait=lambda wait_s: self._ended.wait(wait_s / clock.speed))

    def close(self) -> None:
        self._ended.set()
        super().close()


class Forgetful(list[tuple[int, str, list[int]]]):
    """A log that nobody reads, of a decoder that lives long."""

    def append(self, entry: tuple[int, str, list[int]]) -> None:
        pass


@dataclass
class Hurried:
    """What a test looks at."""

    desk: Desk
    host: Host
    emulator: Emulator


@asynccontextmanager
async def hurried(speed: float, kept_records: int) -> AsyncIterator[Hurried]:
    """Run a desk at ``speed`` against an emulator that remembers so many utterances."""
    clock = FastClock(speed)

    def build(config: Config) -> Engine:
        address = server_address(config.server.url)
        decoder = FakeDecoder(log=Forgetful())
        parts = Parts(
            session=lambda on_event: Session(address, SPEC, on_event),
            worker=lambda emit: DecodeWorker(lambda: decoder, emit, StartBuffer(0.16), clock),
            output=lambda source, tell: OutputKeeper(
                source,
                lambda of, _: FastOutput(of, clock),
                lambda event: tell_all(event),
                fingerprint=lambda: None,
                clock=clock,
            ),
            source=PcmSource(SPEC.sample_rate_hz, clock=clock),
        )
        return Engine(parts, session_config(config), config.server.patience_s, clock)

    def tell_all(event: OutputEvent) -> None:
        for told in output_events(event, audible=False):
            host.tell(told)

    async with Emulator(CountingTalker(), Scenario(pace=2 * speed)) as emulator:
        emulator.utterances = deque(maxlen=kept_records)
        emulator.sessions = deque(maxlen=2)  # each of them remembers a thousand messages
        config = Config()
        config = replace(config, server=replace(config.server, url=emulator.url))
        host = Host(Wanted(config, is_demo=False), make_engine=build)
        desk = Desk(host, clock)
        await host.start()
        try:
            await eventually(lambda: host.decoder.ready)
            yield Hurried(desk, host, emulator)
        finally:
            await desk.aclose(0.0)
            await host.aclose()
