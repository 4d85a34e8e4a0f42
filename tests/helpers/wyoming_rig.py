"""The Wyoming server on a free port, with engines that nobody hears, in front of a real emulator.

Not realistic: the decoder is fake and at hand at once; its samples count, so that nothing can be lost unseen.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from wyoming.audio import AudioChunk, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.tts import SynthesizeStopped

from app.audio.keeper import OutputKeeper
from app.audio.null import NullOutput
from app.config import Config
from app.engine.build import session_config
from app.engine.engine import Engine, Parts
from app.headless.wyoming.server import WyomingServer
from app.playback.chunk_policy import StartBuffer
from app.playback.decode_worker import DecodeWorker
from app.playback.pcm_source import PcmSource
from app.session.address import server_address
from app.session.session import Session
from server.emulator import Emulator, Scenario
from tests.helpers.counting_talker import CountingTalker
from tests.helpers.engine_rig import FAST
from tests.helpers.fake_decoder import SPEC, FakeDecoder


def unheard_engine(config: Config) -> Engine:
    """Make an engine as ``build(config, audible=False, paced=False)`` does, with the fake decoder."""
    address = server_address(config.server.url)
    return Engine(
        Parts(
            session=lambda on_event: Session(address, SPEC, on_event),
            worker=lambda emit: DecodeWorker(FakeDecoder, emit, StartBuffer(0.0)),
            output=lambda source, tell: OutputKeeper(
                source,
                lambda of, choice: NullOutput(of, paced=False),
                lambda event: None,
                fingerprint=lambda: None,
            ),
            source=PcmSource(SPEC.sample_rate_hz),
        ),
        session_config(config),
    )


@dataclass
class Heard:
    """The answer to one text."""

    events: list[Event] = field(default_factory=list)

    @property
    def kinds(self) -> list[str]:
        """The types of its events, repeats of sound left out."""
        found: list[str] = []
        for event in self.events:
            if found[-1:] != [event.type]:
                found.append(event.type)
        return found

    @property
    def pcm(self) -> NDArray[np.int16]:
        """All its samples."""
        chunks = [AudioChunk.from_event(e) for e in self.events if AudioChunk.is_type(e.type)]
        assert {(c.rate, c.width, c.channels) for c in chunks} <= {(24_000, 2, 1)}
        return np.frombuffer(b"".join(c.audio for c in chunks), "<i2")


async def answer(client: AsyncTcpClient, *, is_stream: bool = False) -> Heard:
    """Read one answer to its end, or to an error."""
    heard = Heard()
    while (event := await client.read_event()) is not None:
        heard.events.append(event)
        is_last = SynthesizeStopped if is_stream else AudioStop
        if is_last.is_type(event.type) or Error.is_type(event.type):
            break
    return heard


@dataclass
class WyomingRig:
    """What a test looks at."""

    server: WyomingServer
    emulator: Emulator
    config: Config
    engines: list[Engine] = field(default_factory=list)

    def client(self) -> AsyncTcpClient:
        return AsyncTcpClient("127.0.0.1", self.server.port, connect_timeout=5, read_timeout=15)


@asynccontextmanager
async def wyoming_rig(
    scenario: Scenario = FAST,
    voices: tuple[str, ...] = ("vivian",),
    clock: Callable[[], float] | None = None,
    url: str = "",
    **kiosk: Any,
) -> AsyncIterator[WyomingRig]:
    """Run the server until the block ends; ``kiosk`` are fields of its configuration."""
    async with Emulator(CountingTalker(), scenario) as emulator:
        config = Config()
        config = replace(
            config,
            server=replace(config.server, url=url or emulator.url),
            kiosk=replace(config.kiosk, **{"wyoming_port": 0, **kiosk}),
        )
        engines: list[Engine] = []

        def make(wanted: Config) -> Engine:
            engines.append(unheard_engine(wanted))
            return engines[-1]

        async def names() -> tuple[str, ...]:
            return voices

        server = WyomingServer(lambda: config, make, names, **({"clock": clock} if clock else {}))
        await server.start()
        try:
            yield WyomingRig(server, emulator, config, engines)
        finally:
            await server.aclose()


__all__ = ["Heard", "WyomingRig", "answer", "unheard_engine", "wyoming_rig"]
