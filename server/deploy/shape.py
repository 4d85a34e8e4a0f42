"""Keys and types: what vllm-omni ignores or stumbles over later is said here, with its line."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from server.deploy.deployment import STOPS as _STOPS
from server.deploy.findings import Finding, error, warning
from server.deploy.schema import Keys, Kind, Schema
from server.deploy.tree import Entry, Scalar, Value

_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
_IGNORED = "vllm-omni ignores it without a word"
_BEGIN_STAGES = "begin each stage with `- stage_id: 0`"


@dataclass(frozen=True)
class Level:
    """One level of a file: its keys, and what becomes of others."""

    where: str
    """Such as ``in a stage``."""
    keys: Keys
    unknown: str
    """What vllm-omni does with a key that it does not know."""
    elsewhere: tuple[tuple[str, Iterable[str]], ...] = ()
    """Other places, in words, with the keys that belong there."""
    required: frozenset[str] = frozenset()
    """Keys whose value may not be empty."""


def check_shape(root: Value, schema: Schema, *, is_qwen3_tts: bool = True) -> Iterator[Finding]:
    """Yield what is wrong with keys and types of one file, without the files that it is based on.

    Stages of another model may have keys that are not known here; with ``is_qwen3_tts`` false they pass.
    """
    yield from _Shape(schema, is_qwen3_tts).top(root)


class _Shape:
    """The levels of a file."""

    def __init__(self, schema: Schema, is_qwen3_tts: bool) -> None:
        self._schema = schema
        self._is_qwen3_tts = is_qwen3_tts
        stage_keys = {**schema.stage, **schema.engine}
        into_stage = ("in a stage, under `- stage_id: …`", [k for k in stage_keys if k not in schema.top])
        into_sampling = ("under `default_sampling_params` of a stage", schema.sampling)
        self._top = Level(
            "at the top level", schema.top, _IGNORED, (into_stage, into_sampling), schema.required_values
        )
        to_top = ("at the top level", [key for key in schema.top if key not in stage_keys])
        required = frozenset({"stage_id", "num_replicas"})
        self._stage = Level("in a stage", stage_keys, _STOPS, (to_top, into_sampling), required)
        self._engine = Level("here", schema.engine, _STOPS, (("directly in the stage", schema.stage),))
        self._sampling = Level("under `default_sampling_params`", schema.sampling, _STOPS)
        self._subtalker = Level(
            "under `subtalker_sampling_params`", schema.subtalker, "the talker ignores it"
        )
        self._platform = Level("of a platform", schema.platform, _IGNORED, (into_stage,))
        self._connector = Level(
            "of a connector", schema.connector, _IGNORED, (("under `extra`", schema.extra),)
        )
        self._duplex = Level("under `duplex_session`", schema.duplex_session, _STOPS)

    def top(self, root: Value) -> Iterator[Finding]:
        for entry in root.entries.values():
            match entry.key:
                case "stage_args":
                    what = f"`stage_args` is a layout that is no longer read: {_STOPS}"
                    yield error(entry.place, what, "write the settings of each stage under `stages:`")
                case "forced_aligner":
                    what = "this file is for --forced-aligner-config, and says nothing of a talker"
                    yield error(entry.place, what, "give --deploy-config a file with `stages:`")
                case _:
                    yield from _check(entry, self._top)
        stages = root.get("stages")
        for stage in stages.items if stages is not None else ():
            yield from self.stage(stage)
        yield from self._below(root, "duplex_session", self._duplex)
        for entry in _entries(root, "connectors"):
            yield from self._one_connector(entry)
        for entry in _entries(root, "platforms"):
            yield from self._one_platform(entry)

    def stage(self, stage: Value) -> Iterator[Finding]:
        if not stage.is_mapping:
            if not stage.is_open:
                what = f"a stage is {_named(stage)}, not keys and values"
                yield error(stage.place, what, _BEGIN_STAGES)
            return
        if "stage_id" not in stage.entries:
            yield error(stage.place, f"a stage without `stage_id`: {_STOPS}", "begin it with `- stage_id: 0`")
        for entry in stage.entries.values():
            if self._is_qwen3_tts or entry.key in self._stage.keys:
                yield from self._entry_of_stage(entry)
        if not self._is_qwen3_tts:
            return
        yield from self._below(stage, "default_sampling_params", self._sampling)
        yield from self._below(stage, "subtalker_sampling_params", self._subtalker)
        for key in ("engine_extras", "engine_args"):
            for entry in _entries(stage, key):
                yield from self._of_the_engine(entry, self._engine)
        for entry in _entries(stage, "runtime"):
            if entry.key not in self._schema.runtime:
                yield _unknown(entry, "under `runtime`", dict.fromkeys(self._schema.runtime), _IGNORED)

    def _entry_of_stage(self, entry: Entry) -> Iterator[Finding]:
        if entry.key in ("engine_args", "runtime"):
            what = f"`{entry.key}` is the older layout, which 0.30 still reads"
            yield warning(entry.place, what, "write its entries directly in the stage")
        elif entry.key == "devices" and isinstance(entry.value.data, int | float):
            what = f"`devices` is the number {entry.value.data}, not text"
            yield error(entry.value.place, what, f'write `devices: "{entry.value.data}"`')
        elif entry.key == "devices" and entry.value.items:
            together = ",".join(str(item.data) for item in entry.value.items)
            what = "`devices` is a list, not text"
            yield error(entry.value.place, what, f'write `devices: "{together}"`')
        else:
            yield from self._of_the_engine(entry, self._stage)

    def _of_the_engine(self, entry: Entry, level: Level) -> Iterator[Finding]:
        if entry.key in self._schema.derived:
            what = f"`{entry.key}` follows from `model_runner` and the pipeline: {_STOPS}"
            yield error(entry.place, what, "take it out, and set `model_runner` at the top level")
        elif entry.key == "tts_max_instructions_length":
            what = f"`{entry.key}` in a file: {_STOPS}, although its loader knows the key"
            yield error(entry.place, what, "give `vllm serve` --tts-max-instructions-length instead")
        elif entry.key in self._schema.refused:
            what = f"`{entry.key}` belongs to diffusion stages, and Qwen3-TTS has none: {_STOPS}"
            yield error(entry.place, what, "take it out")
        else:
            yield from _check(entry, level)

    def _below(self, parent: Value, key: str, level: Level) -> Iterator[Finding]:
        for entry in _entries(parent, key):
            yield from _check(entry, level)

    def _one_connector(self, entry: Entry) -> Iterator[Finding]:
        if not entry.value.is_mapping:
            if not entry.value.is_open:
                what = f"the connector `{entry.key}` is {_named(entry.value)}, not keys and values"
                yield error(entry.place, what, "give it `name: SharedMemoryConnector`")
            return
        yield from (
            found for inner in entry.value.entries.values() for found in _check(inner, self._connector)
        )
        name = entry.value.get("name")
        word = name.data if name is not None and not name.is_open else None
        if name is not None and isinstance(word, str) and word not in self._schema.connectors:
            what = f"vllm-omni has no connector `{word}`: {_STOPS}"
            yield error(name.place, what, _instead(word, self._schema.connectors))
        for inner in _entries(entry.value, "extra"):
            close = difflib.get_close_matches(inner.key, self._schema.extra, 1, 0.85)
            if inner.key not in self._schema.extra and close:
                what = f"nothing reads `{inner.key}`; it looks like `{close[0]}`"
                yield warning(inner.place, what, f"write `{close[0]}`")

    def _one_platform(self, entry: Entry) -> Iterator[Finding]:
        if entry.key not in self._schema.platforms:
            what = f"`{entry.key}` is no platform, so that what it says never applies"
            yield error(entry.place, what, _instead(entry.key, self._schema.platforms))
        if not entry.value.is_mapping:
            if entry.value.data is not None and not entry.value.is_open:
                what = f"the platform `{entry.key}` is {_named(entry.value)}, not keys and values"
                yield error(entry.value.place, what, "write `stages:` or `model_runner:` below it")
            return
        yield from (
            found for inner in entry.value.entries.values() for found in _check(inner, self._platform)
        )
        stages = entry.value.get("stages")
        for stage in stages.items if stages is not None else ():
            yield from self.stage(stage)


def _entries(parent: Value, key: str) -> Iterable[Entry]:
    value = parent.get(key)
    return value.entries.values() if value is not None else ()


def _check(entry: Entry, level: Level) -> Iterator[Finding]:
    kind = level.keys.get(entry.key)
    if kind is None:
        yield _unknown(entry, level.where, level.keys, level.unknown, level.elsewhere)
    elif entry.value.data is None:
        if entry.key in level.required:
            advice = (
                _BEGIN_STAGES if entry.key == "stages" else f"write {kind} after it, or take the line out"
            )
            yield error(entry.place, f"`{entry.key}` is empty", advice)
        else:
            what = f"`{entry.key}` is empty, which means that it is not set"
            yield warning(entry.place, what, "write its value, or take the line out")
    elif entry.value.is_open and isinstance(entry.value.data, str) and "${" in entry.value.data:
        what = f"`{entry.key}` is filled in when the server starts, so that it cannot be checked"
        yield warning(entry.value.place, what, "write the value itself")
    elif not kind.accepts(entry.value):
        yield error(
            entry.value.place, f"`{entry.key}` is {_named(entry.value)}, not {kind}", _better(entry, kind)
        )


def _unknown(
    entry: Entry,
    where: str,
    known: Iterable[str],
    unknown: str,
    elsewhere: tuple[tuple[str, Iterable[str]], ...] = (),
) -> Finding:
    what = f"unknown key `{entry.key}` {where}: {unknown}"
    plain = entry.key.replace("-", "_").lower()
    for place, keys in elsewhere:
        if plain in keys and plain not in known:
            return error(entry.place, what, f"`{plain}` belongs {place}")
    return error(entry.place, what, _instead(plain, known))


def _instead(wrong: str, known: Iterable[str]) -> str:
    names = sorted(known)
    folded = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wrong.lower(), folded, 1, 0.7)
    if close:
        return f"did you mean `{folded[close[0]]}`?"
    return (
        f"known: {', '.join(names)}"
        if len(names) <= 12
        else "take it out; server/deploy/keys.yaml lists the keys"
    )


def _named(value: Value) -> str:
    data = value.data
    if isinstance(data, bool):
        return f"the word {str(data).lower()}"
    if isinstance(data, str):
        return f"the text {json.dumps(data[:40], ensure_ascii=False)}"
    if isinstance(data, int | float):
        return f"the number {data}"
    if data is None:
        return "empty"
    return "a list" if isinstance(data, tuple) else "keys and values"


def _better(entry: Entry, kind: Kind) -> str:
    """Say what was probably meant."""
    if entry.key == "stages":
        return _BEGIN_STAGES
    data = entry.value.data
    for meant in _guesses(data):
        if kind.accepts(Value(entry.value.place, meant)):
            plain = meant if isinstance(meant, str) and isinstance(data, str) else json.dumps(meant)
            # A comma or a sign makes text of what stands there; anything else was quoted.
            quoted = isinstance(data, str) and not isinstance(meant, str) and not set(data) & set(",%")
            return f"write `{entry.key}: {plain}`" + (", without quotes" if quoted else "")
    return f"write {kind}"


def _guesses(data: object) -> Iterator[Scalar]:
    """Yield what a value that does not fit may stand for, the likeliest first."""
    if isinstance(data, str):
        text = data.strip().lower()
        if text in _WORDS:
            yield _WORDS[text]
        yield from _numbers(text.replace(",", "" if _THOUSANDS.fullmatch(text) else "."))
        yield text
    elif isinstance(data, int | float) and not isinstance(data, bool):
        if data in (0, 1):
            yield bool(data)
        if isinstance(data, float) and data.is_integer():
            yield int(data)
        if 1 < data <= 100:
            yield data / 100  # per cent
        yield str(data)


def _numbers(text: str) -> Iterator[int | float]:
    digits = text.removesuffix("%")
    for make in (int, float):
        try:
            yield make(digits) if digits == text else make(digits) / 100
        except (ValueError, OverflowError):
            continue
