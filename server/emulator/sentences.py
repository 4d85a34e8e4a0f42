"""Text to units: whole, by sentence, or by clause. Characters other than white space are never lost."""

from __future__ import annotations

import re

_CLOSERS = "\"'”’»)\\]）」』"
_SENTENCE_END = re.compile(rf"[.!?…]+[{_CLOSERS}]*(?=\s)|[。！？]+[{_CLOSERS}]*|\n[^\S\n]*\n")
_CLAUSE_END = re.compile(rf"[,;:][{_CLOSERS}]*(?=\s)|[，、；：][{_CLOSERS}]*|[—–](?=\s)")
_NO_END = re.compile(
    r"(?:^|[\s(\"“])(?:Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|No|vs|etc|e\.g|i\.e|approx|[A-Z])\.$", re.IGNORECASE
)


def split_units(text: str, granularity: str | None) -> list[str]:
    """Return the units of ``text``, stripped, none empty; ``granularity`` is ``split_granularity``."""
    if granularity in (None, "none"):
        return [text.strip()] if text.strip() else []
    units = _cut_behind(text, _SENTENCE_END)
    if granularity == "clause":
        units = [clause for unit in units for clause in _cut_behind(unit, _CLAUSE_END)]
    return units


def _cut_behind(text: str, end: re.Pattern[str]) -> list[str]:
    pieces, start = [], 0
    for found in end.finditer(text):
        if found.group().rstrip() == "." and _NO_END.search(text[start : found.end()]):
            continue
        pieces.append(text[start : found.end()])
        start = found.end()
    pieces.append(text[start:])
    return [piece.strip() for piece in pieces if piece.strip()]
