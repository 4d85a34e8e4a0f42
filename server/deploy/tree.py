"""The values of a YAML file, each with its place, and how vllm-omni lays one file over another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from server.deploy.findings import Place

Scalar = str | int | float | bool | None
Plain = Scalar | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True)
class Value:
    """A scalar, a list or a mapping."""

    place: Place
    data: Scalar | tuple[Value, ...] | Mapping[str, Entry]
    is_open: bool = False
    """Whether the value is only known when the server starts (``${…}``), or never (an unknown tag)."""

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The entries of a mapping; none of anything else."""
        return self.data if isinstance(self.data, Mapping) else {}

    @property
    def items(self) -> Sequence[Value]:
        """The items of a list; none of anything else."""
        return self.data if isinstance(self.data, tuple) else ()

    @property
    def is_mapping(self) -> bool:
        """Whether it has entries, if only none."""
        return isinstance(self.data, Mapping)

    def get(self, key: str) -> Value | None:
        """Return the value of ``key`` if it is there and not empty."""
        entry = self.entries.get(key)
        return None if entry is None or entry.value.data is None else entry.value

    @property
    def as_whole(self) -> int | None:
        """The number, if it is a whole one; ``True`` is none."""
        return self.data if isinstance(self.data, int) and not isinstance(self.data, bool) else None

    def plain(self) -> Plain:
        """Return the value without its places."""
        if isinstance(self.data, Mapping):
            return {key: entry.value.plain() for key, entry in self.data.items()}
        if isinstance(self.data, tuple):
            return [item.plain() for item in self.data]
        return self.data


@dataclass(frozen=True)
class Entry:
    """A key and its value."""

    key: str
    place: Place
    """Where the key stands."""
    value: Value


DEEP = (
    "default_sampling_params",
    "default_pooling_params",
    "subtalker_sampling_params",
    "engine_extras",
    "engine_args",
)
"""Of a stage, the mappings that are laid over each other entry by entry; all others are replaced."""
APART = ("connectors", "stages", "platforms")
"""At the top level, what is not simply replaced."""


def overlay(base: Value, over: Value) -> Value:
    """Return what vllm-omni makes of a file ``over`` that names ``base`` as its ``base_config``."""
    entries = dict(base.entries) | {key: e for key, e in over.entries.items() if key not in APART}
    entries.pop("base_config", None)
    joins = {"connectors": deep, "stages": _stages, "platforms": _platforms}
    for key, join in joins.items():
        below, above = base.entries.get(key), over.entries.get(key)
        if below is not None and above is not None:
            entries[key] = replace(above, value=join(below.value, above.value))
        elif above is not None:
            entries[key] = above
    return replace(over, data=entries)


def deep(base: Value, over: Value) -> Value:
    """Return ``over`` laid over ``base``, mappings entry by entry at every depth."""
    if not (base.is_mapping and over.is_mapping):
        return over
    entries = dict(base.entries)
    for key, entry in over.entries.items():
        below = entries.get(key)
        entries[key] = entry if below is None else replace(entry, value=deep(below.value, entry.value))
    return replace(over, data=entries)


def stages_by_id(value: Value | None) -> Iterator[tuple[int, Value]]:
    """Yield every stage of a list that has a usable ``stage_id``."""
    for stage in value.items if value is not None else ():
        named = stage.get("stage_id")
        if named is not None and named.as_whole is not None:
            yield named.as_whole, stage


def _stages(base: Value, over: Value) -> Value:
    stages = dict(stages_by_id(base))
    for stage_id, stage in stages_by_id(over):
        below = stages.get(stage_id)
        stages[stage_id] = stage if below is None else lay_stage_over(below, stage)
    return replace(over, data=tuple(stages.values()))


def lay_stage_over(base: Value, over: Value) -> Value:
    """Return one stage laid over another."""
    entries = dict(base.entries) | dict(over.entries)
    for key in DEEP:
        if key in base.entries and key in over.entries:
            entries[key] = replace(
                over.entries[key], value=deep(base.entries[key].value, over.entries[key].value)
            )
    return replace(over, data=entries)


def _platforms(base: Value, over: Value) -> Value:
    platforms = dict(base.entries)
    for name, entry in over.entries.items():
        below = platforms.get(name)
        if below is None or not (below.value.is_mapping and entry.value.is_mapping):
            platforms[name] = entry
            continue
        merged = dict(below.value.entries) | dict(entry.value.entries)
        if "stages" in below.value.entries and "stages" in entry.value.entries:
            stages = _stages(below.value.entries["stages"].value, entry.value.entries["stages"].value)
            merged["stages"] = replace(entry.value.entries["stages"], value=stages)
        platforms[name] = replace(entry, value=replace(entry.value, data=merged))
    return replace(over, data=platforms)
