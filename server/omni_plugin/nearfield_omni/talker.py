"""The stock talker, and what of its output goes to clients. Only the process of the model imports this."""

from __future__ import annotations

from vllm_omni.model_executor.models.qwen3_tts.qwen3_tts_talker import Qwen3TTSTalkerForConditionalGeneration


class NearfieldQwen3TTSTalkerForConditionalGeneration(Qwen3TTSTalkerForConditionalGeneration):  # type: ignore[misc]  # vLLM-Omni is not installed where this is checked
    """Ships its codec rows, whether they are valid, and the reference codes of a cloned voice."""

    omni_client_multimodal_output_keys = ("codes.audio", "meta.codec_frame_valid", "codes.ref")
