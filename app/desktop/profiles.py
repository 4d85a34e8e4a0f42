"""The servers that the window knows: the embedded demo, and those that a person saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from app.config import DEMO, Config, Profile, ServerConfig
from app.desktop.listeners import Listeners
from app.desktop.profile_rules import checked, free_profile_name
from app.desktop.secrets import Secrets
from app.desktop.settings import Settings
from app.errors import ConfigError

_URL = "server.url"
_CURRENT = "profiles.current"
_OF_SERVER = (_CURRENT, _URL, "server.api_key", "server.ca_file", "server.allow_insecure_key")


def server_of(config: Config, secrets: Secrets) -> tuple[bool, ServerConfig]:
    """Say which server the window uses: whether it is the embedded one, and the server with its key.

    The key is the profile's own, as far as ``secrets`` has loaded it, or else the one that the configuration
    has for the same address.
    """
    profile = saved_profile(config, config.profiles.current)
    if profile is None:
        return True, config.server
    key = secrets.known(profile.name)
    if not key and profile.url == config.server.url:
        key = config.server.api_key
    return False, replace(
        config.server,
        url=profile.url,
        api_key=key,
        ca_file=profile.ca_file,
        allow_insecure_key=profile.allow_insecure_key,
    )


def saved_profile(config: Config, name: str) -> Profile | None:
    """Return the saved profile of this name; ``None`` for the demo."""
    return next((profile for profile in config.profiles.saved if profile.name == name), None)


class Profiles:
    """Adds, changes, removes and chooses profiles, in the settings and where the keys are kept.

    The chosen one is also written to ``server``, so that commands in a terminal use the same server. What a
    person has written there by hand becomes a profile first, with its key, and no key goes to another server.
    """

    def __init__(self, settings: Settings, secrets: Secrets) -> None:
        self._settings = settings
        self._secrets = secrets
        self._listeners: Listeners[[]] = Listeners("the profiles")
        settings.subscribe(self._on_settings)
        secrets.subscribe(self._on_key)
        # A key that came from outside belongs to the server of this start, whatever is chosen later.
        self._first = settings.effective.server

    @property
    def saved(self) -> tuple[Profile, ...]:
        """All but the demo."""
        return self._settings.effective.profiles.saved

    @property
    def current(self) -> str:
        """The name of the profile in use: ``Demo``, or empty for a server that was given at the start."""
        return "" if self._is_given else self._chosen

    def server(self) -> tuple[bool, ServerConfig]:
        """Say which server to use, as `server_of`; one given at the start counts until another is chosen."""
        config = self._settings.effective
        if self._is_given:
            return False, config.server
        is_demo, server = server_of(config, self._secrets)
        if not server.api_key and server.url == self._first.url:
            server = replace(server, api_key=self._first.api_key)
        return is_demo, server

    async def load_key(self) -> None:
        """Load the key of the profile in use; if it cannot be got, ``Secrets.problem`` says why."""
        if self.current not in ("", DEMO):
            await self._secrets.load(self.current)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have ``listener`` called when list, choice or the key in use changed; returns what ends that."""
        return self._listeners.add(listener)

    async def add(self, profile: Profile, key: str = "") -> Profile:
        """Save a new profile and return it as it was saved.

        Raises:
            ProfileError: it cannot be used.
            ConfigError: its key cannot be kept; then it is not saved.

        """
        self._settings.refresh()
        profile = checked(profile, key, self.saved)
        if key:
            await self._secrets.keep(profile.name, key.strip())
        self._write((*self.saved, profile), self._chosen)
        return profile

    async def change(self, name: str, profile: Profile, key: str | None = None) -> Profile:
        """Put ``profile`` in the place of the one called ``name``; a ``key`` of None stays as it was.

        Raises:
            ProfileError: it cannot be used.
            ConfigError: its key cannot be kept, or there is none called ``name``; then nothing changes.

        """
        self._require(name)
        used = await self._secrets.load(name) if key is None else key.strip()
        if key is None and self._secrets.problem and profile.name.strip() != name:
            raise ConfigError(f"{self._secrets.problem} Without it the profile cannot be renamed.")
        profile = checked(profile, used, tuple(other for other in self.saved if other.name != name))
        if key is not None or (used and profile.name != name):
            await self._secrets.keep(profile.name, used)
        chosen = profile.name if self._chosen == name else self._chosen
        self._write(tuple(profile if old.name == name else old for old in self.saved), chosen)
        if profile.name != name:
            await self._secrets.forget(name)
        return profile

    async def remove(self, name: str) -> None:
        """Remove a profile and its key; if it was in use, the demo is from now on.

        Raises:
            ConfigError: there is none of this name, or the file with its key cannot be written.

        """
        self._require(name)
        chosen = DEMO if self._chosen == name else self._chosen
        self._write(tuple(profile for profile in self.saved if profile.name != name), chosen)
        await self._secrets.forget(name)

    async def choose(self, name: str) -> None:
        """Use another profile from now on.

        Raises:
            ConfigError: there is none of this name, or a key that was in the settings cannot be kept.

        """
        if name == DEMO:
            self._write(self.saved, DEMO, is_choice=True)
            return
        self._require(name)
        await self._secrets.load(name)
        self._write(await self._with_what_was_typed(name), name, is_choice=True)

    @property
    def _chosen(self) -> str:
        return self._settings.effective.profiles.current or DEMO

    @property
    def _is_given(self) -> bool:
        """Whether a server was named at the start, and no profile in a place that counts as much or more."""
        address, profile = self._settings.source(_URL), self._settings.source(_CURRENT)
        return bool(address) and profile not in (address, "command line")

    def _require(self, name: str) -> None:
        """Raise ConfigError if there is no saved profile of this name now, whoever wrote the file last."""
        self._settings.refresh()
        if saved_profile(self._settings.effective, name) is None:
            raise ConfigError(f"there is no profile {name}")

    async def _with_what_was_typed(self, chosen: str) -> tuple[Profile, ...]:
        """Return the profiles with the server that the file has now, where choosing would overwrite it."""
        old = self._settings.stored.server
        if old.url == self._profile(chosen).url or (old.url == ServerConfig().url and not old.api_key):
            return self.saved
        saved = self.saved
        profile = next((p for p in saved if p.url == old.url), None)
        if profile is None:
            name = free_profile_name(old.url, saved)
            profile = Profile(name, old.url, old.ca_file, old.allow_insecure_key)
            saved = (*saved, profile)
        if old.api_key and not await self._secrets.load(profile.name):
            await self._secrets.keep(profile.name, old.api_key)
        return saved

    def _profile(self, name: str) -> Profile:
        return next(profile for profile in self.saved if profile.name == name)

    def _write(self, saved: tuple[Profile, ...], chosen: str, *, is_choice: bool = False) -> None:
        stored = self._settings.stored
        profile = next((p for p in saved if p.name == chosen), None)
        changes: dict[str, Any] = {"profiles.saved": saved}
        is_kept = stored.profiles.current in ("", DEMO, *(p.name for p in saved))
        if is_choice or chosen != self._chosen or not is_kept:
            changes[_CURRENT] = "" if profile is None else chosen
        if profile is not None and (is_choice or not self._is_given):
            changes[_URL] = profile.url
            changes["server.ca_file"] = profile.ca_file
            changes["server.allow_insecure_key"] = profile.allow_insecure_key
            if stored.server.url != profile.url:
                changes["server.api_key"] = ""  # it is another server's
        # What was given at the start belongs to the server of the start.
        self._settings.change(changes, _OF_SERVER if is_choice else ())

    def _on_settings(self, old: Config, new: Config) -> None:
        if (old.profiles, old.server) != (new.profiles, new.server):
            self._listeners.tell()

    def _on_key(self, name: str) -> None:
        if name == self.current:
            self._listeners.tell()
