"""Where spoken sentences are in the text that a person sees, and how Qt counts the same places.

A text is cleaned and cut before it is sent, and a server may report its sentences a little changed. They
are found again by the characters that count, in order. Offsets are in code points unless they say UTF-16.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from app.text import normalised

Span = tuple[int, int]

_LOOK_AHEAD = 4000
"""Characters that count between two sentences; a sentence further on is another one with the same words."""
_TAIL = 16
"""So many letters of a sentence's end are enough to recognise it."""


class _Counts(dict[int, bool]):
    """Whether a character counts: one that is sent, and is no white space."""

    def __missing__(self, code_point: int) -> bool:
        sent = normalised(chr(code_point))
        self[code_point] = counts = bool(sent) and not sent.isspace()
        return counts


class _Letters(dict[int, str]):
    """The letters and digits of a character in their plainest form; empty for marks."""

    def __missing__(self, code_point: int) -> str:
        plain = unicodedata.normalize("NFKD", chr(code_point)).casefold()
        self[code_point] = letters = "".join(c for c in plain if unicodedata.category(c)[0] in "LN")
        return letters


_COUNTS = _Counts()
_LETTERS = _Letters()
_WIDE = re.compile("[\U00010000-\U0010ffff]")


def locate(text: str, pieces: Sequence[str]) -> list[Span]:
    """Return where ``pieces`` are in ``text``: half-open spans in order, which do not overlap.

    A span begins and ends with a character that is no white space. Pieces that cannot be found share what is
    left between their neighbours: the first of them has it, the others are empty at its end.
    """
    locator = Locator(text)
    found = [locator.find(piece) for piece in pieces]
    spans: list[Span] = []
    for i, span in enumerate(found):
        start = spans[-1][1] if spans else 0
        if span is None:
            following = next((s for s in found[i + 1 :] if s is not None), (len(text), 0))
            span = _trimmed(text, start, following[0])
        spans.append(span)
    return spans


class Locator:
    """Finds sentences one by one, as they come."""

    def __init__(self, text: str) -> None:
        self._text = text
        offsets = [i for i, c in enumerate(text) if _COUNTS[ord(c)]]
        self._offsets = array("L", offsets)
        """Of each character that counts."""
        self._counting = "".join([text[i] for i in offsets])
        self._at = 0
        """How many of them lie behind."""

    def next(self, piece: str) -> Span:
        """Return where ``piece`` is, after those before.

        One that cannot be found has an empty span where the last one ended: `locate` knows better as soon as
        those that follow are there.
        """
        span = self.find(piece)
        return span if span is not None else (self._end, self._end)

    def find(self, piece: str) -> Span | None:
        """Return where ``piece`` is, after those before; ``None`` if it cannot be found."""
        wanted = "".join([c for c in piece if _COUNTS[ord(c)]])
        if not wanted:
            return None
        if self._counting.startswith(wanted, self._at):
            return self._taken(self._at, self._at + len(wanted))
        found = self._found_by_letters(wanted)
        # The very same characters further on are right, unless the same letters are there before them.
        start = self._counting.find(wanted, self._at, self._at + len(wanted) + _LOOK_AHEAD)
        if start >= 0 and (found is None or start <= found[0]):
            found = start, start + len(wanted)
        return None if found is None else self._taken(*found)

    @property
    def _end(self) -> int:
        return self._offsets[self._at - 1] + 1 if self._at else 0

    def _taken(self, start: int, end: int) -> Span:
        self._at = end
        return self._offsets[start], self._offsets[end - 1] + 1

    def _found_by_letters(self, piece: str) -> Span | None:
        """Find a piece whose marks, case or forms differ; what counts from where to where."""
        wanted = "".join([_LETTERS[ord(c)] for c in piece])
        letters, origins = self._letters
        first = bisect_left(origins, self._at)
        last = bisect_left(origins, self._at + len(piece) + _LOOK_AHEAD)
        if not wanted:
            return None
        start = letters.find(wanted, first, last)
        if start >= 0:
            end = start + len(wanted)
        elif len(wanted) >= _TAIL and (tail := letters.find(wanted[-_TAIL:], first, last)) >= 0:
            # It was changed inside: its end tells where it ends, and it begins where the last one ended.
            start, end = first, tail + _TAIL
        else:
            return None
        return self._with_marks(origins[start], origins[end - 1] + 1)

    def _with_marks(self, start: int, end: int) -> Span:
        """Take in the marks that touch: those behind, until one opens something, and those in front."""
        while end < len(self._counting) and self._is_mark_beside(end, end - 1) and not self._opens(end):
            end += 1
        while start > self._at and self._is_mark_beside(start - 1, start):
            start -= 1
        return start, end

    def _is_mark_beside(self, index: int, neighbour: int) -> bool:
        return (
            not _LETTERS[ord(self._counting[index])]
            and abs(self._offsets[index] - self._offsets[neighbour]) == 1
        )

    def _opens(self, index: int) -> bool:
        return unicodedata.category(self._counting[index]) in ("Ps", "Pi")

    @cached_property
    def _letters(self) -> tuple[str, array[int]]:
        """Letters and digits in their plainest form, and for each the index of its character that counts."""
        plain, origins = [], array("L")
        for i, character in enumerate(self._counting):
            letters = _LETTERS[ord(character)]
            plain.append(letters)
            origins.extend([i] * len(letters))
        return "".join(plain), origins


class Utf16Map:
    """Offsets of one text as Qt counts them, where characters beyond U+FFFF count twice."""

    def __init__(self, text: str) -> None:
        self._wide = array("L", (m.start() for m in _WIDE.finditer(text)))
        self._wide_utf16 = array("L", (offset + i for i, offset in enumerate(self._wide)))

    def utf16(self, offset: int) -> int:
        """Return the offset in UTF-16 units of a code point's offset."""
        return offset + bisect_left(self._wide, offset)

    def code_point(self, utf16_offset: int) -> int:
        """Return the offset of the code point that an offset in UTF-16 units is at, or in the middle of."""
        return utf16_offset - bisect_left(self._wide_utf16, utf16_offset)


def _trimmed(text: str, start: int, end: int) -> Span:
    """Leave out what does not count at both ends; empty at the start if there is nothing else."""
    first = next((i for i in range(start, end) if _COUNTS[ord(text[i])]), None)
    if first is None:
        return start, start
    last = next(i for i in range(end - 1, first - 1, -1) if _COUNTS[ord(text[i])])
    return first, last + 1
