"""All that is behind the window, put together: settings, profiles, history, engine, player."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace

import platformdirs

from app.config import Config
from app.desktop.history import History
from app.desktop.host import VoicelessHost
from app.desktop.player import Player
from app.desktop.profiles import Profiles
from app.desktop.secrets import Secrets
from app.desktop.settings import Settings
from app.desktop.updates import PAGE, Updates
from app.desktop.voices import VoiceServices, services_of
from app.engine.events import Notice, Severity
from app.engine.host import Host, Wanted
from app.errors import ConfigError
from app.session.address import server_address

log = logging.getLogger("nearfield.desktop")

CLOSE_S = 4.0
_MB = 1_000_000


class Desktop:
    """Owns the parts, and has a change of the settings reach those that it is about.

    Attributes:
        settings, secrets, profiles, history, host, player, updates: the parts.

    """

    def __init__(
        self,
        settings: Settings,
        make_host: Callable[[Wanted], Host] = VoicelessHost,
        updates: Updates | None = None,
    ) -> None:
        """Make the parts; nothing is opened or connected before ``start``."""
        self.settings = settings
        window = settings.effective.window
        self.secrets = Secrets(settings.path.parent)
        self.profiles = Profiles(settings, self.secrets)
        self.history = History(
            platformdirs.user_data_path("nearfield", appauthor=False) / "history",
            window.history_mb * _MB,
            keep=window.keep_history,
        )
        self.host = make_host(self._wanted())
        self.player = Player(self.host, self.history)
        self.updates = updates or Updates(
            platformdirs.user_cache_path("nearfield", appauthor=False) / "newest_version.json"
        )
        self._watching: asyncio.Task[None] | None = None
        self._applying: asyncio.Task[None] | None = None
        self._is_stale = False
        self._is_closed = False

    @property
    def server_title(self) -> str:
        """What the server in use is called: its profile, or its address if it was given at the start."""
        return self.profiles.current or self.profiles.server()[1].url

    async def start(self) -> None:
        """Make the engine; what stands in its way is told, never raised."""
        await self.profiles.load_key()
        self.settings.subscribe(self._on_settings)
        self.profiles.subscribe(self._apply)
        for problem in (self.settings.problem, self.secrets.problem):
            if problem:
                self.host.notify(Severity.WARNING, problem)
        self.settings.subscribe_problem(self._on_problem)
        self._apply()
        if self._applying is not None:
            await asyncio.shield(self._applying)
        self._watch_for_updates()

    async def aclose(self) -> None:
        """Be silent, and end the engine within a few seconds."""
        self._is_closed = True
        self.player.stop()
        if self._applying is not None:
            self._applying.cancel()
            await asyncio.gather(self._applying, return_exceptions=True)
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        try:
            await asyncio.wait_for(self.host.aclose(), CLOSE_S)
        except (asyncio.TimeoutError, TimeoutError):
            log.warning("the engine did not end within %g s", CLOSE_S)
        with contextlib.suppress(OSError):
            self.history.close()

    def set_volume(self, volume: float) -> None:
        """Have it sound as loud as that, 0 to 1, without keeping it: for a slider that is being dragged."""
        if self.host.engine is not None:
            self.host.engine.set_volume(volume)

    def voice_services(self) -> VoiceServices | None:
        """Return what the server in use can be asked about voices; ``None`` for the demo, which has one."""
        is_demo, server = self.profiles.server()
        if is_demo:
            return None
        try:
            return services_of(
                server_address(
                    server.url,
                    server.api_key,
                    server.ca_file,
                    server.allow_insecure_key,
                    server.connect_timeout_s,
                )
            )
        except ConfigError:
            return None  # told by the engine, which cannot use it either

    # -- inside -----------------------------------------------------------------------------------------

    def _wanted(self) -> Wanted:
        is_demo, server = self.profiles.server()
        return Wanted(replace(self.settings.effective, server=server), is_demo)

    def _on_settings(self, old: Config, new: Config) -> None:
        if old.window != new.window:
            self.history.keep = new.window.keep_history
            self.history.most_bytes = new.window.history_mb * _MB
            self._watch_for_updates()
        self._apply()

    def _watch_for_updates(self) -> None:
        """Begin or end to ask for newer versions, as the settings say."""
        wanted = self.settings.effective.window.check_for_updates and not self._is_closed
        if wanted and (self._watching is None or self._watching.done()):
            self._watching = asyncio.ensure_future(self.updates.watch(self._on_newer))
        elif not wanted and self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def _on_newer(self, newest: str) -> None:
        template = "Nearfield {0} can be had at {2}; this is {1}."
        self.host.tell(Notice.of(Severity.INFO, template, newest, self.updates.installed, PAGE))

    def _on_problem(self, problem: str) -> None:
        if problem:  # else it is over, and nobody need know
            self.host.notify(Severity.WARNING, problem)

    def _apply(self) -> None:
        """Have the host use what is set now; one change at a time, and of many only the last."""
        self._is_stale = True
        self.host.want(self._wanted())
        if not self._is_closed and (self._applying is None or self._applying.done()):
            self._applying = asyncio.ensure_future(self._apply_all())

    async def _apply_all(self) -> None:
        while self._is_stale:
            self._is_stale = False
            wanted = self._wanted()
            try:
                await self.host.apply(wanted.config, wanted.is_demo)
            except Exception as error:
                log.exception("the settings could not be applied")
                self.host.notify(Severity.ERROR, f"unexpected: {error!r}")
