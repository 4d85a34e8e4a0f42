"""A desk in front of a real host and engine, between a real emulator and a loudspeaker that remembers.

Not realistic: the decoder is fake and at hand at once, and the loudspeaker has no latency.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from app.config import Config
from app.desk.desk import Desk
from app.desk.events import DeskEvent, SentenceAudible
from app.desk.request import Request
from app.desk.ticket import Final, Ticket
from app.engine.build import session_config
from app.engine.engine import Engine, Parts
from app.engine.events import UtteranceDone
from app.engine.host import Host, HostEvent, Wanted
from app.playback.chunk_policy import StartBuffer
from app.playback.decode_worker import DecodeWorker
from app.playback.pcm_source import PcmSource
from app.session.address import server_address
from app.session.session import Session
from server.emulator import Emulator, Scenario
from tests.helpers.counting_talker import CountingTalker
from tests.helpers.engine_rig import FAST
from tests.helpers.fake_decoder import SPEC, STEP, FakeDecoder
from tests.helpers.loudspeaker import Loudspeaker
from tests.helpers.waiting import eventually

WHOLE_FIRST_S = 30.0
"""A start buffer no text here fills: it is heard once all of it is decoded, so never with an underrun."""
E = TypeVar("E")


@dataclass
class Builder:
    """Makes engines as ``app.engine.build`` does, of parts that a test can look at."""

    speed: float = 20.0
    made: list[Loudspeaker] = field(default_factory=list)
    """Of every engine, the newest last."""
    open_timeout_s: float = 2.0

    @property
    def speakers(self) -> list[Loudspeaker]:
        """Of every engine that was started: some are made only to see whether they can be."""
        return [speaker for speaker in self.made if len(speaker.heard)]

    def build(self, config: Config) -> Engine:
        address = replace(server_address(config.server.url), open_timeout_s=self.open_timeout_s)
        source = PcmSource(SPEC.sample_rate_hz)
        speaker = Loudspeaker(source, self.speed)
        self.made.append(speaker)
        parts = Parts(
            session=lambda on_event: Session(address, SPEC, on_event),
            worker=lambda emit: DecodeWorker(FakeDecoder, emit, StartBuffer(config.audio.start_buffer_s)),
            output=lambda source, tell: speaker,
            source=source,
        )
        return Engine(parts, session_config(config), config.server.patience_s)


@dataclass
class DeskRig:
    """What a test looks at."""

    desk: Desk
    host: Host
    emulator: Emulator
    builder: Builder
    config: Config
    events: list[DeskEvent] = field(default_factory=list)
    engine_events: list[HostEvent] = field(default_factory=list)

    def of(self, kind: type[E], id: str = "") -> list[E]:  # noqa: A002
        """All events of a kind, of one request if it is named."""
        return [e for e in self.events if isinstance(e, kind) and id in ("", e.id)]  # type: ignore[attr-defined]

    @property
    def speaker(self) -> Loudspeaker:
        return self.builder.speakers[-1]

    @property
    def heard_frames(self) -> list[int]:
        """The numbers of the frames of which something was heard, in order."""
        return frames_of(self.speaker.heard) if self.builder.speakers else []

    @property
    def sentences(self) -> list[str]:
        """The texts of all sentences that began to be heard, in order."""
        return [e.text for e in self.of(SentenceAudible)]

    @property
    def underruns(self) -> int:
        return sum(e.report.underruns for e in self.engine_events if isinstance(e, UtteranceDone))

    def say(self, text: str, id: str = "", **fields: object) -> Ticket:  # noqa: A002
        """Ask for a text."""
        return self.desk.speak(Request(text, id, **fields))  # type: ignore[arg-type]

    async def lose_the_server(self) -> None:
        """Have every link lost and nobody listen any more."""
        await self.emulator.__aexit__(None, None, None)

    async def bring_the_server_back(self) -> None:
        """Have the server listen where it did."""
        await self.emulator.__aenter__()

    async def until(self, kind: type[DeskEvent], id: str, within_s: float = 10.0) -> None:  # noqa: A002
        """Wait until an event of a request was told."""
        await eventually(lambda: self.of(kind, id), within_s, f"{kind.__name__} of {id}")

    async def end(self, ticket: Ticket, within_s: float = 15.0) -> Final:
        """Wait for a request's end."""
        return await asyncio.wait_for(asyncio.shield(ticket.done), within_s)


def frames_of(heard: NDArray[np.float32]) -> list[int]:
    """Return which frames of the fake decoder are in ``heard``, in order, without repeats side by side."""
    numbers = np.round(heard / np.float32(STEP)).astype(np.int64)
    rising = np.flatnonzero((np.diff(numbers) == 1) & (numbers[:-1] > 0))
    found: list[int] = []
    for number in (numbers[rising] - 1) // SPEC.samples_per_frame:
        if not found or found[-1] != number:
            found.append(int(number))
    return found


@asynccontextmanager
async def desk_rig(
    scenario: Scenario = FAST,
    *,
    speed: float = 20.0,
    patience_s: float = 0.0,
    change: Callable[[Config], Config] = lambda config: config,
    start: bool = True,
    url: str = "",
    start_buffer_s: float = 0.0,
) -> AsyncIterator[DeskRig]:
    """Run a desk against an emulator, or against ``url``, until the block ends."""
    builder = Builder(speed)
    async with Emulator(CountingTalker(), scenario) as emulator:
        config = Config()
        server = replace(config.server, url=url or emulator.url, patience_s=patience_s)
        config = change(
            replace(config, server=server, audio=replace(config.audio, start_buffer_s=start_buffer_s))
        )
        host = Host(Wanted(config, is_demo=False), make_engine=builder.build)
        desk = Desk(host)
        rig = DeskRig(desk, host, emulator, builder, config)
        desk.subscribe(rig.events.append)
        desk.watch(rig.engine_events.append)
        if start:
            await host.start()
        try:
            yield rig
        finally:
            await desk.aclose(0.0)
            await host.aclose()
