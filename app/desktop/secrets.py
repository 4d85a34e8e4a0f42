"""API keys, by the name of a profile: in the desktop's keyring, or in a file that only its owner can read.

A key is in memory here, in one of these two places, and nowhere else: not in the settings, a log or a repr.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Protocol, TypeVar

from app.desktop.background import start
from app.desktop.listeners import Listeners
from app.desktop.safe_file import PRIVATE, free_name, replace_text
from app.errors import ConfigError

log = logging.getLogger("nearfield.secrets")

_T = TypeVar("_T")

SERVICE = "nearfield"
"""What the keys are filed under in a keyring."""
FILE_NAME = "keys.json"
_WITHIN_S = 30.0
"""A locked keyring asks a person for a password, and a broken one never answers."""
_LEAST_PRIORITY = 1.0
"""What keyring recommends; below it are its dummies, and files that are less private than ours."""


class Keyring(Protocol):
    """What is used of a backend of the library ``keyring``."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return the key, or None."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store the key."""

    def delete_password(self, service: str, username: str) -> None:
        """Remove the key; raises if there is none."""


class Place(Enum):
    """Where a key is kept."""

    KEYRING = "keyring"
    FILE = "file"


class Secrets:
    """The keys of all profiles, for one event loop.

    The keyring is asked in a thread, one question at a time, and given up when it takes too long. A key that
    it does not take goes into the file, and ``problem`` says so.
    """

    def __init__(
        self,
        folder: Path,
        find: Callable[[], tuple[Keyring, str] | None] | None = None,
        within_s: float = _WITHIN_S,
    ) -> None:
        """Keep the file, if one is needed, in ``folder``; ``find`` returns a keyring and its name."""
        self.path = folder / FILE_NAME
        self.problem = ""
        """What went wrong at last, for the person to read; empty if nothing did."""
        self._find = find or find_keyring
        self._within_s = within_s
        self._keyring: tuple[Keyring, str] | None = None
        self._has_looked = False
        self._known: dict[str, str] = {}
        self._turn = asyncio.Lock()
        self._stuck: threading.Thread | None = None
        self._listeners: Listeners[[str]] = Listeners("the API keys")

    def known(self, name: str) -> str:
        """Return the key of a profile as far as it was loaded or kept; never waits."""
        return self._known.get(name, "")

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Have ``listener`` called with a profile's name when its key changes; returns what ends that."""
        return self._listeners.add(listener)

    async def load(self, name: str) -> str:
        """Return the key of a profile, empty if it has none or cannot be got; then ``problem`` says why."""
        self.problem = ""
        if name in self._known:
            return self._known[name]
        # The file first: what is in it is what the keyring did not take, so it is newer.
        key = self._in_file().get(name)
        if key is None:
            try:
                key = await self._ask(lambda keyring: keyring.get_password(SERVICE, name))
            except _NoAnswerError as error:
                self.problem = f"The API key of {name} cannot be got: {error}."
                return ""
        self._remember(name, key or "")
        return self.known(name)

    async def keep(self, name: str, key: str) -> Place:
        """Keep the key of a profile, in the keyring where that works; an empty one is forgotten.

        Raises:
            ConfigError: neither place takes it; it is used until the program ends.

        """
        if not key:
            await self.forget(name)
            return await self.place()
        self.problem = ""
        self._remember(name, key)

        def store(keyring: Keyring) -> bool:
            keyring.set_password(SERVICE, name, key)
            return True

        try:
            if await self._ask(store):
                self._change_file(name, None)
                return Place.KEYRING
        except _NoAnswerError as error:
            self.problem = f"The API key is kept in {self.path}: {error}."
        self._change_file(name, key)
        return Place.FILE

    async def forget(self, name: str) -> None:
        """Remove the key of a profile from wherever it is.

        Raises:
            ConfigError: the file cannot be written.

        """
        self.problem = ""
        self._remember(name, "")
        self._change_file(name, None)

        def delete(keyring: Keyring) -> None:
            if keyring.get_password(SERVICE, name) is not None:
                keyring.delete_password(SERVICE, name)

        try:
            await self._ask(delete)
        except _NoAnswerError as error:
            self.problem = f"The API key of {name} may still be in the keyring: {error}."

    async def place(self) -> Place:
        """Say where a new key would be kept; looks for a keyring at the first time."""
        with contextlib.suppress(_NoAnswerError):
            await self._ask(lambda keyring: None)
        return Place.KEYRING if self._keyring else Place.FILE

    @property
    def keyring_name(self) -> str:
        """What the keyring is called, if one was found."""
        return self._keyring[1] if self._keyring else ""

    def _remember(self, name: str, key: str) -> None:
        if self._known.get(name) == key:
            return
        is_news = self._known.get(name, "") != key
        self._known[name] = key
        if is_news:
            self._listeners.tell(name)

    # -- the file ------------------------------------------------------------------------------------------

    def _in_file(self) -> dict[str, str]:
        try:
            if self.path.stat().st_mode & 0o077:
                self.path.chmod(PRIVATE)
            content = json.loads(self.path.read_text("utf-8"))
            if isinstance(content, dict) and all(isinstance(key, str) for key in content.values()):
                return content
            reason = "it is not a list of keys"
        except FileNotFoundError:
            return {}
        except OSError as error:
            reason = error.strerror or str(error)
        except ValueError:  # its text would show what is in the file
            reason = "it is not JSON"
        self.problem = f"{self.path} cannot be used: {reason}."
        log.warning("%s", self.problem)
        return {}

    def _change_file(self, name: str, key: str | None) -> None:
        """Raise ConfigError if it cannot be written."""
        keys = self._in_file()
        if keys.get(name) == key:
            return
        if key is None:
            del keys[name]
        else:
            keys[name] = key
        try:
            if not keys:
                self.path.unlink()
                return
            if self.path.exists() and not self._in_file():
                self.path.rename(free_name(self.path, "broken"))
            replace_text(self.path, json.dumps(keys, ensure_ascii=False, indent=1), PRIVATE)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ConfigError(
                f"the API key cannot be kept in {self.path} ({reason}); it is used until the program ends"
            ) from None

    # -- the keyring ---------------------------------------------------------------------------------------

    async def _ask(self, question: Callable[[Keyring], _T]) -> _T | None:
        """Ask the keyring, if there is one; raises _NoAnswerError."""

        def work() -> _T | None:
            if not self._has_looked:
                self._keyring = self._find()
                self._has_looked = True
            return question(self._keyring[0]) if self._keyring else None

        async with self._turn:
            if self._stuck is not None and self._stuck.is_alive():
                raise _NoAnswerError("the keyring still does not answer")
            answer, thread = start("keyring", work, asyncio.get_running_loop())
            try:
                return await asyncio.wait_for(answer, self._within_s)
            except asyncio.CancelledError:
                self._stuck = thread
                raise
            except asyncio.TimeoutError:
                self._stuck = thread
                raise _NoAnswerError(
                    f"the keyring did not answer within {self._within_s:g} s; is it locked?"
                ) from None
            except Exception as error:
                # Backends raise what their libraries do, from D-Bus to the operating system's own.
                log.warning("the keyring failed: %s: %s", type(error).__name__, error)
                raise _NoAnswerError(f"the keyring failed ({error or type(error).__name__})") from None


class _NoAnswerError(Exception):
    """The keyring is there but of no use now; the text completes a sentence."""


def find_keyring() -> tuple[Keyring, str] | None:
    """Return the keyring of this desktop and what it is called, or ``None`` if there is none to rely on.

    Takes a moment: it loads a library, which looks at everything that might be one.
    """
    import keyring

    backend = keyring.get_keyring()
    if float(backend.priority) < _LEAST_PRIORITY:
        return None
    return backend, backend.name
