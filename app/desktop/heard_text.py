"""Which place of a text is which place of its sound."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from app.desktop.player_state import Sentence
from app.desktop.text_map import Locator, locate


class HeardText:
    """Places sentences, as a server gives them back, in the text that was asked for.

    ``pieces`` are the utterances that the text was cut into, in order. A server may normalise what it says:
    a sentence is looked for only within its utterance, so that nothing drifts.
    """

    def __init__(self, text: str, pieces: Sequence[str]) -> None:
        self._spans = locate(text, pieces)
        self._locators = [Locator(text[start:end]) for start, end in self._spans]
        self._sentences: list[Sentence] = []

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """Those that were placed, in the order of their sound."""
        return tuple(self._sentences)

    def place(self, piece: int, text: str, starts_s: float) -> None:
        """Note that the sound of ``text``, a sentence of the utterance ``piece``, begins at ``starts_s``."""
        first = self._spans[piece][0]
        start, end = self._locators[piece].next(text)
        self._sentences.append(Sentence(first + start, first + end, starts_s))


def heard_at(sentences: Sequence[Sentence], heard_s: float) -> int | None:
    """Return which of ``sentences`` is heard at ``heard_s``; ``None`` before the first."""
    index = bisect_right([s.starts_s for s in sentences], heard_s + _SAME_S) - 1
    return index if index >= 0 else None


_SAME_S = 1e-6
"""A sentence that begins where another was sought to is the one that is heard."""
