"""The pipeline under the release's own loader, and the engine as the release's own service would call it."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from server.omni_plugin.nearfield_omni.installed import Installed
from server.omni_plugin.nearfield_omni.pipeline import Route, register_pipeline
from tests.helpers.deploy_loader import load
from tests.helpers.omni_rig import NEW, ROOT, peer
from tests.helpers.omni_server.stubs import ModelRegistry
from tests.helpers.omni_service_probe import ask

FILE = ROOT / "server" / "deploy" / "qwen3_tts_talker_only.yaml"
ARCHITECTURES = {
    Route.SUBCLASS: "NearfieldQwen3TTSTalkerForConditionalGeneration",
    Route.AUDIO: "Qwen3TTSTalkerForConditionalGeneration",
}


@pytest.mark.parametrize("route", list(Route))
def test_the_deploy_file_and_the_pipeline_become_one_final_stage(route: Route) -> None:
    made = load(FILE, route=route.value)
    assert made.get("error") is None
    (stage,) = made["stages"]
    assert (stage["stage_id"], stage["final_output"], stage["final_output_type"]) == (0, True, "latent")
    engine = stage["engine"]
    assert engine["model_arch"] == ARCHITECTURES[route]
    assert engine["engine_output_type"] == ("audio" if route is Route.AUDIO else "latent")
    assert engine["async_chunk"] is False
    assert stage["extras"]["tts_args"] == {"max_instructions_length": 500}
    sampling = stage["extras"]["default_sampling_params"]
    assert sampling["stop_token_ids"] == [2150]
    assert sampling["detokenize"] is False
    assert sampling["min_tokens"] >= 2


def test_the_released_service_asks_for_the_end_only_and_through_the_plug_in_for_every_step() -> None:
    told = ask()
    assert told["stock"]["output_kind"] == "FINAL_ONLY"
    assert told["ours"]["output_kind"] == "DELTA"
    assert told["stock"]["output_modalities"] == ["audio"]
    assert told["ours"]["output_modalities"] is None
    same = ("seed", "extra_args", "prompt", "arrival_time", "tracked", "policies")
    assert {name: told["ours"][name] for name in same} == {name: told["stock"][name] for name in same}
    assert told["ours"]["same_id"] is True
    assert told["shared"] == "CUMULATIVE"


def test_the_released_service_says_what_is_incomplete() -> None:
    assert ask()["faults"] == ["None", "CustomVoice has used up 5 tokens"]


def test_a_process_that_cannot_load_the_pipelines_can_load_the_talker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """vLLM looks into model classes in small processes, and only the API process needs the pipeline."""
    registries = []
    for name, registry in (
        ("vllm.model_executor.models", "ModelRegistry"),
        ("vllm_omni.model_executor.models", "OmniModelRegistry"),
    ):
        registries.append(ModelRegistry())
        stand_in = ModuleType(name)
        setattr(stand_in, registry, registries[-1])
        monkeypatch.setitem(sys.modules, name, stand_in)
        for depth in (1, 2):
            parent = name.rsplit(".", depth)[0]
            monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
    with pytest.raises(ImportError):
        register_pipeline(Installed(peer("vllm-omni", NEW) / "vllm_omni", NEW), None)
    assert [list(registry.models) for registry in registries] == [[ARCHITECTURES[Route.SUBCLASS]]] * 2
