"""The names of the server's voices, for programs that offer them to a person."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from app.config import Config
from app.errors import NearfieldError
from app.session.address import server_address
from app.session.voices import VoiceServer

log = logging.getLogger("nearfield.voices")

KEPT_S = 30.0
"""How long an answer is taken for the truth: programs ask for the list again and again."""
DEFAULT = "default"
"""Stands for whatever is configured, where a program wants a name."""


async def voices_of(config: Config) -> tuple[str, ...]:
    """Ask the server; its own voices in alphabetical order, then those that somebody cloned.

    Raises:
        SessionError: it cannot be asked, or has no such list.
        ConfigError: its address cannot be used.

    """
    server = config.server
    address = server_address(
        server.url, server.api_key, server.ca_file, server.allow_insecure_key, server.connect_timeout_s
    )
    found = await VoiceServer(address).list()
    return (*found.speakers, *(voice.name for voice in found.uploaded))


class KnownVoices:
    """Asks at most every `KEPT_S`, and goes on with what it knows when there is no answer."""

    def __init__(
        self,
        config: Callable[[], Config],
        ask: Callable[[Config], Awaitable[tuple[str, ...]]] = voices_of,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._ask = ask
        self._clock = clock
        self._asking = asyncio.Lock()
        self._asked_s: float | None = None
        self._of: str | None = None
        """The server whose voices are known."""
        self._names: tuple[str, ...] = ()

    async def names(self) -> tuple[str, ...]:
        """Return names that can be asked for, at least one; never raises."""
        config = self._config()
        async with self._asking:
            if self._of != config.server.url:
                self._of, self._names, self._asked_s = config.server.url, (), None
            if self._asked_s is None or self._clock() - self._asked_s >= KEPT_S:
                await self._refresh(config)
        return self._names or (config.voice.name.strip().lower() or DEFAULT,)

    async def _refresh(self, config: Config) -> None:
        try:
            self._names = await self._ask(config)
        except NearfieldError as error:
            log.info("the server's voices are not known: %s", error)
        self._asked_s = self._clock()


def asked_for(name: str | None) -> str:
    """Return the voice that a program means by ``name``: empty for the configured one."""
    wanted = (name or "").strip()
    return "" if wanted.lower() == DEFAULT else wanted
