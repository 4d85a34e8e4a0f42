from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from app.desktop.moving_spans import MovingSpans

Edit = tuple[int, int, int]


@st.composite
def texts_with_spans(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    length = draw(st.integers(1, 40))
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=8)))
    return length, list(zip(cuts[::2], cuts[1::2], strict=False))


@given(
    made=texts_with_spans(),
    edits=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(0, 5)), max_size=8),
    late=st.integers(0, 8),
)
def test_spans_keep_what_is_left_of_their_text(
    made: tuple[int, list[tuple[int, int]]], edits: list[Edit], late: int
) -> None:
    length, given_spans = made
    text: list[int | str] = list(range(length))
    spans = MovingSpans()
    early = max(0, len(given_spans) - late)
    spans.add(given_spans[:early])
    for position, removed, added in edits:
        position = min(position, len(text))
        removed = min(removed, len(text) - position)
        text[position : position + removed] = ["new"] * added
        spans.edited(position, removed, added)
    spans.add(given_spans[early:])
    assert len(spans) == len(given_spans)
    for index, (start, end) in enumerate(given_spans):
        now = spans.now(index)
        kept = [c for c in text if c != "new" and start <= int(c) < end]
        if now is None:
            assert kept == []
            continue
        assert [c for c in text[now[0] : now[1]] if c != "new"] == kept
    located = [span for i in range(len(spans)) if (span := spans.now(i)) is not None]
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(located))
    for position in range(len(text) + 1):
        inside = [i for i in range(len(spans)) if (n := spans.now(i)) and n[0] <= position < n[1]]
        assert spans.at(position) == (inside[0] if inside else None)


def test_what_is_typed_at_the_ends_is_outside_and_inside_is_inside() -> None:
    spans = MovingSpans()
    spans.add([(2, 5), (5, 8)])
    spans.edited(2, 0, 1)
    assert spans.now(0) == (3, 6)
    spans.edited(9, 0, 1)
    assert spans.now(1) == (6, 9)
    spans.edited(4, 0, 10)
    assert (spans.now(0), spans.now(1)) == ((3, 16), (16, 19))


def test_what_was_replaced_is_gone_for_good() -> None:
    spans = MovingSpans()
    spans.add([(0, 4), (4, 8)])
    spans.edited(0, 4, 4)
    assert spans.now(0) is None
    spans.edited(2, 0, 5)
    assert (spans.now(0), spans.now(1)) == (None, (9, 13))
    assert spans.at(3) is None
