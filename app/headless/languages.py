"""Tags of languages, as other programs have them, and the names that the talker knows."""

from __future__ import annotations

NAMES = {
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "pt": "Portuguese",
    "ru": "Russian",
    "zh": "Chinese",
}
"""Tag → name; Qwen3-TTS speaks each of them with every voice."""


def name_of(tag: str | None) -> str | None:
    """Return the name of the language that a tag such as ``de``, ``de-AT`` or ``pt_BR.UTF-8`` is of.

    ``None`` if the talker does not know it; it then listens to the text.
    """
    language = (tag or "").strip().lower().replace("_", "-").partition("-")[0]
    return NAMES.get(language)
