"""What an engine is made of; :mod:`app.engine.build` chooses the concrete classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from app.engine.events import EngineEvent
from app.playback.decode_worker import DecodeWorker
from app.playback.facts import DecodeFact
from app.playback.pcm_source import PcmSource
from app.session.events import SessionEvent
from app.session.session import Session


class SoundOutput(Protocol):
    """What the engine needs of the sound output's keeper."""

    @property
    def underflows(self) -> int:
        """How often a device said that it was served too late, so far."""
        ...

    async def start(self) -> None:
        """Open the output."""
        ...

    async def use(self, device: str) -> None:
        """Go on at another device, named as in the configuration; whether that went well is told."""
        ...

    async def drop(self) -> None:
        """Throw away what the device was given and has not played yet."""
        ...

    async def between_utterances(self) -> None:
        """Follow a changed default device; called while nothing is played."""
        ...

    async def aclose(self) -> None:
        """Close the output."""
        ...


@dataclass(frozen=True)
class Parts:
    """Each is made with what it tells its news to; nothing is opened before the engine's ``start``."""

    session: Callable[[Callable[[SessionEvent], None]], Session]
    worker: Callable[[Callable[[DecodeFact], None]], DecodeWorker]
    output: Callable[[PcmSource, Callable[[EngineEvent], None]], SoundOutput]
    source: PcmSource
