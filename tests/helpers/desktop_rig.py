"""The desktop player without its window: real host, player, history, engine and emulator.

Not realistic: the decoder is fake and at hand at once, and the loudspeaker is one that remembers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from app.config import Config
from app.desktop.history import History
from app.desktop.host import VoicelessHost
from app.desktop.player import Player
from app.desktop.player_state import Phase, PlayerState
from app.engine.build import session_config
from app.engine.engine import Engine, Parts
from app.engine.events import Notice
from app.engine.host import Host, HostEvent, Wanted
from app.playback.chunk_policy import StartBuffer
from app.playback.decode_worker import DecodeWorker
from app.playback.decoder import Decoder
from app.playback.pcm_source import PcmSource
from app.session.address import server_address
from app.session.session import Session
from server.emulator import Emulator, Scenario
from tests.helpers.counting_talker import CountingTalker
from tests.helpers.engine_rig import FAST
from tests.helpers.fake_decoder import SPEC, FakeDecoder
from tests.helpers.loudspeaker import Loudspeaker
from tests.helpers.waiting import eventually

E = TypeVar("E")


@dataclass
class Workshop:
    """Makes engines as ``app.engine.build`` does, of parts that a test can look at."""

    speed: float = 8.0
    open_decoder: Callable[[], Decoder] = FakeDecoder
    speakers: list[Loudspeaker] = field(default_factory=list)
    """Of every engine made, the newest last."""

    def build(self, config: Config) -> Engine:
        """Make an engine for ``config``.

        Raises:
            ConfigError: as the real one does.

        """
        address = server_address(config.server.url, config.server.api_key)
        source = PcmSource(SPEC.sample_rate_hz)
        speaker = Loudspeaker(source, self.speed)
        self.speakers.append(speaker)
        parts = Parts(
            session=lambda on_event: Session(address, SPEC, on_event),
            worker=lambda emit: DecodeWorker(self.open_decoder, emit, StartBuffer(0.0)),
            output=lambda source, tell: speaker,
            source=source,
        )
        return Engine(parts, session_config(config))


@dataclass
class DesktopRig:
    """What a test looks at."""

    host: Host
    player: Player
    history: History
    emulator: Emulator
    workshop: Workshop
    config: Config
    events: list[HostEvent] = field(default_factory=list)
    states: list[PlayerState] = field(default_factory=list)

    def of(self, kind: type[E]) -> list[E]:
        """All events of a kind."""
        return [e for e in self.events if isinstance(e, kind)]

    @property
    def notices(self) -> list[str]:
        return [n.text for n in self.of(Notice)]

    @property
    def state(self) -> PlayerState:
        return self.player.state

    @property
    def speaker(self) -> Loudspeaker:
        """The loudspeaker of the newest engine."""
        return self.workshop.speakers[-1]

    @property
    def phases(self) -> list[Phase]:
        """Every phase, in order, without repeats."""
        found: list[Phase] = []
        for state in self.states:
            if not found or found[-1] is not state.phase:
                found.append(state.phase)
        return found

    async def until(self, phase: Phase, within_s: float = 10.0) -> None:
        """Wait until the player is in ``phase``."""
        await eventually(lambda: self.state.phase is phase, within_s, f"{phase}")


@asynccontextmanager
async def desktop_rig(
    folder: Path,
    scenario: Scenario = FAST,
    *,
    workshop: Workshop | None = None,
    start: bool = True,
    keep_history: bool = True,
) -> AsyncIterator[DesktopRig]:
    """Run a player against an emulator until the block ends."""
    workshop = workshop or Workshop()
    async with Emulator(CountingTalker(), scenario) as emulator:
        config = Config()
        config = replace(config, server=replace(config.server, url=emulator.url))
        host = VoicelessHost(Wanted(config, is_demo=False), make_engine=workshop.build)
        history = History(folder, 10**8, keep=keep_history)
        rig = DesktopRig(host, Player(host, history), history, emulator, workshop, config)
        host.subscribe(rig.events.append)
        rig.player.subscribe(rig.states.append)
        if start:
            await host.start()
        try:
            yield rig
        finally:
            await host.aclose()
            history.close()
