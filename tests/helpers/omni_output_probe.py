"""Sends a simulated talker's steps through the released accumulation of outputs, and reads what comes out.

``python -m tests.helpers.omni_output_probe`` reads a job from standard input and prints JSON. Real, as
released: ``outputs.output_processor`` (the state of a request), ``outputs.mm_outputs``,
``multimodal_accumulation``, ``output_modality``, ``data_entry_keys``, and what the pipeline of Qwen3-TTS
registers with them; torch. Stand-ins: vLLM's base classes of the request state and of its outputs.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from tests.helpers.omni_rig import NEW, PLUGIN, ask_probe, peer
from tests.helpers.omni_server.engine import timeline, torch_tensor
from tests.helpers.omni_server.scene import Scene, reference_codes, true_frames
from tests.helpers.omni_server.stubs import Anything, RequestOutputKind, module, package

TEXT = "a text"


def ask(scene: Scene, variants: list[tuple[str, int]]) -> list[dict[str, Any]]:
    """Return for each variant the ``frames`` read, how many each reading gave, and the ``reference``.

    A variant is the stage's engine output type, and how many outputs come between two readings.
    """
    job = {"scene": scene.to_dict(), "variants": variants}
    answer: list[dict[str, Any]] = ask_probe("tests.helpers.omni_output_probe", job)
    return answer


class RequestState:
    """As much of a request's state as its subclass reads."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)


@dataclass
class CompletionOutput:
    """The fields of vLLM's."""

    index: int
    text: str
    token_ids: list[int]
    cumulative_logprob: float | None
    logprobs: Any
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    routed_experts: Any = None


class RequestOutput:
    """Keeps what it is made with."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)


def _install() -> None:
    folder = peer("vllm-omni", NEW) / "vllm_omni"
    for name in (
        "vllm_omni",
        "vllm_omni.config",
        "vllm_omni.model_executor",
        "vllm_omni.model_executor.models",
    ):
        package(name, [str(folder.joinpath(*name.split(".")[1:]))])
    qwen = "vllm_omni.model_executor.models.qwen3_tts"
    package(qwen, [str(folder / "model_executor" / "models" / "qwen3_tts")])
    package("vllm_omni.outputs", [str(folder / "outputs")])
    sys.modules["vllm_omni.outputs"].OmniRequestOutput = RequestOutput  # type: ignore[attr-defined]
    for name in ("vllm", "vllm.v1", "vllm.v1.engine", "vllm.v1.metrics"):
        package(name, [])
    module("vllm.logger", init_logger=logging.getLogger)
    module(
        "vllm.outputs",
        CompletionOutput=CompletionOutput,
        PoolingRequestOutput=object,
        RequestOutput=RequestOutput,
    )
    module("vllm.sampling_params", RequestOutputKind=RequestOutputKind)
    module("vllm.tokenizers", TokenizerLike=object)
    sys.modules["vllm.v1.engine"].__dict__.update(
        EngineCoreOutput=object, EngineCoreRequest=object, FinishReason=Enum("FinishReason", "STOP ABORT")
    )
    base = {"OutputProcessor": object, "OutputProcessorOutput": object, "RequestOutputCollector": object}
    module("vllm.v1.engine.output_processor", RequestState=RequestState, **base)
    module("vllm.v1.engine.parallel_sampling", ParentRequest=object)
    module("vllm.v1.metrics.stats", IterationStats=object, RequestStateStats=Anything)
    execution = Anything(LLM_AR="llm_ar", LLM_GENERATION="llm_generation")
    module(
        "vllm_omni.config.stage_config",
        PipelineConfig=Anything,
        StagePipelineConfig=Anything,
        StageExecutionType=execution,
    )
    # Registers how rows of codes are joined.
    importlib.import_module(f"{qwen}.pipeline")


def main() -> None:
    """Do the job."""
    job = json.load(sys.stdin)
    sys.path[:0] = [str(PLUGIN)]
    _install()
    scene = Scene.of(job["scene"])
    json.dump([_read(scene, *variant) for variant in job["variants"]], sys.stdout)


def _read(scene: Scene, output_type: str, read_every: int) -> dict[str, Any]:
    processor = importlib.import_module("vllm_omni.outputs.output_processor")
    rows = importlib.import_module("nearfield_omni.rows")
    spec = importlib.import_module("decoder.spec").CodecSpec()
    state = processor.OmniRequestState(
        request_id="1",
        external_req_id="1",
        request_index=0,
        output_kind=RequestOutputKind.DELTA,
        detokenizer=None,
        logprobs_processor=None,
        stream_interval=1,
        parent_req=None,
        lora_request=None,
        prompt=None,
        prompt_token_ids=[1],
        prompt_embeds=None,
        num_cached_tokens=0,
        num_cache_creation_tokens=0,
        stats=None,
    )
    reader = rows.RowReader(spec)
    reference = reference_codes(scene)
    steps = list(timeline(scene, true_frames(scene, TEXT)))
    taken, counts = [], []
    for number, step in enumerate(steps, 1):
        payload = {
            "codes.audio": torch_tensor(step.rows),
            "meta.codec_frame_valid": torch_tensor(step.valid),
            "codes.ref": torch_tensor(reference.astype(np.int64)),
        }
        state.add_multimodal_tensor(payload, output_type)
        is_last = number == len(steps)
        reason = processor.FinishReason.STOP if is_last else None
        output = state.make_request_output([1], None, reason, None)
        if number % read_every == 0 or is_last:
            taken.append(reader.take(output.outputs[0].multimodal_output, is_last=output.finished))
            counts.append(len(taken[-1]))
    last = reader.reference(output.outputs[0].multimodal_output)
    return {
        "frames": np.concatenate(taken).tolist(),
        "counts": counts,
        "reference": None if last is None else last.tolist(),
    }


if __name__ == "__main__":
    main()
