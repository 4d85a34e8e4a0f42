"""Text to frames of the demo codec, while the text is still being rendered."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from server.emulator.demo_voice.encoder import DemoEncoder
from server.emulator.demo_voice.voice import DemoVoice, shared_voice

SENTENCE_GAP_SAMPLES = 3600
"""Silence after a sentence, which the last frame rounds up: 0.15 to 0.23 s."""

MAX_WORDS = 60
"""A longer sentence is cut at a clause end: its melody is planned as a whole before the first sound."""

_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))\s+(?=[^\sa-z])"  # a small letter goes on: “Really?” he asked
    r"|\n\s*\n|(?<=[。！？])"
)
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|e\.g|i\.e|[A-Z])\.$")
_CLAUSE_END = re.compile(r"[,;:–—][\"'”’)\]]*$")


def split_sentences(text: str) -> list[str]:
    """Cut ``text`` after sentence ends, at blank lines and before ``MAX_WORDS``.

    White space becomes one blank; control characters and the like, which the voice would choke on, become
    none.
    """
    speakable = "".join(
        character for character in text if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    sentences: list[str] = []
    for part in _SENTENCE_END.split(speakable):
        piece = " ".join(part.split())
        if not piece:
            continue
        if sentences and _ABBREVIATION.search(sentences[-1]):
            sentences[-1] = f"{sentences[-1]} {piece}"
        else:
            sentences.append(piece)
    return [piece for sentence in sentences for piece in _cut(sentence)]


def _cut(sentence: str) -> Iterator[str]:
    words = sentence.split()
    while len(words) > MAX_WORDS:
        clause_ends = (at for at in range(MAX_WORDS, MAX_WORDS // 3, -1) if _CLAUSE_END.search(words[at - 1]))
        at = next(clause_ends, MAX_WORDS)
        yield " ".join(words[:at])
        words = words[at:]
    yield " ".join(words)


class DemoTalker:
    """Speaks text as frames of the demo codec. Sessions may share one; every call keeps its own state.

    Raises ``VoiceMissing`` when the voice's packages are absent. The voice is loaded here, once per process.
    """

    def __init__(self, voice: DemoVoice | None = None, encoder: DemoEncoder | None = None) -> None:
        self._voice = voice or shared_voice()
        self._encoder = encoder or DemoEncoder()

    def frames(self, text: str, *, length_scale: float = 1.0) -> Iterator[npt.NDArray[np.int16]]:
        """Yield codes ``int16 [n, 16]``, each part as soon as it is rendered; nothing for a text of nothing.

        The first part is about four frames. Blocks while it renders (0.1 s per second of speech on one core),
        so call it from a worker thread. ``length_scale`` above 1 speaks slower.
        """
        for sentence in split_sentences(text):
            encoding = self._encoder.stream()
            spoken = False
            for pcm in self._voice.stream(sentence, length_scale=length_scale):
                spoken = True
                codes = encoding.push(pcm)
                if len(codes):
                    yield codes
            if spoken:
                yield encoding.finish(np.zeros(SENTENCE_GAP_SAMPLES, np.float32))
