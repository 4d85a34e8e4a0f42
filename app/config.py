"""The configuration: frozen, typed, made once. File < environment < flags.

The file is YAML with a mapping for each section; the environment has ``NEARFIELD_SECTION_KEY``
(``NEARFIELD_AUDIO_DEVICE``), and ``NEARFIELD_API_KEY`` for the key that belongs on no command line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import platformdirs
import yaml

from app.errors import ConfigError

ENVIRONMENT_PREFIX = "NEARFIELD_"
_OF_OTHERS = {"NEARFIELD_TORCH_INDEX"}
"""Read by packaging/bootstrap.sh."""
_TYPES = {"float": "a number", "int": "a whole number", "bool": "true or false", "str": "text"}
_SHORT_NAMES = {"API_KEY": "SERVER_API_KEY", "SERVER": "SERVER_URL"}

Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=3600.0)]
Count = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True)
class ServerConfig:
    """Where the talker is."""

    url: str = "ws://127.0.0.1:8001"
    """Address of the speech stream; the path may be left out."""
    api_key: str = field(default="", repr=False)
    """Bearer key; better in ``NEARFIELD_API_KEY`` than in a file that others can read."""
    ca_file: str = ""
    """PEM file of a private certificate authority."""
    allow_insecure_key: bool = False
    """Send the key over plain ``ws://`` to another machine."""
    connect_timeout_s: Seconds = 10.0
    """How long one try to connect may take."""
    patience_s: Seconds = 0.0
    """How long an utterance waits for a server that cannot be reached before it is dropped."""


@dataclass(frozen=True)
class VoiceConfig:
    """How it is spoken; empty means the server's default."""

    name: str = ""
    """Speaker, such as ``vivian``; names are compared in lower case."""
    language: str = ""
    """``Auto``, ``English``, ``Chinese``, …"""
    task: str = ""
    """``CustomVoice``, ``VoiceDesign`` or ``Base``."""
    instructions: str = ""
    """Style in words; required for ``VoiceDesign``."""
    seed: int | None = None
    """For a repeatable reading, where the server supports it."""


@dataclass(frozen=True)
class DecoderConfig:
    """What turns codec tokens into sound."""

    checkpoint: str = "Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice"
    """A folder with ``speech_tokenizer/``, that folder itself, or a repository id (``nearfield fetch``)."""
    device: Annotated[str, msgspec.Meta(pattern=r"^(cpu|cuda(:\d+)?)$")] = "cpu"
    """``cpu``, ``cuda`` or ``cuda:N``."""
    threads: Count = 0
    """Threads of the decoder; 0 takes the CPUs this process may use."""
    precision: Annotated[str, msgspec.Meta(pattern="^(exact|auto|fast)$")] = "exact"
    """``exact`` is float32; ``auto`` takes what a short measurement finds faster and close enough; ``fast``
    is reduced wherever the machine has instructions for it."""


@dataclass(frozen=True)
class AudioConfig:
    """Where the sound goes."""

    device: str = ""
    """Host API and name, as ``nearfield devices`` prints them; empty for the system's default."""
    latency_s: Annotated[float, msgspec.Meta(ge=0.0, le=2.0)] = 0.1
    """Asked of the device; below 0.1 some sound servers crackle."""
    start_buffer_s: Annotated[float, msgspec.Meta(ge=0.0, le=10.0)] = 0.16
    """Sound to have before it starts; grows by itself on links that pause."""
    lead_in_s: Annotated[float, msgspec.Meta(ge=0.0, le=5.0)] = 0.0
    """Silence that wakes a sleeping USB, HDMI or Bluetooth sink; never recorded."""


@dataclass(frozen=True)
class Config:
    """All of it."""

    server: ServerConfig = field(default_factory=ServerConfig)
    voice: VoiceConfig = field(default_factory=VoiceConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    audio: AudioConfig = field(default_factory=AudioConfig)


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
    merged: dict[str, dict[str, Any]] = {name: {} for name in _sections()}
    sources: dict[str, str] = {}
    for source, values in (
        (str(path or default_path()), _from_file(path)),
        ("the environment", _from_environment(os.environ if environment is None else environment)),
        ("the command line", {k: v for k, v in (flags or {}).items() if v is not None}),
    ):
        for dotted, value in values.items():
            section, _, key = dotted.partition(".")
            _check_known(source, section, key)
            merged[section][key] = value
            sources[dotted] = source
    try:
        return msgspec.convert(merged, Config, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(_in_words(error, sources)) from None


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


def _from_file(path: Path | None) -> dict[str, Any]:
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


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
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


def _without_content(error: yaml.MarkedYAMLError) -> str:
    """Say what is wrong and where, without the line itself: a key may be in it."""
    mark = error.problem_mark or error.context_mark
    where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{error.problem or error.context}{where}"


def _in_words(error: msgspec.ValidationError, sources: Mapping[str, str]) -> str:
    text, _, where = str(error).partition(" - at ")
    key = where.strip("`").removeprefix("$.")
    for name, words in _TYPES.items():
        text = text.replace(f"`{name}`", words).replace(f"`{name} | null`", words)
    return f"{sources.get(key, 'the configuration')}: {key}: {text[0].lower()}{text[1:]}"
