"""Asks the released speech service, in a process of its own, how it would call the engine for the plug-in.

``python -m tests.helpers.omni_service_probe`` prints JSON: the arguments with which the engine's ``generate``
was called by the stock method alone, and by the same method through the plug-in, and what the service says of
generations that ended. Real: ``serving_speech`` and
``entrypoints.utils`` as released. Stand-ins: vLLM, the adapter (it builds no prompt), the engine.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import AsyncGenerator
from copy import copy
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.helpers.omni_rig import NEW, PLUGIN, ask_probe, peer
from tests.helpers.omni_server.stubs import PACKAGES, RequestOutputKind, module, package


def ask() -> dict[str, Any]:
    """Return what the probe says."""
    answer: dict[str, Any] = ask_probe("tests.helpers.omni_service_probe")
    return answer


@dataclass
class SamplingParams:
    """As much of vLLM's as is touched on the way."""

    output_kind: RequestOutputKind = RequestOutputKind.CUMULATIVE
    seed: int | None = None
    max_tokens: int | None = 4096
    extra_args: dict[str, Any] | None = None
    skip_clone: bool = False

    def clone(self) -> SamplingParams:
        """Return a copy."""
        return copy(self)


class Engine:
    """Notes how it is called."""

    errored = False
    default_sampling_params_list = (SamplingParams(),)
    stage_configs = (object(),)

    def __init__(self) -> None:
        self.called: dict[str, Any] = {}

    def generate(self, **how: Any) -> AsyncGenerator[Any, None]:
        """Note it."""
        self.called = how
        return self._nothing()

    async def _nothing(self) -> AsyncGenerator[Any, None]:
        return
        yield


class Adapter:
    """Takes every request."""

    def validate(self, request: Any) -> None:
        """Find nothing wrong with it."""

    async def build(self, request: Any, params: list[Any], has_inline_ref_audio: bool) -> Any:
        """Return something in the shape of a prepared request."""
        return SimpleNamespace(
            prompt={"text": request.input},
            tts_params={"task_type": ["CustomVoice"]},
            model_type="CustomVoice",
            warmup_artifact_key=None,
            output_policy=None,
        )

    def apply_sampling_overrides(self, params: list[Any], *rest: Any) -> list[Any]:
        """As the adapter of Qwen3-TTS does: on copies."""
        return [copy(one) for one in params]

    def validate_generation(
        self, parameters: dict[str, Any], *, stage0_finish_reason: str | None, output_tokens: int
    ) -> None:
        """As the adapter of Qwen3-TTS does for a cloned voice."""
        if stage0_finish_reason == "length":
            raise RuntimeError(f"{parameters['task_type'][0]} has used up {output_tokens} tokens")


class _Loose(ModuleType):
    """A module in which every name is a class that nobody uses."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def _install() -> None:
    import logging

    folder = peer("vllm-omni", NEW) / "vllm_omni"
    for name in PACKAGES:
        package(name, [str(folder.joinpath(*name.split(".")[1:]))])
    for name in LOOSE:
        for depth in range(1, name.count(".") + 1):
            parent = ".".join(name.split(".")[:depth])
            if parent not in sys.modules:
                package(parent, [])
        loose = _Loose(name)
        sys.modules[name] = loose
        if "." in name:
            setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], loose)
    module("vllm.logger", init_logger=logging.getLogger)
    module("vllm.utils", random_uuid=lambda: "0")
    module("vllm.sampling_params", RequestOutputKind=RequestOutputKind, SamplingParams=SamplingParams)


LOOSE = (
    "soundfile",
    "torch",
    "vllm.entrypoints.generate.base.protocol",
    "vllm.entrypoints.generate.base.serving",
    "vllm.entrypoints.launchers.launcher",
    "vllm.entrypoints.serve.engine.protocol",
    "vllm.multimodal.media",
    "vllm.v1.engine.exceptions",
    "vllm_omni.config.stage_config",
    "vllm_omni.config.config_factory",
    "vllm_omni.entrypoints.stage_utils",
    "vllm_omni.entrypoints.openai.audio_utils_mixin",
    "vllm_omni.entrypoints.openai.tts_adapters",
    "vllm_omni.inputs.data",
    "vllm_omni.metrics.modality",
    "vllm_omni.outputs",
    "vllm_omni.utils.speaker_cache",
)
"""Modules of which only names are imported."""


def _service(module: Any) -> tuple[Any, Engine]:
    """Return a service as it stands after its start, without starting one."""
    service = object.__new__(module.OmniOpenAIServingSpeech)
    engine = Engine()
    vars(service).update(
        engine_client=engine,
        model_config=SimpleNamespace(async_chunk=False),
        _tts_model_type="qwen3_tts",
        _is_tts=True,
        _speech_output_policies={},
        _get_tts_adapter=Adapter,
        _validate_speech_sample_rate=lambda request: None,
        _track_ref_audio_artifact_warmup=lambda *about, **more: vars(service).update(tracked=about[0]),
    )
    return service, engine


async def _probe() -> dict[str, Any]:
    sys.path[:0] = [str(PLUGIN)]
    _install()
    speech = importlib.import_module("vllm_omni.entrypoints.openai.serving_speech")
    audio = importlib.import_module("vllm_omni.entrypoints.openai.protocol.audio")
    wire = importlib.import_module("decoder.wire.messages")
    plugin = importlib.import_module("nearfield_omni.service")

    service, engine = _service(speech)
    request = audio.OpenAICreateSpeechRequest(input="Hello.", stream=True, response_format="pcm", seed=7)
    await service._prepare_speech_generation(request, request_id="stock", arrival_time=1.0)
    stock = _told(engine, service)
    service, engine = _service(speech)
    config = wire.SessionConfig(seed=7, voice="vivian", speaker_embedding=None, language="English")
    generation = await plugin.Service(service).begin("Hello.", config)
    ours = {**_told(engine, service), "same_id": generation.request_id == engine.called["request_id"]}
    return {
        "stock": stock,
        "ours": ours,
        "shared": engine.default_sampling_params_list[0].output_kind.name,
        "faults": [str(generation.fault(_last_output(reason))) for reason in ("stop", "length")],
    }


def _last_output(reason: str) -> Any:
    completion = SimpleNamespace(finish_reason=reason, cumulative_token_ids=[1] * 5)
    return SimpleNamespace(outputs=[completion])


def _told(engine: Engine, service: Any) -> dict[str, Any]:
    (params,) = engine.called["sampling_params_list"]
    return {
        "output_kind": params.output_kind.name,
        "seed": params.seed,
        "extra_args": params.extra_args,
        "prompt": engine.called["prompt"],
        "output_modalities": engine.called["output_modalities"],
        "arrival_time": engine.called["arrival_time"] is not None,
        "tracked": service.tracked == engine.called["request_id"],
        "policies": len(service._speech_output_policies),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_probe())))
