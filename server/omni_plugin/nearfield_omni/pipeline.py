"""The pipeline ``qwen3_tts_talker_only``: the talker alone, its rows the final output."""

from __future__ import annotations

import os
from enum import Enum
from typing import Any

from .installed import PIPELINE, SUBCLASS_NEEDS, Installed, Unfit

__all__ = ["PIPELINE", "Route", "pipeline", "register_pipeline", "wanted_route"]

ROUTE_VARIABLE = "NEARFIELD_OMNI_ROWS"
ARCHITECTURE = "NearfieldQwen3TTSTalkerForConditionalGeneration"
STOCK_ARCHITECTURE = "Qwen3TTSTalkerForConditionalGeneration"
STOP_TOKEN = 2150


class Route(Enum):
    """How the rows get out of a stage that was made to feed another one."""

    SUBCLASS = "subclass"
    """A subclass of the talker names the keys that clients get; version 1 of the CUDA runner honours it."""
    AUDIO = "audio"
    """The stage calls its output audio, and the runner ships everything it has; no model is touched."""


def wanted_route() -> Route | None:
    """Return what ``NEARFIELD_OMNI_ROWS`` asks for; ``None``: whatever works.

    Raises:
        Unfit: it asks for something unknown.

    """
    value = os.environ.get(ROUTE_VARIABLE, "").strip().lower()
    if value in ("", "auto"):
        return None
    try:
        return Route(value)
    except ValueError:
        raise Unfit(f"{ROUTE_VARIABLE} is {value!r}; known: auto, subclass, audio") from None


def register_pipeline(installed: Installed, wanted: Route | None) -> Route:
    """Register the pipeline, and the talker's subclass if the rows come that way; return the way.

    Raises:
        Unfit: the way that was asked for is not there.

    """
    missing = "" if wanted is Route.AUDIO else installed.missing(SUBCLASS_NEEDS)
    if missing and wanted is Route.SUBCLASS:
        raise Unfit(
            f"{ROUTE_VARIABLE} asks for a subclass, but vllm-omni {installed.version} has no {missing}"
        )
    route = Route.AUDIO if missing or wanted is Route.AUDIO else Route.SUBCLASS

    if route is Route.SUBCLASS:
        _register_architecture()
    # Later, because a worker can do without: it is configured by the API process.
    from vllm_omni.config import pipeline_registry, stage_config

    pipeline_registry.register_pipeline(pipeline(stage_config, route))
    return route


def pipeline(stage_config: Any, route: Route) -> Any:
    """Return the ``PipelineConfig``, made with the classes of ``vllm_omni.config.stage_config``."""
    is_audio = route is Route.AUDIO
    stage = stage_config.StagePipelineConfig(
        stage_id=0,
        # The adapter that checks requests and builds prompts is looked up by this name.
        model_stage="qwen3_tts",
        execution_type=stage_config.StageExecutionType.LLM_AR,
        input_sources=(),
        owns_tokenizer=True,
        final_output=True,
        final_output_type="latent",
        engine_output_type="audio" if is_audio else "latent",
        model_arch=STOCK_ARCHITECTURE if is_audio else ARCHITECTURE,
        sampling_constraints={"detokenize": False, "stop_token_ids": [STOP_TOKEN]},
        extras={"tts_args": {"max_instructions_length": 500}},
    )
    return stage_config.PipelineConfig(model_type=PIPELINE, model_arch=stage.model_arch, stages=(stage,))


def _register_architecture() -> None:
    """Register the subclass by its name, so that only the process that runs the model imports it.

    vLLM checks an architecture in its own registry, the model config of vLLM-Omni looks it up in another.
    """
    from vllm.model_executor.models import ModelRegistry
    from vllm_omni.model_executor.models import OmniModelRegistry

    where = f"{__package__}.talker:{ARCHITECTURE}"
    for registry in (ModelRegistry, OmniModelRegistry):
        registry.register_model(ARCHITECTURE, where)
