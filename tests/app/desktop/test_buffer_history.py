from __future__ import annotations

import pytest

from app.desktop.buffer_history import LEAST_SCALE_S, BufferHistory


def test_without_anything_noted_there_is_no_line() -> None:
    assert list(BufferHistory().points()) == []


def test_the_newest_is_at_the_right_and_the_highest_sets_the_scale() -> None:
    history = BufferHistory(span_s=10)
    history.note(100, 0.0)
    history.note(105, 2.0)
    history.note(110, 1.0)
    assert history.scale_s() == 2.0
    assert history.points() == [(0.0, 0.0), (0.5, 1.0), (1.0, 0.5)]


def test_what_is_older_than_the_span_is_forgotten_but_the_line_reaches_the_edge() -> None:
    history = BufferHistory(span_s=10)
    for at_s in range(100):
        history.note(at_s, 1.0)
    points = list(history.points())
    assert points[0][0] == 0.0
    assert len(points) == 11


def test_a_shallow_buffer_looks_shallow() -> None:
    history = BufferHistory()
    history.note(0, 0.05)
    history.note(1, 0.0)
    assert history.scale_s() == LEAST_SCALE_S
    assert max(y for _, y in history.points()) == pytest.approx(0.05 / LEAST_SCALE_S)


def test_another_reading_begins_empty() -> None:
    history = BufferHistory()
    history.note(0, 1.0)
    history.clear()
    assert list(history.points()) == []
