"""The configuration: whether it can be used, and where each value comes from."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app import config as configuration
from app.config import Config, KioskConfig
from app.engine.build import session_config
from app.errors import ConfigError
from app.headless.doctor.finding import Fact, Finding, Verdict
from app.headless.doctor.privacy import MASK, secret_keys
from app.headless.http.guard import require_safe
from app.headless.wyoming.server import require_allowed
from app.session.address import server_address

CHECK = "configuration"
FILE = "file"
SERVICE_FILE = "environment"
"""Beside the configuration: what packaging/systemd's unit takes keys and tokens from."""
_SHOWN_CHARS = 60


@dataclass(frozen=True)
class Asked:
    """Where settings may come from, besides the defaults."""

    path: Path | None = None
    """``--config``; ``None`` is the usual place."""
    flags: Mapping[str, Any] | None = None
    """``section.key`` → value; ``None`` values were not given."""
    environ: Mapping[str, str] | None = None
    """``None`` is the process's."""

    @property
    def file(self) -> Path:
        """The file that is read, if it is there."""
        return self.path or configuration.default_path()


@dataclass(frozen=True)
class Settings:
    """The configuration as read, or why it cannot be."""

    finding: Finding
    config: Config | None


def read(asked: Asked) -> Settings:
    """Read the configuration as every command does, and look at it."""
    environ = os.environ if asked.environ is None else asked.environ
    try:
        layers: tuple[tuple[str, Mapping[str, Any]], ...] = (
            (FILE, configuration.file_values(asked.path)),
            ("environment", configuration.environment_values(environ)),
            ("command line", {k: v for k, v in (asked.flags or {}).items() if v is not None}),
        )
        config = configuration.load(asked.path, environ, asked.flags)
        server_address(
            config.server.url, config.server.api_key, config.server.ca_file, config.server.allow_insecure_key
        )
        session_config(config)
        _require_sources(config.kiosk)
    except ConfigError as error:
        advice = "mend that value; everything else waits for it"
        return Settings(Finding(CHECK, Verdict.PROBLEM, str(error), advice, is_fatal=True), None)
    sources = {key: name for name, values in layers for key in values}
    facts: Mapping[str, Fact] = {
        "file": str(asked.file) if asked.file.exists() else "",
        "values": {key: shown(key, value) for key, value in _values(config).items()},
        "from": sources,
    }
    problems = [*_readable_secrets(asked.file, layers[0][1]), *_silent(config)]
    verdict = Verdict.WARNING if problems else Verdict.OK
    summary = "\n".join([*(problem for problem, _ in problems), _set(config, sources, asked.file)])
    return Settings(Finding(CHECK, verdict, summary, "; ".join(step for _, step in problems), facts), config)


def _require_sources(kiosk: KioskConfig) -> None:
    """Raise ConfigError for what the kiosk would refuse: an open door, or a package that is missing."""
    needed = []
    if "http" in kiosk.sources:
        require_safe(kiosk)
        needed += ["aiohttp", "prometheus_client"]
    if "wyoming" in kiosk.sources:
        require_allowed(kiosk)
        needed += ["wyoming", *(["zeroconf", "ifaddr"] if kiosk.zeroconf else [])]
    if missing := [name for name in needed if find_spec(name) is None]:
        raise ConfigError(
            f"the sources {', '.join(kiosk.sources)} need {', '.join(missing)}: "
            "pip install 'nearfield[kiosk]'"
        )


def shown(key: str, value: Any) -> Any:
    """Return the value of ``section.key`` as it may be shown."""
    if key not in secret_keys():
        return value
    return MASK if value else ""


def _values(config: Config) -> dict[str, Any]:
    return {
        f"{section}.{key}": value for section, body in asdict(config).items() for key, value in body.items()
    }


def _set(config: Config, sources: Mapping[str, str], file: Path) -> str:
    """Say which values are not left to their defaults, and who says so."""
    if not sources:
        return "all defaults" + (f", and nothing in {file}" if file.exists() else f"; there is no {file}")
    values = _values(config)
    told = [
        f"{key} = {_short(shown(key, values[key]))} ({file if source == FILE else source})"
        for key, source in sorted(sources.items())
    ]
    return "\n".join(told)


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"


def _readable_secrets(file: Path, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name the files with keys in them that others can read; the service has one of its own for them."""
    if os.name == "nt":
        return []
    files = [file] if any(values.get(key) for key in secret_keys()) else []
    files.append(file.parent / SERVICE_FILE)
    return [
        (f"there are keys in {path}, which others can read", f"chmod 600 {path}")
        for path in files
        if path.is_file() and path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH)
    ]


def _silent(config: Config) -> list[tuple[str, str]]:
    if config.audio.volume > 0.0:
        return []
    return [("the volume is 0: nobody hears anything", "set audio.volume")]
