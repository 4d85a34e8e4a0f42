"""The frozen keys against the release itself, and what the release does with what we call wrong."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest

from server.deploy.schema import Kind, schema
from tests.helpers.deploy_loader import load, refused
from tests.helpers.omni_rig import NEW, peer
from tests.server.deploy.broken import BOTH, changed

CONFIG = peer("vllm-omni", NEW) / "vllm_omni" / "config"
OWNERS = ("Quantization", "Model", "Pooling", "Load", "Cache", "Scheduler", "Connector", "Runtime")


def fields(file: str, name: str) -> dict[str, str]:
    """Return the annotated names of a class in the release's sources, with their annotations."""
    tree = ast.parse((CONFIG / file).read_text("utf-8"))
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return {
        line.target.id: ast.unparse(line.annotation)
        for line in found.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }


def fits(kind: Kind, annotation: str) -> bool:
    """Whether a frozen kind says what an annotation of the release says."""
    plain = annotation.replace(" | None", "")
    expected = {"bool": "bool", "int": "int", "float": "number", "str": "text"}.get(plain)
    if expected is None:
        expected = "map" if plain.startswith("dict") else "list" if plain.startswith("list") else None
    names = set(kind.alternatives)
    if expected == "number":
        return names <= {"number", "share"}
    # A choice of words is text, and "Any" may have been read from its use.
    return (
        expected is None or names == {expected} or (expected == "text" and not names & {"int", "map", "list"})
    )


def test_the_top_level_is_the_releases() -> None:
    released = fields("stage_config.py", "DeployConfig")
    assert schema().top.keys() == released.keys() | {"base_config"}
    assert [key for key, annotation in released.items() if not fits(schema().top[key], annotation)] == []


def test_a_stage_is_the_releases() -> None:
    released = fields("stage_config.py", "StageDeployConfig")
    ours = {**schema().stage, **schema().engine}
    assert released.keys() == released.keys() & (ours.keys() | schema().refused)
    assert schema().refused <= released.keys()
    known = {key: annotation for key, annotation in released.items() if key in ours}
    assert [key for key, annotation in known.items() if not fits(ours[key], annotation)] == []


def test_what_a_stage_hands_on_is_the_releases() -> None:
    """All but vllm's own settings, which are another package's; those were frozen from its 0.30.0."""
    owned: dict[str, str] = {}
    for owner in OWNERS:
        owned |= fields("omni_config.py", f"_{owner}EngineOverrides")
    ours = {**schema().stage, **schema().engine}
    assert owned.keys() <= ours.keys()
    assert not owned.keys() & schema().refused
    assert [key for key, annotation in owned.items() if not fits(ours[key], annotation)] == []


def test_duplex_sessions_and_pipelines_are_the_releases() -> None:
    assert schema().duplex_session.keys() == fields("stage_config.py", "DuplexSessionRuntimeConfig").keys()
    registry = (CONFIG / "pipeline_registry.py").read_text("utf-8")
    assert schema().pipelines == set(re.findall(r'^    "(\w+)": ', registry, re.MULTILINE))


@pytest.mark.parametrize("key", ["max_num_seq", "cache_backend", "tts_max_instructions_length", "lora_path"])
def test_the_release_stops_at_what_we_call_unknown_in_a_stage(key: str) -> None:
    """Its loader lets it pass; the configuration that a server starts with does not."""
    assert "error" not in load_text(f"stages: [{{stage_id: 0, {key}: 1}}]\n")
    assert refused({key: 1}).endswith(f"no structured config owner: {key}")


def test_the_release_takes_what_we_take() -> None:
    assert refused({"max_num_seqs": 64, "gpu_memory_utilization": 0.6, "async_scheduling": True}) == ""


def test_the_release_ignores_what_we_call_unknown_at_the_top() -> None:
    made = load_text("async_chunks: false\nstages: [{stage_id: 0}]\n")
    assert made["async_chunk"] is True


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("async_chunk: true", "async_chunk: true\nasync_chunk: true", "found duplicate key"),
        ("async_chunk: true", "model_runner: v3", "model_runner must be one of"),
        ("stages:", "stage_args: []\nstages:", "removed `stage_args` schema"),
        ("  - stage_id: 1", "  - num_replicas: 1", "KeyError: 'stage_id'"),
        ("async_chunk: true", "duplex_session: {ttl: 3}", "unexpected keyword argument 'ttl'"),
        ("  - stage_id: 1", "  - stage_id: 1\n    async_chunk: false", "incompatible async_chunk settings"),
        ("pipeline: qwen3_tts", "pipeline: qwen3_tt", "KeyError: 'qwen3_tt'"),
        (
            "    max_num_seqs: 64",
            "    engine_extras: {use_v2_model_runner: true}",
            "must not be set via engine_extras",
        ),
        (
            "async_chunk: true",
            "model_runner: v2\nplatforms: {cuda: {model_runner: v3}}",
            "platform model_runner",
        ),
    ],
)
def test_the_release_stops_where_we_say_so(old: str, new: str, error: str) -> None:
    assert error in load_text(changed(BOTH, old, new))["error"]


def load_text(text: str) -> dict[str, Any]:
    with NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        return load(Path(file.name))
