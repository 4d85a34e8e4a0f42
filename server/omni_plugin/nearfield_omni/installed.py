"""Reads the installed vLLM-Omni, without importing it: has it everything that the plug-in leans on.

The sources are parsed, not run, so that the answer is the same in every process and loads no torch.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

RELEASE = "0.30"
"""The only line of releases whose private names were read and tested."""
PIPELINE = "qwen3_tts_talker_only"


class Unfit(Exception):
    """The plug-in has to leave this server as it is; the text says why."""

    def __init__(self, why: str, *, is_served_already: bool = False) -> None:
        super().__init__(why)
        self.is_served_already = is_served_already


@dataclass(frozen=True)
class Need:
    """A function, class or name that must be where it was, with at least these parameters."""

    file: str
    name: str
    parameters: tuple[str, ...] = ()


_HANDLER = "entrypoints/openai/serving_speech_stream.py"
_SERVICE = "entrypoints/openai/serving_speech.py"
_TALKER = "model_executor/models/qwen3_tts/qwen3_tts_talker.py"
_RUNNER = "worker/gpu_ar_model_runner.py"

NEEDS = (
    Need(
        _HANDLER, "OmniStreamingSpeechHandler.__init__", ("speech_service", "idle_timeout", "config_timeout")
    ),
    Need(_HANDLER, "OmniStreamingSpeechHandler._speech_service"),
    Need(_HANDLER, "OmniStreamingSpeechHandler._idle_timeout"),
    Need(_HANDLER, "OmniStreamingSpeechHandler._config_timeout"),
    Need(_HANDLER, "OmniStreamingSpeechHandler.handle_session", ("websocket",)),
    Need(_HANDLER, "OmniStreamingSpeechHandler._parse_message", ("websocket", "raw")),
    Need(_HANDLER, "OmniStreamingSpeechHandler._build_config", ("websocket", "msg")),
    Need(
        _HANDLER,
        "OmniStreamingSpeechHandler._generate_and_send",
        ("websocket", "config", "sentence_text", "utterance_index", "sentence_index"),
    ),
    Need(
        _SERVICE,
        "OmniOpenAIServingSpeech._prepare_speech_generation",
        ("request", "request_id", "arrival_time"),
    ),
    Need(_SERVICE, "OmniOpenAIServingSpeech._mark_ref_audio_artifact_ready_for_request", ("request_id",)),
    Need(_SERVICE, "OmniOpenAIServingSpeech._discard_ref_audio_artifact_warmup", ("request_id",)),
    Need(_SERVICE, "OmniOpenAIServingSpeech._validate_tts_generation", ("tts_params", "usage_acc")),
    Need(_SERVICE, "OmniOpenAIServingSpeech._tts_model_type"),
    Need(_SERVICE, "OmniOpenAIServingSpeech.model_name"),
    Need("entrypoints/utils.py", "coerce_param_message_types", ("params", "is_streaming")),
    Need("entrypoints/openai/protocol/audio.py", "OpenAICreateSpeechRequest"),
    Need("entrypoints/openai/protocol/audio.py", "StreamingSpeechSessionConfig.split_granularity"),
    Need("entrypoints/openai/speech_usage.py", "SpeechOutputTokenCounter.output_tokens"),
    Need("entrypoints/openai/speech_usage.py", "SpeechOutputTokenCounter.stage0_finish_reason"),
    Need("entrypoints/openai/speech_text_splitter.py", "SpeechTextSplitter.feed", ("text",)),
    Need("entrypoints/openai/speech_text_splitter.py", "SpeechTextSplitter.flush"),
    Need("entrypoints/omni_base.py", "OmniBase.stage_configs"),
    Need("entrypoints/async_omni.py", "AsyncOmni.abort", ("request_id",)),
    Need("entrypoints/async_omni.py", "AsyncOmni.generate", ("prompt", "request_id", "sampling_params_list")),
    Need("config/stage_config.py", "PipelineConfig"),
    Need("config/stage_config.py", "StagePipelineConfig"),
    Need("config/stage_config.py", "StageExecutionType"),
    Need("config/pipeline_registry.py", "register_pipeline", ("pipeline",)),
    Need("config/pipeline_registry.py", "OMNI_PIPELINES"),
)
"""What is patched, called or overridden, whichever way the rows take."""

SUBCLASS_NEEDS = (
    Need(_TALKER, "Qwen3TTSTalkerForConditionalGeneration"),
    Need("model_executor/models/registry.py", "OmniModelRegistry"),
    Need(_RUNNER, "GPUARModelRunner._client_multimodal_output_keys"),
)
"""What it takes to have the rows delivered by a subclass of the talker."""


def check() -> Installed:
    """Return the installed vLLM-Omni.

    Raises:
        Unfit: it is absent or of another release, has the mode itself, or lacks a name.

    """
    try:
        version = importlib.metadata.version("vllm-omni")
        spec = importlib.util.find_spec("vllm_omni")
    except importlib.metadata.PackageNotFoundError:
        raise Unfit("vllm-omni is not installed") from None
    if version.split(".")[:2] != RELEASE.split("."):
        raise Unfit(f"vllm-omni {version} is installed, this release of the plug-in is for {RELEASE}.x")
    if spec is None or not spec.submodule_search_locations:
        raise Unfit("the package vllm_omni cannot be found")
    installed = Installed(Path(next(iter(spec.submodule_search_locations))), version)
    installed.refuse_if_it_has_the_mode()
    if missing := installed.missing(NEEDS):
        raise Unfit(f"vllm-omni {version} has no {missing} any more")
    return installed


@dataclass(frozen=True)
class Installed:
    """The files of one release."""

    folder: Path
    version: str

    def missing(self, needs: tuple[Need, ...]) -> str:
        """Return the first of ``needs`` that is not met, with its file; empty if all are."""
        for need in needs:
            found = self._definitions(need.file).get(need.name)
            if found is None:
                return f"{need.name} in vllm_omni/{need.file}"
            for parameter in need.parameters:
                if parameter not in found:
                    return f"parameter {parameter!r} of {need.name} in vllm_omni/{need.file}"
        return ""

    def refuse_if_it_has_the_mode(self) -> None:
        """Raise :class:`Unfit` if this release sends codec tokens itself, or knows our pipeline."""
        if self._exists("entrypoints/openai/codec_stream"):
            raise Unfit("this vllm-omni has a module codec_stream of its own", is_served_already=True)
        fields = self._definitions("entrypoints/openai/protocol/audio.py")
        if "StreamingSpeechSessionConfig.output_mode" in fields:
            raise Unfit("this vllm-omni knows output_mode itself", is_served_already=True)
        if PIPELINE in self._strings("config/pipeline_registry.py"):
            raise Unfit(f"this vllm-omni has the pipeline {PIPELINE} itself", is_served_already=True)

    def _exists(self, module: str) -> bool:
        return (self.folder / f"{module}.py").exists() or (self.folder / module).is_dir()

    def _definitions(self, file: str) -> dict[str, frozenset[str]]:
        """Return the names that ``file`` defines, each with its parameters.

        Of classes also "Class.name", for their methods and for what their constructor sets.
        """
        tree = self._trees.get(file)
        if tree is None:
            return {}
        found: dict[str, frozenset[str]] = {}
        for node in tree.body:
            found.update(_defined(node, ""))
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    found.update(_defined(inner, f"{node.name}."))
                    if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                        found.update((f"{node.name}.{name}", frozenset()) for name in _set_by(inner))
        return found

    def _strings(self, file: str) -> set[str]:
        tree = self._trees.get(file)
        nodes = ast.walk(tree) if tree is not None else iter(())
        return {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}

    @cached_property
    def _trees(self) -> _Trees:
        return _Trees(self.folder)


class _Trees:
    """Syntax trees of files, each read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, ast.Module | None] = {}

    def get(self, file: str) -> ast.Module | None:
        """Return the tree of ``file``, ``None`` if there is no such file."""
        if file not in self._known:
            path = self._folder / file
            self._known[file] = ast.parse(path.read_bytes()) if path.is_file() else None
        return self._known[file]


def _set_by(constructor: ast.FunctionDef) -> set[str]:
    """Return the names of the attributes that a constructor sets."""
    return {
        node.attr
        for node in ast.walk(constructor)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }


def _defined(node: ast.stmt, prefix: str) -> dict[str, frozenset[str]]:
    """Return what one statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        a = node.args
        return {prefix + node.name: frozenset(p.arg for p in [*a.posonlyargs, *a.args, *a.kwonlyargs])}
    if isinstance(node, ast.ClassDef):
        return {prefix + node.name: frozenset()}
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return {prefix + target.id: frozenset() for target in targets if isinstance(target, ast.Name)}
