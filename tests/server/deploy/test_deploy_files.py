"""Our deploy files and the release's, through our checker and through the release's own loader."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from server.deploy.check import check
from server.deploy.findings import Severity
from server.deploy.reading import read_file
from server.deploy.tree import Value, overlay
from tests.helpers.deploy_loader import load, shipped_files

FOLDER = Path(__file__).parents[3] / "server" / "deploy"
TALKER_ONLY = FOLDER / "qwen3_tts_talker_only.yaml"
TWO_STAGE = FOLDER / "qwen3_tts_two_stage.yaml"
ALIGNER = "qwen3_tts_forced_aligner.yaml"


def written(file: Path) -> Any:
    return yaml.safe_load(file.read_text("utf-8"))


@pytest.mark.parametrize("file", [TALKER_ONLY, TWO_STAGE], ids=lambda file: file.stem)
def test_the_checker_has_nothing_against_our_files(file: Path) -> None:
    report = check(file)
    assert [finding for finding in report.findings if finding.severity is not Severity.NOTE] == []
    assert report.exit_code == 0


def test_the_talker_only_file_says_that_it_needs_the_plug_in() -> None:
    (note,) = check(TALKER_ONLY).findings
    assert "server/omni_plugin" in note.advice


@pytest.mark.parametrize("route", ["subclass", "audio"])
def test_the_release_makes_of_the_talker_only_file_what_it_says(route: str) -> None:
    says = written(TALKER_ONLY)
    made = load(TALKER_ONLY, route=route)
    assert "error" not in made, made
    (stage,) = made["stages"]
    (asked,) = says["stages"]
    assert made["raw"] == says
    assert (made["model_runner"], made["async_chunk"]) == ("v1", False)
    assert stage["runtime"]["devices"] == asked["devices"] == "0"
    sampling = stage["extras"]["default_sampling_params"]
    # What the pipeline adds, and nothing else: its stop token, and that codes are no text.
    assert sampling == {**asked["default_sampling_params"], "detokenize": False, "stop_token_ids": [2150]}
    engine = {key: value for key, value in asked.items() if key in stage["engine"]}
    apart = {"stage_id", "devices", "default_sampling_params"}
    assert engine.keys() == asked.keys() - apart
    assert engine.items() <= stage["engine"].items()
    assert stage["engine"]["trust_remote_code"] is True
    assert stage["engine"]["enable_prefix_caching"] is False
    assert stage["engine"]["use_v2_model_runner"] is False
    assert stage["final_output"] is True


def test_a_stock_release_does_not_know_the_pipeline() -> None:
    """And says so, rather than decoding without being asked to."""
    assert load(TALKER_ONLY)["error"] == "KeyError: 'qwen3_tts_talker_only'"


def test_the_release_makes_of_the_two_stage_file_what_it_says() -> None:
    says = written(TWO_STAGE)
    made = load(TWO_STAGE)
    assert made["raw"] == says
    assert (made["model_runner"], made["async_chunk"]) == ("v1", True)
    for stage, asked in zip(made["stages"], says["stages"], strict=True):
        apart = {"stage_id", "devices", "default_sampling_params", "input_connectors", "output_connectors"}
        engine = {key: value for key, value in asked.items() if key not in apart}
        assert engine.items() <= stage["engine"].items()
        assert asked["default_sampling_params"].items() <= stage["extras"]["default_sampling_params"].items()
        # Both take part in handing chunks over, or the first sound waits for the last frame.
        assert stage["engine"]["async_chunk"] is True
    talker, decoder = made["stages"]
    assert talker["engine"]["custom_process_next_stage_input_func"].endswith("talker2code2wav_async_chunk")
    assert (talker["final_output"], decoder["final_output_type"]) == (False, "audio")
    assert talker["extras"]["output_connectors"] == {"to_stage_1": "frames"}
    assert decoder["extras"]["input_connectors"] == {"from_stage_0": "frames"}


def test_a_seed_means_the_same_to_the_talker_of_both_files() -> None:
    """What `nearfield parity` compares: anything that changes which tokens are sampled has to be equal."""
    alone, first = written(TALKER_ONLY)["stages"][0], written(TWO_STAGE)["stages"][0]
    for key in (
        "default_sampling_params",
        "subtalker_sampling_params",
        "silence_ban_frames",
        "max_model_len",
    ):
        assert alone[key] == first[key]


def test_other_hardware_gets_its_own_settings() -> None:
    npu = load(TALKER_ONLY, platform="npu", route="audio")["stages"][0]["engine"]
    assert npu["compilation_config"] == {"cudagraph_mode": "PIECEWISE"}
    assert "compilation_config" not in load(TALKER_ONLY, route="audio")["stages"][0]["engine"]
    rocm = load(TWO_STAGE, platform="rocm")["stages"][1]["engine"]
    assert rocm["enforce_eager"] is True


def test_the_release_has_files_to_compare_with() -> None:
    assert {"qwen3_tts.yaml", "qwen3_tts_high_concurrency.yaml", ALIGNER} <= {f.name for f in shipped_files()}


def test_what_the_release_ships_for_qwen3_tts_is_accepted() -> None:
    for file in shipped_files():
        report = check(file)
        wrong = [finding for finding in report.findings if finding.severity is not Severity.NOTE]
        if file.name == ALIGNER:
            # Another kind of file, and it is told which option it is for.
            assert report.exit_code == 1
            assert any("--forced-aligner-config" in finding.what for finding in wrong)
        else:
            assert wrong == [], file


def test_files_are_laid_over_each_other_as_the_release_does_it() -> None:
    """Chains of up to three, as they were released."""
    chained = [file for file in shipped_files() if "base_config" in written(file)]
    assert len(chained) >= 3
    for file in chained:
        assert merged(file).plain() == raw(file), file


def test_odd_overlays_are_laid_over_each_other_likewise(tmp_path: Path) -> None:
    """Every join: connectors at any depth, stages by their number, five mappings of a stage, platforms."""
    base = """\
