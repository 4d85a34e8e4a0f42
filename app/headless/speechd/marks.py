"""When the marks of a text are reached: where sentences begin it is known, within them it is reckoned.

The server says which sentence begins where in the sound. Where a word is within it nobody says: a mark there
is told when a voice of the pace heard so far would be at it, and never before its sentence or after the next.
Time is an argument.
"""

from __future__ import annotations

import re

from app.headless.speechd.ssml import Script

FIRST_PACE = 14.0
"""Characters a second until a sentence has been heard."""
_SHORTEST_S = 0.8
"""What is shorter says little of the pace: there is silence around it."""


class Pace:
    """How fast the voice speaks, learnt from the sentences heard; kept from text to text."""

    def __init__(self) -> None:
        self.chars_per_s = FIRST_PACE

    def learn(self, chars: int, heard_s: float) -> None:
        """Take note of a sentence of ``chars`` that took ``heard_s``."""
        if heard_s >= _SHORTEST_S and chars > 0:
            self.chars_per_s += 0.5 * (chars / heard_s - self.chars_per_s)


class Marks:
    """The marks of one text, told in order, each once; made new for each text."""

    def __init__(self, script: Script, pace: Pace) -> None:
        self._text = script.text
        self._left = sorted(script.marks, key=lambda mark: mark.at_chars)
        self._pace = pace
        self._from_chars = 0
        """Where the sentence that is heard begins."""
        self._to_chars = 0
        """Where it ends, as far as that is known."""
        self._next_chars = 0
        """Before this, no sentence that follows can begin."""
        self._began_s: float | None = None

    @property
    def are_left(self) -> bool:
        """Whether one was not told yet."""
        return bool(self._left)

    def sentence_begins(self, sentence: str, heard_s: float) -> list[str]:
        """Take note that ``sentence`` begins after ``heard_s`` of sound; the marks that were reached."""
        if self._began_s is not None:
            self._pace.learn(self._to_chars - self._from_chars, heard_s - self._began_s)
        found = re.compile(r"\s+".join(map(re.escape, sentence.split()))).search(self._text, self._next_chars)
        if found is not None:
            self._from_chars, self._to_chars = found.span()
            self._next_chars = self._to_chars
        else:  # a number was written out, say: it follows the one before, and is about as long as it is now
            self._from_chars = max(self._next_chars, min(self._to_chars, len(self._text)))
            self._to_chars = min(len(self._text), self._from_chars + len(sentence))
        self._began_s = heard_s
        return self._told_up_to(self._from_chars)

    def heard(self, heard_s: float) -> list[str]:
        """Return the marks that were reached by ``heard_s`` seconds of the text's sound."""
        if self._began_s is None:
            return []
        chars = (heard_s - self._began_s) * self._pace.chars_per_s
        return self._told_up_to(self._from_chars + min(int(chars), self._to_chars - self._from_chars))

    def ended(self, heard_s: float) -> list[str]:
        """Return the marks that are left once all was heard."""
        if self._began_s is not None:
            self._pace.learn(self._to_chars - self._from_chars, heard_s - self._began_s)
        return self._told_up_to(len(self._text))

    def _told_up_to(self, chars: int) -> list[str]:
        told = [mark.name for mark in self._left if mark.at_chars <= chars]
        del self._left[: len(told)]
        return told
