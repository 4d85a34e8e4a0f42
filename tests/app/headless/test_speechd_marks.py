from __future__ import annotations

import math

import pytest

from app.headless.speechd.marks import FIRST_PACE, Marks, Pace
from app.headless.speechd.ssml import Mark, Script, read

TWO = read('<mark name="a"/>One two.<mark name="b"/> Three four.<mark name="c"/>')


def test_marks_between_sentences_are_told_when_the_next_begins() -> None:
    """The one at the end is told at the end."""
    marks = Marks(TWO, Pace())
    assert marks.sentence_begins("One two.", 0.0) == ["a"]
    assert marks.sentence_begins("Three four.", 1.0) == ["b"]
    assert marks.are_left
    assert marks.ended(2.0) == ["c"]
    assert not marks.are_left


def test_marks_in_a_sentence_are_told_at_its_pace() -> None:
    """A word counts as reached when a voice of the usual pace would be at it."""
    text = "one two three four"
    marks = Marks(Script(text, tuple(Mark(word, text.index(word)) for word in text.split())), Pace())
    told = marks.sentence_begins(text, 5.0)
    for tenth in range(1, 20):
        told += [f"{name}@{tenth / 10}" for name in marks.heard(5.0 + tenth / 10)]
    at = {name: math.ceil(10 * text.index(name) / FIRST_PACE) / 10 for name in ("two", "three", "four")}
    assert told == ["one", *(f"{name}@{s:.1f}" for name, s in at.items())]


def test_nothing_is_told_ahead_of_its_sentence() -> None:
    """However long a sentence takes, the next one's marks wait for it."""
    marks = Marks(TWO, Pace())
    assert marks.heard(3.0) == []
    marks.sentence_begins("One two.", 0.0)
    assert marks.heard(1000.0) == ["b"]  # it is at the sentence's end
    assert marks.heard(1001.0) == []


def test_sentences_are_found_though_spaces_and_words_changed() -> None:
    """A line break may have become a space, and a number words."""
    script = read('Costs 5 €.<mark name="a"/>\nIt\nis <mark name="b"/>cheap. <mark name="c"/>Very.')
    marks = Marks(script, Pace())
    assert marks.sentence_begins("Costs five euros.", 0.0) == []
    assert marks.sentence_begins("It is cheap.", 1.0) == ["a"]
    assert marks.sentence_begins("Very.", 2.0) == ["b", "c"]


def test_the_pace_is_learnt() -> None:
    """From whole sentences, half of the way each, and kept for the next text."""
    pace = Pace()
    marks = Marks(Script("x" * 50 + ". " + "y" * 49), pace)
    marks.sentence_begins("x" * 50 + ".", 0.0)
    marks.sentence_begins("y" * 49, 51 / 4.0)
    assert pace.chars_per_s == pytest.approx((FIRST_PACE + 4.0) / 2)
    marks.ended(51 / 4.0 + 0.1)  # too short to say anything
    assert pace.chars_per_s == pytest.approx((FIRST_PACE + 4.0) / 2)


def test_a_text_that_was_not_spoken_tells_its_marks_at_the_end() -> None:
    """There was nothing to say between them."""
    assert Marks(read('…<mark name="a"/>'), Pace()).ended(0.0) == ["a"]
