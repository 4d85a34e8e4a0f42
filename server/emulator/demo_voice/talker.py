"""Text to frames of the demo codec, piece by piece, the first piece short so that sound starts early."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from server.emulator.demo_voice.encoder import FRAME_SAMPLES, DemoEncoder
from server.emulator.demo_voice.voice import DemoVoice, shared_voice

MAX_FIRST_WORDS = 12
"""Longest first piece; rendering that many words takes about 0.1 s on two cores."""

SENTENCE_GAP_SAMPLES = 3600
"""Silence after a sentence, rounded up to whole frames: 0.15 to 0.23 s."""

_MIN_FIRST_WORDS = 3
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|\n\s*\n|(?<=[。！？])")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|etc|e\.g|i\.e|[A-Z])\.[\"'”’)\]]*$")
_CLAUSE_END = re.compile(r"[,;:–—][\"'”’)\]]*$")
_CLAUSE_STARTS = frozenset(
    "and but or so because that which who when while where if though although after before until since "
    "with without for from into as than then to of in on at by".split()
)


def split_sentences(text: str) -> list[str]:
    """Cut ``text`` after sentence ends and at blank lines; white space between words becomes one blank."""
    sentences: list[str] = []
    for part in _SENTENCE_END.split(text):
        piece = " ".join(part.split())
        if not piece:
            continue
        if sentences and _ABBREVIATION.search(sentences[-1]):
            sentences[-1] = f"{sentences[-1]} {piece}"
        else:
            sentences.append(piece)
    return sentences


def split_first(sentence: str) -> list[str]:
    """Cut a long first sentence in two, so that its first piece has at most ``MAX_FIRST_WORDS`` words.

    The cut lies behind a comma or the like where there is one in reach, else before a word that opens a
    phrase, else behind the last word that fits. A sentence that is short enough stays whole.
    """
    words = sentence.split()
    if len(words) <= MAX_FIRST_WORDS:
        return [sentence]
    reach = range(MAX_FIRST_WORDS, _MIN_FIRST_WORDS - 1, -1)
    cut = next((n for n in reach if _CLAUSE_END.search(words[n - 1])), None)
    if cut is None:
        cut = next((n for n in reach if words[n].lower() in _CLAUSE_STARTS), MAX_FIRST_WORDS)
    return [" ".join(words[:cut]), " ".join(words[cut:])]


class DemoTalker:
    """Speaks text as frames of the demo codec. Sessions may share one; every call keeps its own state.

    Raises ``VoiceMissing`` when the voice's packages are absent. The voice is loaded here, once per process.
    """

    def __init__(self, voice: DemoVoice | None = None, encoder: DemoEncoder | None = None) -> None:
        self._voice = voice or shared_voice()
        self._encoder = encoder or DemoEncoder()

    def frames(self, text: str, *, length_scale: float = 1.0) -> Iterator[npt.NDArray[np.int16]]:
        """Yield codes ``int16 [n, 16]``, each part as soon as it is rendered; nothing for a text of nothing.

        Blocks while it renders (about 0.05 s per second of speech), so call it from a worker thread.
        """
        for number, sentence in enumerate(split_sentences(text)):
            pieces = split_first(sentence) if number == 0 else [sentence]
            for piece in pieces:
                pcm = self._voice.render(piece, length_scale=length_scale)
                if pcm.size:
                    gap = SENTENCE_GAP_SAMPLES if piece is pieces[-1] else 0
                    yield self._encoder.encode(_whole_frames(pcm, gap))


def _whole_frames(pcm: npt.NDArray[np.float32], gap_samples: int) -> npt.NDArray[np.float32]:
    frames = -(-(pcm.size + gap_samples) // FRAME_SAMPLES)
    return np.pad(pcm, (0, frames * FRAME_SAMPLES - pcm.size))
