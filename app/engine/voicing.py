"""Which settings of a voice belong to which task; the others are kept, but neither shown nor sent."""

from __future__ import annotations

from dataclasses import fields, replace

from app.config import VoiceConfig
from app.session.voices import normal

_ALWAYS = frozenset({"task", "language", "seed"})
TAKES = {
    "CustomVoice": _ALWAYS | {"name", "instructions"},
    "VoiceDesign": _ALWAYS | {"instructions"},
    "Base": _ALWAYS | {"name", "ref_audio", "ref_text", "x_vector_only"},
}
"""Task → the fields of ``VoiceConfig`` that it takes."""
DEFAULT_TASK = "CustomVoice"
"""What servers take where none is named."""


def spoken(voice: VoiceConfig) -> VoiceConfig:
    """Return ``voice`` as it is asked for: trimmed, its name as names are compared, and only what applies.

    Where no task is named, or an unknown one, nothing is left out: the rules then say what does not fit.
    """
    trimmed = replace(
        voice,
        name=normal(voice.name),
        language=voice.language.strip(),
        task=voice.task.strip(),
        instructions=voice.instructions.strip(),
        ref_audio=voice.ref_audio.strip(),
        ref_text=voice.ref_text.strip(),
    )
    takes = TAKES.get(trimmed.task)
    if takes is None:
        return trimmed
    if trimmed.task == "Base" and trimmed.ref_audio:
        # A recording is a voice of its own, and its text of no use to the timbre alone.
        takes = takes - {"name"} - ({"ref_text"} if trimmed.x_vector_only else set())
    else:
        takes = takes - {"ref_text", "x_vector_only"}
    defaults = VoiceConfig()
    left_out = {f.name: getattr(defaults, f.name) for f in fields(VoiceConfig) if f.name not in takes}
    return replace(trimmed, **left_out)