pipeline: qwen3_tts
connectors: {a: {name: SharedMemoryConnector, extra: {x: 1, deep: {u: 1}}}, b: {name: SharedMemoryConnector}}
stages:
  - {stage_id: 1, env: {A: 1}, engine_args: {max_num_seqs: 8}}
  - {stage_id: 0, default_sampling_params: {min_tokens: 2, seed: 1}, subtalker_sampling_params: {top_k: 5}}
platforms:
  npu: {model_runner: v1, stages: [{stage_id: 0, enforce_eager: true}]}
  rocm: {stages: [{stage_id: 1, enforce_eager: true}]}
"""
    over = """\
base_config: base.yaml
async_chunk: false
connectors: {a: {extra: {x: 2, deep: {v: 1}}}, c: {name: NixlConnector}}
stages:
  - {stage_id: 0, default_sampling_params: {seed: 2}, devices: "1"}
  - {stage_id: 2, devices: "2"}
  - {stage_id: 1, env: {B: 2}, engine_args: {max_model_len: 9}}
platforms:
  npu: {stages: [{stage_id: 0, max_num_seqs: 4}, {stage_id: 1, devices: "3"}]}
  xpu: {model_runner: v1}
"""
    (tmp_path / "base.yaml").write_text(base)
    (tmp_path / "over.yaml").write_text(over)
    assert merged(tmp_path / "over.yaml").plain() == raw(tmp_path / "over.yaml")


def test_a_copy_elsewhere_is_as_good(tmp_path: Path) -> None:
    shutil.copy(TALKER_ONLY, tmp_path / "mine.yaml")
    assert check(tmp_path / "mine.yaml").exit_code == 0


def raw(file: Path) -> dict[str, Any]:
    """Return what the release makes of a file and its bases.

    It adds an empty list of stages to a platform that has none, which says the same.
    """
    made: dict[str, Any] = copy.deepcopy(load(file)["raw"])
    for platform in made["platforms"].values():
        if platform["stages"] == []:
            del platform["stages"]
    return made


def merged(file: Path) -> Value:
    root = read_file(file).root
    base = root.get("base_config")
    return root if base is None else overlay(merged(file.parent / str(base.data)), root)
