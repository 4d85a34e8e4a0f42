"""What the released handlers call of the speech service, over the simulated engine.

This module stands where ``vllm_omni.entrypoints.openai.serving_speech`` would be. Requests are checked as the
adapter of Qwen3-TTS does, with its texts; prompts are plain dictionaries.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from copy import copy
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np

from tests.helpers.omni_server.engine import TWO_STAGE, FakeEngine, SamplingParams
from tests.helpers.omni_server.scene import VOICES

LANGUAGES = (
    "Auto", "Chinese", "English", "French", "German", "Italian", "Japanese", "Korean", "Portuguese",
    "Russian", "Spanish",
)  # fmt: skip

BROKEN_MODEL = "a model whose check fails"


def coerce_param_message_types(params: list[SamplingParams], is_streaming: bool) -> list[SamplingParams]:
    """Ask for every step, or for the end only."""
    coerced = []
    for one in params:
        kept = copy(one)
        kept.output_kind = "DELTA" if is_streaming else "FINAL_ONLY"
        coerced.append(kept)
    return coerced


class OmniOpenAIServingSpeech:
    """The speech service of one deployment."""

    def __init__(self, engine: FakeEngine, *, adapter: str = TWO_STAGE, async_chunk: bool = True) -> None:
        self.engine_client = engine
        self.forced_aligner_enabled = False
        self.uploaded_speakers: dict[str, dict[str, Any]] = {}
        self.model_config = SimpleNamespace(async_chunk=async_chunk, model=engine.scene.model)
        self._tts_model_type = adapter
        self.marked_ready: list[str] = []
        self.discarded: list[str] = []

    def _get_available_voices(self) -> set[str]:
        return {*VOICES, *self.uploaded_speakers, "default"}

    async def _check_model(self, request: Any) -> Any:
        if request.model in (None, self.engine_client.scene.model):
            return None
        if request.model == BROKEN_MODEL:
            raise RuntimeError("the check itself has failed")
        return f"The model `{request.model}` does not exist."

    async def _prepare_speech_generation(
        self,
        request: Any,
        request_id: str | None = None,
        has_inline_ref_audio: bool | None = None,
        arrival_time: float | None = None,
    ) -> tuple[str, Any, dict[str, Any]]:
        if self.engine_client.errored:
            raise self.engine_client.dead_error
        request_id = request_id or f"speech-{uuid4().hex}"
        is_whole = self._tts_model_type == TWO_STAGE and not self.model_config.async_chunk
        params = coerce_param_message_types(
            list(self.engine_client.default_sampling_params_list), request.stream and not is_whole
        )
        if fault := self._fault(request):
            raise ValueError(fault)
        if request.max_new_tokens is not None:
            params[0].max_tokens = request.max_new_tokens
        params[0].seed = getattr(request, "seed", None)
        generator = self.engine_client.generate(
            prompt={"text": request.input, "voice": request.voice},
            request_id=request_id,
            sampling_params_list=params,
            output_modalities=["audio"],
            arrival_time=arrival_time,
        )
        return request_id, generator, {"task_type": [request.task_type or "CustomVoice"]}

    def _validate_tts_generation(self, tts_params: dict[str, Any], usage_acc: Any) -> None:
        if tts_params["task_type"] == ["Base"] and usage_acc.stage0_finish_reason == "length":
            raise RuntimeError(
                "Qwen3-TTS Base did not emit codec EOS before its token budget "
                f"({usage_acc.total()} codec tokens); the generated audio is incomplete."
            )

    def _fault(self, request: Any) -> str | None:
        if not request.input.strip():
            return "Input text cannot be empty"
        if request.language is not None and request.language.title() not in LANGUAGES:
            return f"Invalid language '{request.language.title()}'. Supported: {', '.join(LANGUAGES)}"
        task = request.task_type or "CustomVoice"
        if task == "VoiceDesign" and not request.instructions:
            return "VoiceDesign task requires 'instructions' to describe the voice"
        if task == "Base" and request.ref_audio is None and request.speaker_embedding is None:
            voice = (request.voice or "").lower()
            if voice not in self.uploaded_speakers:
                return "Base task requires 'ref_audio' for voice cloning"
        voice = (request.voice or "").lower()
        if task == "CustomVoice" and voice and voice not in VOICES:
            return f"Invalid voice '{voice}'. Supported: {', '.join(sorted(VOICES))}"
        return None

    async def _generate_pcm_chunks(
        self, generator: Any, request_id: str, **rest: Any
    ) -> AsyncGenerator[bytes, None]:
        try:
            async for output in generator:
                payload = output.multimodal_output
                if "audio" not in payload:
                    continue
                pcm = payload["audio"].detach().cpu().numpy()
                if len(pcm):
                    yield np.round(pcm * 32768.0).astype("<i2").tobytes()
        finally:
            await generator.aclose()

    async def _generate_audio_bytes(self, request: Any, **rest: Any) -> tuple[bytes, str]:
        request_id, generator, _ = await self._prepare_speech_generation(request)
        chunks = [chunk async for chunk in self._generate_pcm_chunks(generator, request_id)]
        return b"".join(chunks), "audio/wav"

    def _mark_ref_audio_artifact_ready_for_request(self, request_id: str) -> None:
        self.marked_ready.append(request_id)

    def _discard_ref_audio_artifact_warmup(self, request_id: str) -> None:
        self.discarded.append(request_id)
