"""Owns the engine of the present settings: changes what can be changed in it, else makes a new one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from app.config import AudioConfig, Config, VoiceConfig
from app.engine.build import build, session_config
from app.engine.demo import demo_server
from app.engine.engine import Engine
from app.engine.events import DecoderState, EngineEvent, LinkStatus, Notice, OutputChanged, Severity
from app.errors import NearfieldError
from app.session.session import LinkState
from decoder.errors import DecoderError
from decoder.wire.events import Mode
from decoder.wire.messages import SessionConfig

log = logging.getLogger("nearfield.engine")


@dataclass(frozen=True)
class Wanted:
    """What an engine is made of: the configuration, and whether the embedded server is used."""

    config: Config
    is_demo: bool

    def needs_new_engine(self, old: Wanted) -> bool:
        """Whether an engine made for ``old`` cannot become this one."""
        ours, theirs = self.config, old.config
        return (
            self.is_demo != old.is_demo
            or ours.decoder != theirs.decoder
            or _without_what_changes_live(ours.audio) != _without_what_changes_live(theirs.audio)
            or (not self.is_demo and ours.server != theirs.server)
        )


def _without_what_changes_live(audio: AudioConfig) -> AudioConfig:
    return replace(audio, device="", volume=1.0)


@dataclass(frozen=True)
class EngineReplaced:
    """Another engine is used from now on, or none if it could not be made."""

    engine: Engine | None
    reason: str = ""
    """Why it could not be made; empty if there is one, or one is to follow."""


HostEvent = EngineEvent | EngineReplaced
MakeEngine = Callable[[Config], Engine]


class Host:
    """Made once; listeners stay through every change of the engine.

    ``apply`` may be called as often as settings change: what is wanted last is what comes of it.
    """

    def __init__(
        self,
        wanted: Wanted,
        *,
        make_engine: MakeEngine = build,
        demo: Callable[[Config], AbstractAsyncContextManager[tuple[Config, str | None]]] = demo_server,
    ) -> None:
        self._wanted = wanted
        self._make_engine = make_engine
        self._demo = demo
        self._listeners: list[Callable[[HostEvent], None]] = []
        self._engine: Engine | None = None
        self._current: Wanted | None = None
        self._effective = wanted.config
        self._running: AsyncExitStack = AsyncExitStack()
        self._changing = asyncio.Lock()
        self._is_closed = False
        self.link = LinkStatus(LinkState.CONNECTING, Mode.UNKNOWN, "")
        """The newest news of the server."""
        self.decoder = DecoderState(False, "preparing")
        self.output = OutputChanged(None, "")

    @property
    def engine(self) -> Engine | None:
        """The engine in use; ``None`` before it is made, while it is replaced, and if it cannot be made."""
        return self._engine

    @property
    def effective(self) -> Config:
        """The configuration of the engine; with the demo it has the demo's address and decoder."""
        return self._effective

    @property
    def is_demo(self) -> bool:
        """Whether the embedded server is used."""
        return self._wanted.is_demo

    def subscribe(self, listener: Callable[[HostEvent], None]) -> None:
        """Have ``listener`` called with every event of whatever engine is in use, in the event loop."""
        self._listeners.append(listener)

    def tell(self, event: HostEvent) -> None:
        """Tell all listeners."""
        match event:
            case LinkStatus():
                self.link = event
            case DecoderState():
                self.decoder = event
            case OutputChanged():
                self.output = event
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("a listener failed on %r", event)

    def notify(self, severity: Severity, text: str) -> None:
        """Tell a person something."""
        self.tell(Notice(severity, text))

    async def start(self) -> None:
        """Make the first engine; whatever stands in its way is told, never raised."""
        await self._become()

    async def try_now(self) -> None:
        """Try to reach the server at once; an engine that could not be made is tried again."""
        if self._engine is not None:
            self._engine.try_now()
        else:
            await self._become()

    async def apply(self, config: Config, is_demo: bool) -> None:
        """Use ``config`` from now on; what is spoken is stopped only where another engine is needed."""
        self.want(Wanted(config, is_demo))
        await self._become()

    def want(self, wanted: Wanted) -> None:
        """Have the next text spoken in the voice of ``wanted``; the rest of it waits for :meth:`apply`."""
        self._wanted = wanted

    @property
    def voice(self) -> VoiceConfig:
        """How the next text is spoken; the demo has one voice, and takes no wishes."""
        return VoiceConfig() if self._wanted.is_demo else self._wanted.config.voice

    def how(self, voice: VoiceConfig) -> SessionConfig:
        """Return how a text is spoken in ``voice``: sentence by sentence, so that it is known which is heard.

        Raises:
            ConfigError: it cannot be spoken.

        """
        how = session_config(replace(self._effective, voice=voice))
        return replace(how, split_granularity="sentence")

    def needs_new_engine(self, config: Config, is_demo: bool) -> bool:
        """Whether :meth:`apply` would replace the engine."""
        current = self._current
        return current is None or self._engine is None or Wanted(config, is_demo).needs_new_engine(current)

    def fault(self, config: Config, is_demo: bool) -> str:
        """Say why no engine can be made for ``config``, as far as that shows without starting it; else ""."""
        if is_demo:
            return ""
        try:
            self._make_engine(config)
        except (NearfieldError, DecoderError) as error:
            return str(error)
        return ""

    async def aclose(self) -> None:
        """End the engine and the demo, within a few seconds."""
        self._is_closed = True
        async with self._changing:
            await self._leave()

    # -- inside -----------------------------------------------------------------------------------------

    async def _become(self) -> None:
        async with self._changing:
            wanted, current = self._wanted, self._current
            if self._is_closed or (wanted == current and self._engine is not None):
                return
            if current is None or self._engine is None or wanted.needs_new_engine(current):
                await self._leave()
                await self._enter(wanted)
            elif self._engine is not None:
                await self._adjust(self._engine, wanted.config, current.config)
            self._current = wanted
            self._effective = replace(self._effective, audio=wanted.config.audio)

    async def _adjust(self, engine: Engine, config: Config, old: Config) -> None:
        engine.set_volume(config.audio.volume)
        if config.audio.device != old.audio.device:
            await engine.use_device(config.audio.device)

    async def _enter(self, wanted: Wanted) -> None:
        self.tell(DecoderState(False, "preparing"))
        self._effective = wanted.config
        try:
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(self._engine_of(wanted))
                self._running = stack.pop_all()
        except (NearfieldError, DecoderError) as error:
            self._fail(str(error))
        except Exception as error:
            log.exception("the engine could not be made")
            self._fail(f"unexpected: {error!r}")
        else:
            self.tell(EngineReplaced(self._engine))

    def _fail(self, reason: str) -> None:
        self.tell(DecoderState(False, reason, is_broken=True))
        self.tell(LinkStatus(LinkState.OFFLINE, Mode.UNKNOWN, reason))
        self.notify(Severity.ERROR, reason)
        self.tell(EngineReplaced(None, reason))

    @asynccontextmanager
    async def _engine_of(self, wanted: Wanted) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            config = wanted.config
            if wanted.is_demo:
                config, notice = await stack.enter_async_context(self._demo(config))
                if notice:
                    self.notify(Severity.INFO, notice)
            engine = self._make_engine(config)
            self._effective = config
            engine.subscribe(self.tell)
            stack.push_async_callback(engine.aclose)
            engine.set_volume(config.audio.volume)
            await engine.start()
            engine.stay_connected()
            self._engine = engine
            yield

    async def _leave(self) -> None:
        if self._engine is not None:
            self._engine = None
            self.tell(EngineReplaced(None))
        running, self._running = self._running, AsyncExitStack()
        with contextlib.suppress(NearfieldError):
            await running.aclose()
