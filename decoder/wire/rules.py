"""What a ``session.config`` may say: the field rules that client and servers check alike."""

from __future__ import annotations

import math

from decoder.wire.messages import SessionConfig, shown

CODEC_MODE = "codec_tokens"
PCM_MODE = "pcm"
TASK_TYPES = ("CustomVoice", "VoiceDesign", "Base")
LANGUAGES = (
    "Auto", "Chinese", "English", "Japanese", "Korean", "German",
    "French", "Russian", "Portuguese", "Spanish", "Italian",
)  # fmt: skip
SPLIT_GRANULARITIES = ("none", "sentence", "clause")
REF_AUDIO_SCHEMES = ("http://", "https://", "data:", "file:")
MAX_INSTRUCTIONS_CHARS = 500
MAX_NEW_TOKENS = 4096
MAX_EMBEDDING = 8192
MAX_ASKED_FRAMES = 25
"""Most frames a packet that a client may ask for: two seconds."""


def config_fault(config: SessionConfig) -> str | None:
    """Say what is wrong with ``config``, as a server would; ``None`` if it can be spoken."""
    return _mode_fault(config) or _choice_fault(config) or _task_fault(config) or _range_fault(config)


def _mode_fault(config: SessionConfig) -> str | None:
    if config.output_mode not in (None, CODEC_MODE, PCM_MODE):
        return f"output_mode {shown(config.output_mode)} is not one of '{CODEC_MODE}', '{PCM_MODE}'"
    if config.output_mode == CODEC_MODE:
        if config.stream_audio is False:
            return "output_mode='codec_tokens' requires stream_audio=true."
        if config.word_timestamps:
            return "output_mode='codec_tokens' does not support word_timestamps."
        if config.response_format not in (None, "pcm"):
            return "output_mode='codec_tokens' requires response_format='pcm'."
        if config.speed is not None and config.speed != 1.0:
            return "output_mode='codec_tokens' does not support speed."
    return None


def _choice_fault(config: SessionConfig) -> str | None:
    for name, value, known in (
        ("task_type", config.task_type, TASK_TYPES),
        ("language", config.language, LANGUAGES),
        ("split_granularity", config.split_granularity, SPLIT_GRANULARITIES),
    ):
        if value is not None and value not in known:
            return f"{name} {shown(value)} is not one of {', '.join(known)}"
    return None


def _task_fault(config: SessionConfig) -> str | None:
    task = config.task_type or "CustomVoice"
    if task == "VoiceDesign" and not (config.instructions or "").strip():
        return "task_type VoiceDesign requires instructions"
    if task != "Base":
        for name in ("ref_audio", "ref_text", "x_vector_only_mode", "speaker_embedding"):
            if getattr(config, name) is not None:
                return f"{name} is only for task_type Base"
        return None
    if config.speaker_embedding is not None and not _is_vector(config.speaker_embedding):
        return f"speaker_embedding has to be a list of 1..{MAX_EMBEDDING} finite numbers"
    if config.ref_audio is not None and not config.ref_audio.lower().startswith(REF_AUDIO_SCHEMES):
        known = ", ".join(REF_AUDIO_SCHEMES)
        return f"ref_audio {shown(config.ref_audio)} is no URI that starts with {known}"
    if config.ref_audio is None and config.speaker_embedding is None and config.voice is None:
        return "task_type Base requires ref_audio, speaker_embedding or an uploaded voice"
    if config.ref_audio is not None and not config.x_vector_only_mode and not config.ref_text:
        return "ref_text is required unless x_vector_only_mode is true"
    return None


def _is_vector(values: list[object]) -> bool:
    return 1 <= len(values) <= MAX_EMBEDDING and all(
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf
        for value in values
    )


def _range_fault(config: SessionConfig) -> str | None:
    if config.instructions is not None and len(config.instructions) > MAX_INSTRUCTIONS_CHARS:
        return f"instructions have {len(config.instructions)} characters, at most {MAX_INSTRUCTIONS_CHARS}"
    if config.max_new_tokens is not None and not 1 <= config.max_new_tokens <= MAX_NEW_TOKENS:
        return f"max_new_tokens {shown(config.max_new_tokens)} is outside 1..{MAX_NEW_TOKENS}"
    if config.seed is not None and not -(2**63) <= config.seed < 2**63:
        return f"seed {shown(config.seed)} does not fit into 64 bits"
    if config.packet_frames is not None and not 1 <= config.packet_frames <= MAX_ASKED_FRAMES:
        return f"packet_frames {shown(config.packet_frames)} is outside 1..{MAX_ASKED_FRAMES}"
    return None
