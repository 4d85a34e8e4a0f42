"""Loads deploy files through vLLM-Omni's own released ``config/stage_config.py``, in a process of its own.

``python -m tests.helpers.deploy_loader`` reads one JSON job from standard input: ``path`` (what to put on the
path of modules), ``file``, ``platform``, ``route`` (of our plug-in's pipeline; empty: a stock server). It
answers with ``raw`` (the file laid over what it is based on), ``pipeline``, and ``stages`` (engine arguments,
sampling, wiring of each), or with ``error``. The loader, OmegaConf below it and the pipeline of Qwen3-TTS are
the released ones. Stand-ins: vLLM's scheduler classes and the platform, which only lend their names.

A job with ``settings`` instead asks the released ``config/omni_config.py``, through which a server really
starts, whether a talker's stage may have them. There, vLLM's own settings are empty stand-ins, too.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import subprocess
import sys
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from tests.helpers.omni_rig import NEW, PLUGIN, ROOT, peer

PACKAGES = (
    "vllm_omni",
    "vllm_omni.config",
    "vllm_omni.core",
    "vllm_omni.core.sched",
    "vllm_omni.model_executor",
    "vllm_omni.model_executor.models",
    "vllm_omni.model_executor.models.qwen3_tts",
    "vllm_omni.outputs",
)
SHIPPED = "vllm_omni/deploy"


def shipped_files() -> list[Path]:
    """Return the deploy files of Qwen3-TTS in the release."""
    return sorted((peer("vllm-omni", NEW) / SHIPPED).glob("qwen3_tts*.yaml"))


@cache
def load(file: Path, *, platform: str = "cuda", route: str = "") -> dict[str, Any]:
    """Return what the release makes of a file; see the module."""
    return _do({"file": str(file), "platform": platform, "route": route})


def refused(settings: dict[str, Any]) -> str:
    """Return what ``config/omni_config.py`` has against engine settings of a talker's stage, or nothing."""
    return str(_do({"settings": settings, "platform": "cuda"})["refused"])


def _do(job: dict[str, Any]) -> dict[str, Any]:
    job["path"] = [str(peer("vllm-omni", NEW)), str(peer("omegaconf", "2.3.0")), str(PLUGIN)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.deploy_loader"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main() -> None:
    """Do one job."""
    job = json.load(sys.stdin)
    sys.path[:0] = job["path"]
    _install(job["platform"])
    try:
        answer = _refused(job["settings"]) if "settings" in job else _load(job)
    except Exception as fault:  # told to the test, which expects it or not
        answer = {"error": f"{type(fault).__name__}: {fault}"}
    json.dump(answer, sys.stdout)


def _install(platform: str) -> None:
    from tests.helpers.omni_server.stubs import Anything, module, package

    spec = importlib.util.find_spec("vllm_omni")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    for name in PACKAGES:
        package(name, [str(root.joinpath(*name.split(".")[1:]))])
    for name in ("vllm", "vllm.v1", "vllm.v1.core", "vllm.v1.core.sched"):
        package(name, [])
    module("transformers", PretrainedConfig=type("PretrainedConfig", (), {}))
    module("vllm.logger", init_logger=logging.getLogger)
    module("vllm.v1.core.sched.scheduler", Scheduler=type("Scheduler", (), {}))
    module("vllm_omni.config.endpoint_policy", EndpointRestriction=object)
    scheduler = {name: type(name, (), {}) for name in ("OmniARAsyncScheduler", "OmniARScheduler")}
    module("vllm_omni.core.sched.omni_ar_scheduler", **scheduler)
    generation = type("OmniGenerationScheduler", (), {})
    module("vllm_omni.core.sched.omni_generation_scheduler", OmniGenerationScheduler=generation)
    module("vllm_omni.platforms", current_omni_platform=Anything(device_name=platform))


def _load(job: dict[str, Any]) -> dict[str, Any]:
    loader = importlib.import_module("vllm_omni.config.stage_config")
    stock = importlib.import_module("vllm_omni.model_executor.models.qwen3_tts.pipeline").QWEN3_TTS_PIPELINE
    pipelines = {"qwen3_tts": stock}
    if job["route"]:
        ours = importlib.import_module("nearfield_omni.pipeline")
        pipelines[ours.PIPELINE] = ours.pipeline(loader, ours.Route(job["route"]))
    deploy = loader.load_deploy_config(job["file"])
    merged = loader.merge_pipeline_deploy(pipelines[deploy.pipeline or "qwen3_tts"], deploy)
    return {
        "raw": loader.resolve_deploy_yaml(job["file"]),
        "pipeline": deploy.pipeline,
        "model_runner": deploy.model_runner,
        "async_chunk": deploy.async_chunk,
        "stages": [
            {
                "stage_id": stage.stage_id,
                "engine": stage.yaml_engine_args,
                "runtime": stage.yaml_runtime,
                "extras": stage.yaml_extras,
                "final_output": stage.final_output,
                "final_output_type": stage.final_output_type,
            }
            for stage in merged
        ],
    }


def _refused(settings: dict[str, Any]) -> dict[str, Any]:
    from pydantic import ConfigDict
    from pydantic.dataclasses import dataclass

    from tests.helpers.omni_server.stubs import module, package

    def config(cls: Any = None, *, config: Any = None, **kwargs: Any) -> Any:
        settings = config or ConfigDict(arbitrary_types_allowed=True)
        make = lambda found: dataclass(found, config=settings, **kwargs)  # noqa: E731
        return make if cls is None else make(cls)

    def empty(name: str, **fields: Any) -> Any:
        return config(type(name, (), {"__annotations__": dict.fromkeys(fields, Any), **fields}), kw_only=True)

    names = ("Cache", "Compilation", "KVTransfer", "Load", "Profiler", "Scheduler")
    classes = {f"{name}Config": empty(f"{name}Config") for name in names}
    # Read while the class body of a subclass runs.
    classes["ParallelConfig"] = empty("ParallelConfig", data_parallel_size=1, worker_cls="auto")
    package("vllm.config", [])
    vars(sys.modules["vllm.config"]).update({**classes, "KVTransferConfig": classes["KVTransferConfig"]})
    module("vllm.config.utils", config=config)
    for name in ("vllm.engine", "vllm.model_executor", "vllm.model_executor.layers"):
        package(name, [])
    package("vllm.model_executor.layers.quantization", [])
    module("vllm.engine.arg_utils", EngineArgs=empty("EngineArgs"))
    base = "vllm.model_executor.layers.quantization.base_config"
    module(base, QuantizationConfig=type("QuantizationConfig", (), {}))
    module("vllm.pooling_params", PoolingParams=type("PoolingParams", (), {}))
    package("vllm_omni.diffusion", [])
    package("vllm_omni.diffusion.diffusion_kv", [])
    mode = Enum("DiffusionKVCacheMode", {"DENSE_LEGACY": "dense_legacy"})
    module("vllm_omni.diffusion.diffusion_kv.config", DiffusionKVCacheMode=mode)
    released = importlib.import_module("vllm_omni.config.omni_config")
    kinds = importlib.import_module("vllm_omni.config.stage_config").StageExecutionType
    try:
        released._validate_stage_engine_override_ownership(0, kinds.LLM_AR, settings)
    except ValueError as fault:
        return {"refused": str(fault)}
    return {"refused": ""}


if __name__ == "__main__":
    main()
