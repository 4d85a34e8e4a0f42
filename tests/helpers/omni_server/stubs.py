"""Stand-ins for what the released handlers import but do not need: vLLM itself, and packages whose
``__init__`` would load an engine.

The files of ``vllm_omni`` that matter (handler, session config, text splitter) are the released ones.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
from enum import Enum
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = (
    "vllm_omni",
    "vllm_omni.config",
    "vllm_omni.entrypoints",
    "vllm_omni.entrypoints.openai",
    "vllm_omni.entrypoints.openai.protocol",
    "vllm_omni.utils",
)

SPEECH = "vllm_omni.entrypoints.openai.serving_speech"


def install(speech_module: ModuleType) -> None:
    """Make ``import vllm_omni.entrypoints.openai.serving_speech_stream`` work; the peer is on ``sys.path``.

    ``speech_module`` becomes ``serving_speech``: it has ``OmniOpenAIServingSpeech``.
    """
    spec = importlib.util.find_spec("vllm_omni")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    for name in PACKAGES:
        folder = root.joinpath(*name.split(".")[1:])
        package(name, [str(folder)], str(folder / "__init__.py"))
    package("vllm", [])
    module("vllm.logger", init_logger=logging.getLogger)
    module("vllm_omni.utils.forced_aligner", extract_word_timestamps=None)
    sys.modules[SPEECH] = speech_module


def package(name: str, folders: list[str], origin: str | None = None) -> ModuleType:
    """Put an empty package in place of the real one; its modules are found in ``folders``."""
    made = module(name, __path__=folders)
    made.__spec__ = ModuleSpec(name, None, origin=origin, is_package=True)
    made.__spec__.submodule_search_locations = folders
    return made


def module(name: str, **attributes: Any) -> ModuleType:
    """Put a module with these attributes in place of the real one."""
    made = ModuleType(name)
    vars(made).update(attributes)
    sys.modules[name] = made
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, made)
    return made


class RequestOutputKind(Enum):
    """As in vLLM."""

    CUMULATIVE = 0
    DELTA = 1
    FINAL_ONLY = 2


class Anything:
    """Keeps what it is made with, as attributes."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)


class ModelRegistry:
    """Notes the model classes that are registered."""

    def __init__(self) -> None:
        self.models: dict[str, str] = {}

    def register_model(self, arch: str, model: str) -> None:
        """Note ``model``, a "module:class", as ``arch``."""
        self.models[arch] = model


def registries() -> None:
    """Put stand-ins in place of what a plug-in fills: the registries of pipelines and of model classes."""
    pipelines: dict[str, Any] = {"qwen3_tts": None}

    def register_pipeline(pipeline: Any, model_type: str | None = None) -> None:
        pipelines[model_type or pipeline.model_type] = pipeline

    execution = Anything(LLM_AR="llm_ar")
    module(
        "vllm_omni.config.stage_config",
        PipelineConfig=Anything,
        StagePipelineConfig=Anything,
        StageExecutionType=execution,
    )
    module(
        "vllm_omni.config.pipeline_registry", OMNI_PIPELINES=pipelines, register_pipeline=register_pipeline
    )
    module(
        "vllm_omni.entrypoints.utils",
        coerce_param_message_types=sys.modules[SPEECH].coerce_param_message_types,
    )
    package("vllm.model_executor", [])
    module("vllm.model_executor.models", ModelRegistry=ModelRegistry())
    package("vllm_omni.model_executor", [])
    module("vllm_omni.model_executor.models", OmniModelRegistry=ModelRegistry())
