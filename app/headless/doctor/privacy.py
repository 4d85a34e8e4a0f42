"""What leaves this machine with a report: no secret, and no name of a home folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from app.config import Config
from app.headless.doctor.finding import Fact, Finding

MASK = "•••"
_QUERY = re.compile(r"(?<=\w)\?[^\s'\")]+")
"""Of an address: some servers take their key there."""
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")


def secret_keys() -> frozenset[str]:
    """Return the ``section.key`` of everything that is never shown: what its class leaves out of its repr."""
    defaults = Config()
    return frozenset(
        f"{section.name}.{key.name}"
        for section in fields(Config)
        if is_dataclass(values := getattr(defaults, section.name))
        for key in fields(values)
        if not key.repr
    )


def secrets_of(config: Config) -> frozenset[str]:
    """Return every secret that ``config`` has."""
    values = (key.split(".") for key in secret_keys())
    return frozenset(filter(None, (getattr(getattr(config, section), key) for section, key in values)))


@dataclass(frozen=True)
class Discreet:
    """Replaces secrets, passwords in addresses and the home folder, wherever they turn up in a text."""

    secrets: frozenset[str]
    home: str

    @classmethod
    def about(cls, config: Config | None, home: Path | None = None) -> Discreet:
        """Keep what ``config`` has to itself; ``None`` if it could not be read."""
        known = frozenset[str]() if config is None else secrets_of(config)
        return cls(known, str(home or Path.home()).rstrip("/"))

    def text(self, text: str) -> str:
        """Return ``text`` as it may be shown."""
        # The longest first: one secret may be a part of another.
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, MASK)
        text = _USER_INFO.sub(f"{MASK}@", text)
        text = re.sub(r"(wss?|https?)://\S+", lambda found: _QUERY.sub(f"?{MASK}", found[0]), text)
        if self.home:
            text = re.sub(rf"(?<![\w.-]){re.escape(self.home)}(?=$|[/\s\"',;:)\]])", "~", text)
        return text

    def fact(self, value: Fact) -> Any:
        """Return ``value`` with every text in it as it may be shown."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self.fact(part) for key, part in value.items()}
        if isinstance(value, Sequence):
            return [self.fact(part) for part in value]
        return value

    def finding(self, found: Finding) -> Finding:
        """Return ``found`` as it may be shown."""
        return replace(
            found,
            summary=self.text(found.summary),
            advice=self.text(found.advice),
            facts=self.fact(found.facts),
        )

    def all(self, found: Sequence[Finding]) -> Iterator[Finding]:
        """Yield each as it may be shown."""
        return map(self.finding, found)
