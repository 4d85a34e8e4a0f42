"""Places in a text that is being edited: where they are now, or that they are gone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

Span = tuple[int, int]


class MovingSpans:
    """Spans of a text, given as they were when this was made, and moved by every edit since.

    What is typed inside a span belongs to it, what is typed at its ends does not. Spans come in order and do
    not overlap; more may be added at the end at any time.
    """

    def __init__(self) -> None:
        self._edits: list[tuple[int, int, int]] = []
        self._spans: list[Span] = []

    def __len__(self) -> int:
        return len(self._spans)

    def add(self, spans: Iterable[Span]) -> None:
        """Add spans of the text as it was at first."""
        for span in spans:
            for edit in self._edits:
                span = _moved(span, *edit)
            self._spans.append(span)

    def edited(self, position: int, removed: int, added: int) -> None:
        """Follow an edit: at ``position``, ``removed`` characters went and ``added`` came."""
        self._edits.append((position, removed, added))
        self._spans = [_moved(span, position, removed, added) for span in self._spans]

    def now(self, index: int) -> Span | None:
        """Return where a span is now; ``None`` if it is empty, or was from the beginning."""
        start, end = self._spans[index]
        return (start, end) if start < end else None

    def at(self, position: int) -> int | None:
        """Return the index of the span with the character at ``position``."""
        index = bisect_right(self._spans, position, key=_start) - 1
        # Empty spans may share the place of one that is not.
        while index >= 0 and self._spans[index][1] <= position and self._is_empty(index):
            index -= 1
        return index if index >= 0 and self._spans[index][1] > position else None

    def _is_empty(self, index: int) -> bool:
        start, end = self._spans[index]
        return start >= end


def _start(span: Span) -> int:
    return span[0]


def _moved(span: Span, position: int, removed: int, added: int) -> Span:
    start, end = span
    if start >= end:
        # What is gone stays gone, though it keeps its place in the order.
        place = _start_after(start, position, removed, added)
        return place, place
    start = _start_after(start, position, removed, added)
    if end >= position + removed and end > position:
        end += added - removed
    elif end > position:
        end = position
    return start, max(start, end)


def _start_after(start: int, position: int, removed: int, added: int) -> int:
    if start >= position + removed:
        return start + added - removed
    return position + added if start >= position else start
