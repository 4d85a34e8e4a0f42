"""What a ``session.config`` may say: the field rules that client and servers check alike."""

from __future__ import annotations

from decoder.wire.messages import MAX_SHOWN_CHARS, SessionConfig

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


def config_fault(config: SessionConfig) -> str | None:
    """Say what is wrong with ``config``, as a server would; ``None`` if it can be spoken."""
    return _mode_fault(config) or _choice_fault(config) or _task_fault(config) or _range_fault(config)


def _mode_fault(config: SessionConfig) -> str | None:
    if config.output_mode not in (None, CODEC_MODE, PCM_MODE):
        return f"output_mode {config.output_mode!r} is not one of '{CODEC_MODE}', '{PCM_MODE}'"
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
            return f"{name} {value!r} is not one of {', '.join(known)}"
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
    if config.ref_audio is not None and not config.ref_audio.lower().startswith(REF_AUDIO_SCHEMES):
        shown = config.ref_audio[:MAX_SHOWN_CHARS]
        return f"ref_audio {shown!r} is no URI that starts with {', '.join(REF_AUDIO_SCHEMES)}"
    if config.ref_audio is None and config.speaker_embedding is None and config.voice is None:
        return "task_type Base requires ref_audio, speaker_embedding or an uploaded voice"
    if config.ref_audio is not None and not config.x_vector_only_mode and not config.ref_text:
        return "ref_text is required unless x_vector_only_mode is true"
    return None


def _range_fault(config: SessionConfig) -> str | None:
    if config.instructions is not None and len(config.instructions) > MAX_INSTRUCTIONS_CHARS:
        return f"instructions have {len(config.instructions)} characters, at most {MAX_INSTRUCTIONS_CHARS}"
    if config.max_new_tokens is not None and not 1 <= config.max_new_tokens <= MAX_NEW_TOKENS:
        return f"max_new_tokens {config.max_new_tokens} is outside 1..{MAX_NEW_TOKENS}"
    return None
