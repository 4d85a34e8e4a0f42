"""An engine between a real emulator and a loudspeaker that remembers, with a decoder of known samples."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from app.engine.engine import Engine, Parts
from app.engine.events import EngineEvent, LinkStatus, Notice, StageChanged, UtteranceDone
from app.engine.state import Stage
from app.playback.chunk_policy import StartBuffer
from app.playback.decode_worker import DecodeWorker
from app.playback.decoder import Decoder
from app.playback.pcm_source import PcmSource
from app.session.address import server_address
from app.session.session import Session
from decoder.spec import CodecSpec
from decoder.wire.messages import SessionConfig
from server.emulator import Emulator, Scenario
from tests.helpers.counting_talker import CountingTalker
from tests.helpers.fake_decoder import SPEC, FakeDecoder, frames, sound
from tests.helpers.loudspeaker import Loudspeaker
from tests.helpers.waiting import eventually

FAST = Scenario(pace=0)
E = TypeVar("E")


@dataclass
class Tape:
    """A sink that keeps all samples."""

    pieces: list[NDArray[np.float32]] = field(default_factory=list)

    def write(self, pcm: NDArray[np.float32]) -> None:
        self.pieces.append(pcm.copy())

    @property
    def pcm(self) -> NDArray[np.float32]:
        return np.concatenate([np.zeros(0, np.float32), *self.pieces])


def sound_of(codes: NDArray[np.int16]) -> NDArray[np.float32]:
    """What the fake decoder makes of frames."""
    numbers = [int(c[0]) + SPEC.codebook_size * int(c[1]) for c in codes]
    return np.concatenate([np.zeros(0, np.float32), *(sound(n, 1) for n in numbers)])


@dataclass
class Rig:
    """What a test looks at."""

    engine: Engine
    emulator: Emulator
    speaker: Loudspeaker
    decoder: FakeDecoder
    events: list[EngineEvent] = field(default_factory=list)

    def of(self, kind: type[E]) -> list[E]:
        """All events of a kind."""
        return [e for e in self.events if isinstance(e, kind)]

    def stages(self, utterance: int = 1) -> list[Stage]:
        """Every stage an utterance was in, in order."""
        return [e.stage for e in self.of(StageChanged) if e.utterance == utterance]

    @property
    def notices(self) -> list[str]:
        return [n.text for n in self.of(Notice)]

    @property
    def links(self) -> list[LinkStatus]:
        return self.of(LinkStatus)

    async def until(self, stage: Stage, utterance: int = 1, within_s: float = 5.0) -> float:
        """Wait until an utterance has been in ``stage``."""
        what = f"{stage} of {utterance}"
        return await eventually(lambda: stage in self.stages(utterance), within_s, what)

    async def say(self, text: str, sinks: tuple[Tape, ...] = (), within_s: float = 15.0) -> UtteranceDone:
        """Speak and wait for the end."""
        return await asyncio.wait_for(asyncio.shield(self.engine.speak(text, sinks)), within_s)


@asynccontextmanager
async def rig(
    scenario: Scenario = FAST,
    *,
    decoder: FakeDecoder | None = None,
    open_decoder: Callable[[], Decoder] | None = None,
    speed: float = 20.0,
    patience_s: float = 0.0,
    talker_spec: CodecSpec = SPEC,
    url: str = "",
    config: SessionConfig | None = None,
    start_buffer_s: float = 0.0,
    ping_s: float | None = None,
    open_timeout_s: float = 2.0,
    clock: Callable[[], float] | None = None,
) -> AsyncIterator[Rig]:
    """Run an engine against an emulator (or against ``url``) until the block ends."""
    fake = decoder or FakeDecoder()
    async with Emulator(
        CountingTalker(talker_spec), scenario, ping_interval_s=ping_s, ping_timeout_s=ping_s
    ) as emulator:
        address = replace(server_address(url or emulator.url), open_timeout_s=open_timeout_s)
        source = PcmSource(SPEC.sample_rate_hz)
        speaker = Loudspeaker(source, speed)

        parts = Parts(
            session=lambda on_event: Session(address, SPEC, on_event),
            worker=lambda emit: DecodeWorker(
                open_decoder or (lambda: fake), emit, StartBuffer(start_buffer_s)
            ),
            output=lambda source, tell: speaker,
            source=source,
        )
        engine = Engine(parts, config or SessionConfig(), patience_s, **({"clock": clock} if clock else {}))
        made = Rig(engine, emulator, speaker, fake)
        engine.subscribe(made.events.append)
        await engine.start()
        try:
            yield made
        finally:
            await engine.aclose()


__all__ = ["FAST", "Rig", "Tape", "frames", "rig", "sound", "sound_of"]
