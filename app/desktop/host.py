"""The engine's host as the window uses it: nobody waits for a voice before there can be an engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from app.config import Config, VoiceConfig
from app.engine.build import build
from app.engine.demo import demo_server
from app.engine.host import Host, MakeEngine, Wanted


class VoicelessHost(Host):
    """A host whose engines have no voice of their own, for the player gives one with each text.

    So a voice that cannot be spoken, which is chosen in the window and mended there, is in the way of its
    texts only.
    """

    def __init__(
        self,
        wanted: Wanted,
        *,
        make_engine: MakeEngine = build,
        demo: Callable[[Config], AbstractAsyncContextManager[tuple[Config, str | None]]] = demo_server,
    ) -> None:
        super().__init__(
            wanted, make_engine=lambda config: make_engine(replace(config, voice=VoiceConfig())), demo=demo
        )
