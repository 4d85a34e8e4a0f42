"""Reads the configuration: file < environment < flags, each value checked, each error with its source."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import msgspec
import platformdirs
import yaml

from app.config.sections import Config, Profile
from app.errors import ConfigError

ENVIRONMENT_PREFIX = "NEARFIELD_"
_OF_OTHERS = {"NEARFIELD_TORCH_INDEX"}
"""Read by packaging/bootstrap.sh."""
_TYPES = {"float": "a number", "int": "a whole number", "bool": "true or false", "str": "text"}
_SHORT_NAMES = {"API_KEY": "SERVER_API_KEY", "SERVER": "SERVER_URL"}


def default_path() -> Path:
    """Return where the configuration file is looked for if none is named."""
    return platformdirs.user_config_path("nearfield", appauthor=False) / "config.yaml"


def load(
    path: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Config:
    """Read the configuration.

    Args:
        path: the file to read; the default one may be absent, a named one may not.
        environment: defaults to the process's.
        flags: ``"section.key"`` → value; ``None`` values are flags that were not given.

    Raises:
        ConfigError: an unreadable file, an unknown key (the known ones are listed), or a value that does
            not fit (what would fit is said).

    """
    return merge(
        (str(path or default_path()), file_values(path)),
        ("the environment", environment_values(os.environ if environment is None else environment)),
        ("the command line", {k: v for k, v in (flags or {}).items() if v is not None}),
    )


def merge(*layers: tuple[str, Mapping[str, Any]]) -> Config:
    """Put layers of ``"section.key"`` → value together, later ones over earlier ones.

    Args:
        layers: the name of each for error messages, and its values.

    Raises:
        ConfigError: as `load`.

    """
    merged: dict[str, dict[str, Any]] = {name: {} for name in _sections()}
    sources: dict[str, str] = {}
    for source, values in layers:
        for dotted, value in values.items():
            section, _, key = dotted.partition(".")
            _check_known(source, section, key)
            _check_list(source, dotted, value)
            merged[section][key] = value
            sources[dotted] = source
    try:
        return msgspec.convert(merged, Config, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(_in_words(error, sources)) from None


def differences(config: Config) -> dict[str, Any]:
    """Return what differs from the defaults, as ``"section.key"`` → value of plain types, for a file."""
    values, defaults = (msgspec.to_builtins(c) for c in (config, Config()))
    return {
        f"{section}.{key}": _sparse(value)
        for section, body in values.items()
        for key, value in body.items()
        if value != defaults[section][key]
    }


def _sparse(value: Any) -> Any:
    """Leave out of a list of profiles what is the default."""
    if not isinstance(value, tuple):
        return value
    defaults = {f.name: f.default for f in fields(Profile)}
    return [
        {key: part for key, part in entry.items() if part != defaults[key]}
        if isinstance(entry, dict)
        else entry
        for entry in value
    ]


def secret_keys() -> list[str]:
    """Return every ``section.key`` that is nobody's business: those that a repr leaves out."""
    return [
        f"{name}.{f.name}" for name, section in _sections().items() for f in fields(section) if not f.repr
    ]


def _sections() -> dict[str, type]:
    defaults = Config()
    return {f.name: type(getattr(defaults, f.name)) for f in fields(Config)}


def known_keys() -> list[str]:
    """Return every ``section.key``."""
    return [
        f"{name}.{f.name}"
        for name, section in _sections().items()
        if is_dataclass(section)
        for f in fields(section)
    ]


def _check_known(source: str, section: str, key: str) -> None:
    _check_section(source, section)
    known = [f.name for f in fields(_sections()[section])]
    if key not in known:
        raise ConfigError(f"{source}: unknown key {section}.{key}; known are {', '.join(known)}")


def _check_section(source: str, section: object) -> None:
    if section not in _sections():
        raise ConfigError(f"{source}: unknown section {section!r}; known are {', '.join(_sections())}")


def _check_list(source: str, dotted: str, value: object) -> None:
    """Say of a list that it is one, and of what is in it what is known; msgspec would let typos pass."""
    section, _, key = dotted.partition(".")
    if not isinstance(getattr(getattr(Config(), section), key), tuple):
        return
    if isinstance(value, str):
        raise ConfigError(f"{source}: {dotted}: a list can only be written in the configuration file")
    known = [f.name for f in fields(Profile)]
    for entry in value if isinstance(value, list | tuple) else ():
        for name in entry if isinstance(entry, dict) else ():
            if name not in known:
                raise ConfigError(f"{source}: unknown key {name} in {dotted}; known are {', '.join(known)}")


def file_values(path: Path | None) -> dict[str, Any]:
    """Read a file as ``"section.key"`` → value; raises ConfigError as `load`, except for unknown keys."""
    where = path or default_path()
    try:
        content = yaml.safe_load(where.read_text("utf-8"))
    except FileNotFoundError:
        if path is None:
            return {}
        raise ConfigError(f"there is no configuration file {where}") from None
    except yaml.MarkedYAMLError as error:
        raise ConfigError(f"{where} is not YAML: {_without_content(error)}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{where} cannot be read: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{where}: expected sections {', '.join(_sections())}")
    values = {}
    for section, body in content.items():
        _check_section(str(where), section)
        if body is None:  # all its keys are commented out
            continue
        if not isinstance(body, dict):
            raise ConfigError(f"{where}: section {section!r} is not a mapping of keys to values")
        values.update({f"{section}.{key}": value for key, value in body.items()})
    return values


def environment_values(environment: Mapping[str, str]) -> dict[str, str]:
    """Take ``NEARFIELD_SECTION_KEY``, and let nothing with our prefix pass that is none."""
    values = {}
    for name, value in environment.items():
        if not name.startswith(ENVIRONMENT_PREFIX) or name in _OF_OTHERS:
            continue
        rest = name.removeprefix(ENVIRONMENT_PREFIX)
        section, _, key = _SHORT_NAMES.get(rest, rest).lower().partition("_")
        _check_section(f"the environment's {name}", section)
        values[f"{section}.{key}"] = value
    return values


def require_private(path: Path | None, key: str) -> None:
    """Have a secret stand in no file that others can read; where files have no such modes all is well.

    Args:
        path: as for `load`.
        key: ``"section.key"`` of the secret.

    Raises:
        ConfigError: it does, with the next step; or the file cannot be read, as `load`.

    """
    where = path or default_path()
    if os.name == "nt" or not file_values(path).get(key):
        return
    if where.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        raise ConfigError(f"{where} has {key} and others can read it: chmod 600 {where}")


def _without_content(error: yaml.MarkedYAMLError) -> str:
    """Say what is wrong and where, without the line itself: a key may be in it."""
    mark = error.problem_mark or error.context_mark
    where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{error.problem or error.context}{where}"


def _in_words(error: msgspec.ValidationError, sources: Mapping[str, str]) -> str:
    text, _, where = str(error).partition(" - at ")
    key = where.strip("`").removeprefix("$").removeprefix(".")
    for name, words in _TYPES.items():
        text = text.replace(f"`{name}`", words).replace(f"`{name} | null`", words)
    return f"{_source(key, sources)}: {key}: {text[0].lower()}{text[1:]}"


def _source(key: str, sources: Mapping[str, str]) -> str:
    """Say which layer has ``key``, a part of it (``profiles.saved[0].url``), or something of its section."""
    for start in (key, key.partition("[")[0], f"{key}."):
        for dotted, source in reversed(tuple(sources.items())):
            if dotted == start or (start.endswith(".") and dotted.startswith(start)):
                return source
    return "the configuration"
