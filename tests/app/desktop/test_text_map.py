from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.desktop.text_map import Locator, Utf16Map, locate
from app.text import MAX_TEXT_CHARS, clean, is_speakable, normalised, utterances

any_text = st.text(
    st.one_of(
        st.sampled_from(
            "abc.!? \n\t\r\u2029\u2028\u00ad\u200b\u200d\ufeff\u202e。！”“»«…,-1é字🎉🇩🇪\x00\ud800"
        ),
        st.characters(),
    ),
    max_size=300,
)


def counts(character: str) -> bool:
    return bool(normalised(character).strip())


def found(text: str, pieces: list[str]) -> list[str]:
    return [text[start:end] for start, end in locate(text, pieces)]


@given(text=any_text, limit=st.integers(5, 60))
@example(text="a\u00adb. c\u200bd.", limit=400)
@example(text="... One. Two.", limit=4)
def test_pieces_that_are_sent_are_found_in_order_and_cover_all_that_is_spoken(text: str, limit: int) -> None:
    pieces = utterances(clean(text), limit)
    spans = locate(text, pieces)
    assert len(spans) == len(pieces)
    assert all(start < end for start, end in spans)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    covered = {i for start, end in spans for i in range(start, end)}
    if pieces:
        assert {i for i, c in enumerate(text) if counts(c)} <= covered
    for piece, (start, end) in zip(pieces, spans, strict=True):
        assert counts(text[start])
        assert counts(text[end - 1])
        assert clean(text[start:end]).split() == piece.split() or "\n" in text[start:end] or limit < 60


@given(text=any_text, pieces=st.lists(any_text, max_size=6))
def test_whatever_comes_is_located_within_the_text_and_in_order(text: str, pieces: list[str]) -> None:
    spans = locate(text, pieces)
    assert len(spans) == len(pieces)
    at = 0
    for start, end in spans:
        assert at <= start <= end <= len(text)
        at = end


@given(text=any_text)
def test_one_by_one_is_the_same_as_all_at_once(text: str) -> None:
    pieces = utterances(clean(text), 30)
    locator = Locator(text)
    assert [locator.next(piece) for piece in pieces] == locate(text, pieces)


def test_white_space_and_dropped_characters_make_no_difference() -> None:
    text = "  One\u00a0two\u00ad.\r\n\r\nThree\u200b four.\u2029Five "
    assert found(text, ["One two.", "Three four.", "Five"]) == [
        "One\u00a0two\u00ad.",
        "Three\u200b four.",
        "Five",
    ]


def test_repeated_sentences_are_told_apart() -> None:
    assert locate("No. No. No.", ["No.", "No.", "No."]) == [(0, 3), (4, 7), (8, 11)]


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("she said 'hello' - and left", "She said “hello” — and left."),
        ("she said hello and left", "She said “hello” — and left."),
        ("SHE SAID “HELLO” — AND LEFT.", "She said “hello” — and left."),
        ("She said “hello” —", "She said “hello” —"),
    ],
)
def test_other_marks_and_case_are_found(piece: str, expected: str) -> None:
    text = "Before. She said “hello” — and left. After."
    assert found(text, ["Before.", piece])[1] == expected


def test_composed_and_decomposed_forms_are_the_same() -> None:
    text = "Un café. Déjà vu! ｆｕｌｌ　ｗｉｄｔｈ。한글 끝."
    pieces = [
        "Un cafe\u0301.",
        "De\u0301ja\u0300 vu!",
        "full width.",
        "\u1112\u1161\u11ab\u1100\u1173\u11af 끝.",
    ]
    assert found(text, pieces) == ["Un café.", "Déjà vu!", "ｆｕｌｌ　ｗｉｄｔｈ。", "한글 끝."]


def test_a_sentence_that_was_changed_inside_is_found_by_its_end() -> None:
    text = "It costs $10 for everybody who comes. And so on."
    pieces = ["It costs ten dollars for everybody who comes.", "And so on."]
    assert found(text, pieces) == ["It costs $10 for everybody who comes.", "And so on."]


def test_a_sentence_that_is_not_there_has_what_is_between_its_neighbours() -> None:
    text = "One. 2 + 2 = 4! Three."
    assert found(text, ["One.", "two and two", "Three."]) == ["One.", "2 + 2 = 4!", "Three."]
    assert found(text, ["One.", "two and two", "make four", "Three."]) == ["One.", "2 + 2 = 4!", "", "Three."]
    assert found(text, ["Zero", "One."]) == ["", "One."]
    assert found(text, ["One.", "whatever"]) == ["One.", "2 + 2 = 4! Three."]


def test_one_by_one_a_sentence_that_is_not_there_is_empty_and_does_no_harm() -> None:
    locator = Locator("One. 2 + 2! Three.")
    assert [locator.next(p) for p in ("One.", "unknown", "", "Three.")] == [(0, 4), (4, 4), (4, 4), (12, 18)]


def test_sentences_that_are_left_out_are_passed_over() -> None:
    assert found("One. Two. Three.", ["One.", "Three."]) == ["One.", "Three."]


def test_the_same_words_far_away_are_another_sentence() -> None:
    text = "One. " + "Filling words. " * 500 + "Target words here."
    assert found(text, ["One.", "Target words here.", "Filling words."])[2] == "Filling words."


def test_a_long_text_is_located_at_once() -> None:
    text = ("The quick brown fox — 🦊 — jumps over “lazy” dogs. " * 3000)[:MAX_TEXT_CHARS]
    pieces = utterances(clean(text))
    changed = [piece.replace("—", "-") for piece in pieces]
    started_s = time.perf_counter()
    exact = locate(text, pieces)
    assert locate(text, changed) == exact
    assert len(exact) > 200
    assert time.perf_counter() - started_s < 2  # 0.1 s on a quiet machine


@given(st.text(st.sampled_from("aé字🎉𝄞\ud83c"), max_size=40))
def test_offsets_are_those_of_utf16(text: str) -> None:
    offsets = Utf16Map(text)
    for at in range(len(text) + 1):
        expected = len(text[:at].encode("utf-16-le", "surrogatepass")) // 2
        assert offsets.utf16(at) == expected
        assert offsets.code_point(expected) == at
        if at < len(text) and text[at] > "\uffff":
            assert offsets.code_point(expected + 1) == at


def test_unspeakable_text_has_no_pieces() -> None:
    assert not is_speakable("… !")
    assert locate("… !", utterances("… !")) == []
