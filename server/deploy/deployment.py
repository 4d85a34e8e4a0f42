"""A deploy file laid over what it is based on, as the rules ask about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from server.deploy.findings import Place
from server.deploy.schema import Schema
from server.deploy.tree import Entry, Value, stages_by_id

TALKER_ONLY = "qwen3_tts_talker_only"
TWO_STAGE = "qwen3_tts"
TALKER, DECODER = 0, 1
"""Stage ids of Qwen3-TTS; the talker-only pipeline has the first alone."""
STOPS = "the server stops at it when it starts"

Stages = Mapping[int, Value]


@dataclass(frozen=True)
class Deployment:
    """A whole file."""

    root: Value
    schema: Schema

    @property
    def pipeline(self) -> str:
        """The pipeline's name; without one, vllm-omni takes the model's own."""
        named = self.root.get("pipeline")
        return str(named.data) if named is not None and not named.is_open else TWO_STAGE

    @property
    def is_talker_only(self) -> bool:
        """Whether nothing is decoded here."""
        return self.pipeline == TALKER_ONLY

    @property
    def stages(self) -> dict[int, Value]:
        """The stages by their id; of two with one id, the first."""
        stages: dict[int, Value] = {}
        for stage_id, stage in stages_by_id(self.root.get("stages")):
            stages.setdefault(stage_id, stage)
        return stages

    @property
    def platforms(self) -> Iterator[Entry]:
        """What changes on some hardware."""
        platforms = self.root.get("platforms")
        yield from platforms.entries.values() if platforms is not None else ()

    def place_of(self, key: str) -> Place:
        """Return where the value of a key at the top stands, or where the file begins."""
        value = self.root.get(key)
        return value.place if value is not None else self.root.place


def setting(stage: Value, key: str) -> Value | None:
    """Return an engine setting, wherever a layout puts it; of several, the one that vllm-omni takes."""
    for place in (stage.get("engine_extras"), stage.get("engine_args"), stage):
        if place is not None and (value := place.get(key)) is not None:
            return value
    return None


def whole(value: Value | None) -> int | None:
    """Return a value if it is a whole number."""
    return value.as_whole if value is not None else None


def sampling(stage: Value) -> Value:
    """Return what requests of a stage begin with; nothing, in the stage's place, if nothing is said."""
    return stage.get("default_sampling_params") or Value(stage.place, {})


def devices(stage: Value) -> list[str]:
    """Return the GPUs of a stage as they are written; without any, a process sees all and takes the first."""
    runtime = stage.get("runtime")
    nested = runtime.get("devices") if runtime is not None else None
    value = nested or stage.get("devices")
    text = str(value.data) if value is not None else "0"
    return [part.strip() for part in text.split(",") if part.strip()]


def place_in(value: Value, key: str) -> Place:
    """Return where the value of ``key`` stands, or the mapping if it is not there."""
    entry = value.entries.get(key)
    return entry.value.place if entry is not None else value.place
