"""The settings while the program runs: what is in force, and changes that go into the file at once."""

from __future__ import annotations

import logging
import os
import shutil
import stat
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from app.config import (
    Config,
    default_path,
    differences,
    environment_values,
    file_values,
    merge,
    secret_keys,
)
from app.desktop.listeners import Listeners
from app.desktop.safe_file import PRIVATE, free_name, replace_text
from app.errors import ConfigError

log = logging.getLogger("nearfield.settings")

Listener = Callable[[Config, Config], None]

_FIRST_LINE = "# Written by Nearfield. Keys may be changed by hand; comments are not kept."
_THE_SETTINGS = "the settings"


class Settings:
    """The one owner of the configuration in a program with a window; for one thread.

    Only what differs from the defaults is written, and nothing that the environment or the command line gave.
    A change counts above those two until the program ends: what a person sets in the window is what they get.
    """

    def __init__(
        self,
        path: Path | None = None,
        environment: Mapping[str, str] | None = None,
        flags: Mapping[str, Any] | None = None,
    ) -> None:
        """Read the file; one that cannot be used is kept aside, and the program starts with the defaults.

        Raises:
            ConfigError: the environment or the command line says what cannot be.

        """
        self.path = path or default_path()
        self.problem = ""
        """What is wrong with the file, for the person to read; empty if nothing is."""
        self._listeners: Listeners[[Config, Config]] = Listeners("the settings")
        self._problem_listeners: Listeners[[str]] = Listeners("the problem of the settings")
        given = environment_values(os.environ if environment is None else environment)
        self._environment: Mapping[str, Any] = given
        self._flags: Mapping[str, Any] = {k: v for k, v in (flags or {}).items() if v is not None}
        self._unsaved: dict[str, Any] = {}
        self._is_absent = path is not None and not path.exists()
        if self._is_absent:
            self.problem = f"There is no file {path} yet. The first change of a setting makes it."
        self._stored = self._read() or Config()
        self.effective = self._over(self._stored, self._environment, self._flags)
        """What is in force."""

    def update(self, **changes: Any) -> bool:
        """Change keys, as in ``update(**{"audio.volume": 0.8})``, here and in the file; see `change`."""
        return self.change(changes)

    def change(self, changes: Mapping[str, Any], disregard: Collection[str] = ()) -> bool:
        """Change keys at once, here and in the file.

        The file is read again first, so that what was changed by hand meanwhile stays. Waits for the disk,
        milliseconds mostly: not for every step of a slider that is being dragged.

        Args:
            changes: ``"section.key"`` → value.
            disregard: keys for which what the environment and the command line gave counts no longer.

        Returns:
            Whether it was saved. If not, it holds until the program ends, ``problem`` says why, and the
            next change tries again.

        Raises:
            ConfigError: an unknown key, or a value that does not fit: nothing has changed.

        """
        wanted = {key: msgspec.to_builtins(value) for key, value in changes.items()}
        if any(wanted.get(key) for key in secret_keys()):
            raise ConfigError("a key is not written into the settings: keys are kept elsewhere")
        # Before anything is touched. Profiles depend on each other, and the rest of them is in the file.
        merge((_THE_SETTINGS, {k: v for k, v in wanted.items() if not k.startswith("profiles.")}))
        on_disk = self._read()
        pending = {**self._unsaved, **wanted}
        before = differences(self._stored if on_disk is None else on_disk)
        stored = merge((str(self.path), before), (_THE_SETTINGS, pending))
        over = {*wanted, *disregard}
        environment = {k: v for k, v in self._environment.items() if k not in over}
        flags = {k: v for k, v in self._flags.items() if k not in over}
        effective = self._over(stored, environment, flags)
        self._stored, self._environment, self._flags = stored, environment, flags
        is_saved = stored == (on_disk or Config()) or self._write(stored)
        self._unsaved = {} if is_saved else pending
        self._take(effective)
        return is_saved

    def refresh(self) -> None:
        """Take what the file says now, for a change that builds upon it."""
        on_disk = self._read()
        if on_disk is not None:
            self._stored = merge((str(self.path), differences(on_disk)), (_THE_SETTINGS, self._unsaved))
            self._take(self._over(self._stored, self._environment, self._flags))

    @property
    def stored(self) -> Config:
        """What the file says, together with changes that could not be saved."""
        return self._stored

    def source(self, key: str) -> str:
        """Say what has set ``key`` above the file: ``environment``, ``command line``, or nothing."""
        if key in self._flags:
            return "command line"
        return "environment" if key in self._environment else ""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have ``listener`` called with the old and the new configuration; returns what ends that."""
        return self._listeners.add(listener)

    def subscribe_problem(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Have ``listener`` called with each new ``problem``; returns what ends that."""
        return self._problem_listeners.add(listener)

    def _over(self, stored: Config, environment: Mapping[str, Any], flags: Mapping[str, Any]) -> Config:
        return merge(
            (str(self.path), differences(stored)),
            ("the environment", environment),
            ("the command line", flags),
        )

    def _read(self) -> Config | None:
        """Return what the file says; ``None`` if there is none, or it was of no use and is kept aside."""
        if not os.path.lexists(self.path):
            return None
        try:
            return merge((str(self.path), file_values(self.path)))
        except ConfigError as error:
            self._tell_problem(f"{error}. {self._keep_aside()}")
            return None

    def _keep_aside(self) -> str:
        aside = free_name(self.path, "broken")
        try:
            self.path.rename(aside)
        except OSError as error:
            return f"It is not used, and cannot be renamed either: {error.strerror}."
        return f"It is kept as {aside}, and the settings start anew."

    def _write(self, stored: Config) -> bool:
        body: dict[str, dict[str, Any]] = {}
        for dotted, value in differences(stored).items():
            section, _, key = dotted.partition(".")
            body.setdefault(section, {})[key] = value
        text = yaml.safe_dump(body, allow_unicode=True, sort_keys=False, width=100) if body else ""
        try:
            _keep_comments(self.path)
            replace_text(self.path, f"{_FIRST_LINE}\n{text}", self._mode(stored))
        except OSError as error:
            reason = error.strerror or str(error)
            self._tell_problem(
                f"The settings cannot be saved in {self.path} ({reason}). They hold until the program ends."
            )
            return False
        if self._unsaved or self._is_absent:
            self._is_absent = False
            self._tell_problem("")
        return True

    def _mode(self, stored: Config) -> int:
        """Return the file's mode, private where it is new or somebody wrote a key into it."""
        has_key = any(key in differences(stored) for key in secret_keys())
        try:
            return PRIVATE if has_key else stat.S_IMODE(self.path.stat().st_mode)
        except FileNotFoundError:
            return PRIVATE

    def _take(self, effective: Config) -> None:
        old, self.effective = self.effective, effective
        if effective != old:
            self._listeners.tell(old, effective)

    def _tell_problem(self, problem: str) -> None:
        self.problem = problem
        if problem:
            log.warning("%s", problem)
        self._problem_listeners.tell(problem)


def _keep_comments(path: Path) -> None:
    """Copy a file that a person has commented before it loses that: once, as ours says what it is."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return
    if lines[:1] != [_FIRST_LINE] and any(line.lstrip().startswith("#") for line in lines):
        shutil.copy2(path, free_name(path, "by-hand"))
