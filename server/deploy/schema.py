"""The frozen keys of `keys.yaml`, and what each kind of value accepts."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from server.deploy.reading import read_file
from server.deploy.tree import Value

FILE = Path(__file__).with_name("keys.yaml")
_FROM = re.compile(r"(int|number) from (-?\d+)")
_NAMES = {
    "bool": "true or false",
    "int": "a whole number",
    "number": "a number",
    "share": "a number above 0 and at most 1",
    "text": "text",
    "list": "a list",
    "map": "keys and values of its own",
}


@dataclass(frozen=True)
class Kind:
    """What a value has to be."""

    alternatives: tuple[str, ...]
    """Names of `_NAMES`, or words of which the value is one."""
    least: int | None = None

    @classmethod
    def of(cls, text: str) -> Kind:
        """Read a kind as `keys.yaml` writes it."""
        if (match := _FROM.fullmatch(text)) is not None:
            return cls((match[1],), int(match[2]))
        return cls(tuple(text.split(" or ")))

    def accepts(self, value: Value) -> bool:
        """Whether ``value`` is of this kind."""
        return value.is_open or any(self._is(name, value) for name in self.alternatives)

    def _is(self, name: str, value: Value) -> bool:
        data = value.data
        if name in ("any", "map", "list", "text", "bool"):
            types = {"map": Mapping, "list": tuple, "text": str, "bool": bool, "any": object}
            return isinstance(data, types[name])
        if name not in _NAMES:
            return data == name
        if isinstance(data, bool) or not isinstance(data, int | float):
            return False
        if name == "int":
            return isinstance(data, int) and (self.least is None or data >= self.least)
        if not math.isfinite(data):
            return False
        if name == "share":
            return 0 < data <= 1
        return self.least is None or data >= self.least

    def __str__(self) -> str:
        """Return it in words."""
        words = [_NAMES.get(name, f"`{name}`") for name in self.alternatives]
        return " or ".join(words) + ("" if self.least is None else f" from {self.least}")


Keys = Mapping[str, Kind]


@dataclass(frozen=True)
class Schema:
    """All of `keys.yaml`."""

    release: str
    top: Keys
    required_values: frozenset[str]
    stage: Keys
    """What places a stage and begins its requests."""
    engine: Keys
    """What else a Qwen3-TTS stage takes."""
    refused: frozenset[str]
    derived: frozenset[str]
    runtime: frozenset[str]
    platform: Keys
    platforms: frozenset[str]
    sampling: Keys
    subtalker: Keys
    duplex_session: Keys
    connector: Keys
    connectors: frozenset[str]
    extra: frozenset[str]
    pipelines: frozenset[str]


@functools.cache
def schema() -> Schema:
    """Return the keys; read once."""
    root = read_file(FILE).root

    def keys(name: str) -> Keys:
        return {
            key: Kind.of(str(entry.value.data)) for key, entry in root.entries[name].value.entries.items()
        }

    def names(name: str) -> frozenset[str]:
        return frozenset(str(item.data) for item in root.entries[name].value.items)

    return Schema(
        release=str(root.entries["vllm_omni"].value.data),
        top=keys("top"),
        required_values=names("required_values"),
        stage=keys("stage"),
        engine=keys("engine"),
        refused=names("refused"),
        derived=names("derived"),
        runtime=names("runtime"),
        platform=keys("platform"),
        platforms=names("platforms"),
        sampling=keys("sampling"),
        subtalker=keys("subtalker"),
        duplex_session=keys("duplex_session"),
        connector=keys("connector"),
        connectors=names("connectors"),
        extra=names("extra"),
        pipelines=names("pipelines"),
    )
