"""What this program can do, as Wyoming's clients ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from wyoming.info import Attribution, Info, TtsProgram, TtsVoice

from app.headless.languages import NAMES

NAME = "nearfield"
_OURS = Attribution("The Nearfield authors", "https://pypi.org/project/nearfield/")
_VOICES = Attribution("Qwen3-TTS", "https://github.com/QwenLM/Qwen3-TTS")


def info(voices: Sequence[str]) -> Info:
    """Return the answer to ``describe``; every voice speaks every language of the talker."""
    program = version("nearfield")
    return Info(
        tts=[
            TtsProgram(
                name=NAME,
                attribution=_OURS,
                installed=True,
                description="Speech that is decoded where the listener is",
                version=program,
                voices=[
                    TtsVoice(
                        name=name,
                        attribution=_VOICES,
                        installed=True,
                        description=name,
                        version=None,
                        languages=list(NAMES),
                    )
                    for name in voices
                ],
                supports_synthesize_streaming=True,
            )
        ]
    )
