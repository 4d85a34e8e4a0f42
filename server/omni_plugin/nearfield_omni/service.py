"""The door to vLLM-Omni's speech service: what is asked of it, and how a generation begins and ends."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

from decoder.wire.messages import SessionConfig

log = logging.getLogger("vllm.nearfield_omni")

ABORT_TIMEOUT_S = 5.0
"""The engine acknowledges an abort within a step; one that hangs must not hold a connection."""
MODEL_TYPE = "qwen3_tts"


class Service:
    """One speech service; shared by all connections, keeps nothing of them."""

    def __init__(self, speech: Any) -> None:
        self._speech = speech

    @property
    def model(self) -> str:
        """The name under which the model is served."""
        return str(getattr(self._speech, "model_name", None) or "Qwen3-TTS")

    @property
    def sends_codec(self) -> bool:
        """Whether the loaded deployment is a Qwen3-TTS talker and nothing behind it."""
        # Of the registered pipelines of this model, only ours has a single stage; with a second one, the rows
        # never reach this process.
        return (
            self._speech._tts_model_type == MODEL_TYPE and len(self._speech.engine_client.stage_configs) == 1
        )

    @staticmethod
    def split(text: str, granularity: str) -> list[str]:
        """Cut a text into units as the stock handler does."""
        from vllm_omni.entrypoints.openai.speech_text_splitter import SpeechTextSplitter

        splitter = SpeechTextSplitter(granularity)
        return [*splitter.feed(text), *splitter.flush()]

    async def model_fault(self, model: str | None) -> str | None:
        """Say what is wrong with the model that a client names, as the stock handler does."""
        if not model or not hasattr(self._speech, "_check_model"):
            return None
        from vllm_omni.entrypoints.openai.protocol.audio import OpenAICreateSpeechRequest

        fault = await self._speech._check_model(OpenAICreateSpeechRequest(input="ping", model=model))
        return None if fault is None else str(fault)

    async def begin(self, text: str, config: SessionConfig) -> Generation:
        """Check a request and prepare its generation, which begins with the first output that is asked for.

        Raises:
            Exception: whatever the service has against it; the text is for the client.

        """
        from vllm_omni.entrypoints.openai.protocol.audio import OpenAICreateSpeechRequest

        request = OpenAICreateSpeechRequest(
            input=text,
            model=config.model,
            voice=config.voice,
            task_type=config.task_type,
            language=config.language,
            instructions=config.instructions,
            response_format="pcm",
            max_new_tokens=config.max_new_tokens,
            ref_audio=config.ref_audio,
            ref_text=config.ref_text,
            x_vector_only_mode=config.x_vector_only_mode,
            speaker_embedding=config.speaker_embedding,
            stream=True,
            seed=config.seed,
        )
        prepare = type(self._speech)._prepare_speech_generation
        request_id, outputs, parameters = await prepare(
            _StepByStep(self._speech),
            request,
            request_id=f"speech-{uuid4().hex}",
            arrival_time=time.time(),
        )
        return Generation(self._speech, request_id, outputs, parameters)


class Generation:
    """One request to the engine."""

    def __init__(
        self,
        speech: Any,
        request_id: str,
        outputs: AsyncGenerator[Any, None],
        parameters: dict[str, Any],
    ) -> None:
        self._speech = speech
        self._outputs = outputs
        self._parameters = parameters
        self.request_id = request_id
        self.is_complete = False
        """To be set by whoever has read the last output."""

    async def __aenter__(self) -> AsyncGenerator[Any, None]:
        """Return the engine's outputs."""
        return self._outputs

    async def __aexit__(self, *error: object) -> None:
        """Close the generator, and keep or forget what was prepared of a recording."""
        if self.is_complete:
            self._speech._mark_ref_audio_artifact_ready_for_request(self.request_id)
        else:
            self._speech._discard_ref_audio_artifact_warmup(self.request_id)
        await self._outputs.aclose()

    def fault(self, output: Any) -> Exception | None:
        """Say what the service has against the whole that ends with ``output``, the last one.

        A cloned voice that used up its tokens has missed its end: the service calls that incomplete.
        """
        from vllm_omni.entrypoints.openai.speech_usage import SpeechOutputTokenCounter

        (completion,) = output.outputs
        count = len(getattr(completion, "cumulative_token_ids", ()))
        tokens = SpeechOutputTokenCounter(count, completion.finish_reason)
        try:
            self._speech._validate_tts_generation(self._parameters, tokens)
        except Exception as fault:
            return fault
        return None

    async def abort(self) -> None:
        """Have the engine stop; returns when it has, or after a while."""
        try:
            await asyncio.wait_for(self._speech.engine_client.abort(self.request_id), ABORT_TIMEOUT_S)
        except Exception as error:  # the task that reads the outputs is cancelled all the same
            log.warning("aborting %s failed: %s: %s", self.request_id, type(error).__name__, error)


class _StepByStep:
    """The speech service as ``_prepare_speech_generation`` sees it, but every step is delivered.

    For this model without async chunks the stock method asks for the final output only. It says so in the
    parameters that it hands to the engine, so they are corrected on their way there.
    """

    def __init__(self, speech: Any) -> None:
        vars(self)["_speech"] = speech

    def __getattr__(self, name: str) -> Any:
        if name == "engine_client":
            return _DeltaEngine(self._speech.engine_client)
        return getattr(self._speech, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._speech, name, value)


class _DeltaEngine:
    """The engine client, with every request to it made one for deltas."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def generate(self, *, sampling_params_list: list[Any], **rest: Any) -> AsyncGenerator[Any, None]:
        """Generate, one output a step.

        The stock method asks for "audio", which a talker alone has not; the engine would ignore that and
        write a warning for every request. ``None`` asks for what the deployment has.
        """
        from vllm_omni.entrypoints.utils import coerce_param_message_types

        params = coerce_param_message_types(list(sampling_params_list), True)
        outputs: AsyncGenerator[Any, None] = self._engine.generate(
            sampling_params_list=params, **{**rest, "output_modalities": None}
        )
        return outputs
