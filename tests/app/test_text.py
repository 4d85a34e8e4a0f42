from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.text import MAX_TEXT_CHARS, UTTERANCE_CHARS, ArrivingText, clean, is_speakable, utterances

FAMILY = "👩\u200d👩\u200d👧\u200d👦"
ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


def without_space(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize(
    "text", ["", " ", "…", "。", "\u200b\u200d\ufeff\u2060", "?!", "\n\t\n", "👋🏽", "—"]
)
def test_a_text_without_letter_or_number_has_nothing_to_say(text: str) -> None:
    """G1."""
    assert not is_speakable(clean(text))
    assert utterances(clean(text)) == []


@pytest.mark.parametrize("text", ["1", "Huh?", "é", "好", "½", "ا", "1\ufe0f\u20e3"])
def test_one_letter_or_number_is_something_to_say(text: str) -> None:
    assert utterances(clean(text)) == [text]


@pytest.mark.parametrize("mark", ["\r\n", "\r", "\u2028", "\u2029", "\u0085", "\v", "\f"])
def test_every_line_break_becomes_a_newline(mark: str) -> None:
    """G3: what Qt and Windows call a line's end."""
    assert clean(f"a{mark}b") == "a\nb"


def test_what_cannot_be_sent_or_spoken_is_dropped() -> None:
    """G3, C14: NUL, BOM, controls, lone surrogates, noncharacters."""
    assert clean("\ufeffa\0b\x1bc\ud83dd\udc00e\ufffef\ufdd0g\U0001ffffh") == "abcdefgh"
    clean("\ud800 x").encode("utf-8")


def test_joiners_of_arabic_and_persian_are_kept_and_direction_marks_dropped() -> None:
    """G6."""
    assert clean("\u200fمی\u200cخواهم\u202b\u2067!\u2069") == "می\u200cخواهم!"
    assert utterances("می\u200cخواهم") == ["می\u200cخواهم"]


def test_emoji_are_sent_whole_even_those_newer_than_this_python() -> None:
    """G2: U+1FAEF is an assigned emoji of 2025 that no older table of characters knows."""
    text = f"Hi {FAMILY} 🇩🇪 👋🏽 {ENGLAND} \U0001faef ❤\ufe0f"
    assert clean(text) == text
    assert utterances(text) == [text]


@pytest.mark.parametrize(
    "sentence",
    [
        "Pi is 3.14 or so.",
        "Dr. Who met Mr. J. R. Smith, e.g. at 5 p.m. on Jan. 3.",
        "See https://example.org/a.b?c=d.e!f for version 1.2.3.",
        "He said “she said ‘no.’”",
        "« Bonjour.\u00a0»",
        "他说「你好。」",
        "他说『「你好！」』",
        "Wait … what?",
        "(See Fig. 3.)",
    ],
)
def test_a_sentence_is_left_whole(sentence: str) -> None:
    """G4: each stays in one piece although two sentences do not fit into one utterance."""
    assert utterances(f"{sentence} Then came the other one.", limit_chars=len(sentence))[0] == sentence


@pytest.mark.parametrize(
    ("pieces", "limit_chars"),
    [
        (["One.", "Two!", "Three?"], 8),
        (["你好。", "再见！", "好吗？"], 6),
        (["Title", "Text"], 9),
        (["“Go.”", "She went."], 12),
        (["Really?!", "Yes...", "No"], 8),
        (["So do I. You?"], 13),
    ],
)
def test_sentences_end_where_a_reader_would_say_so(pieces: list[str], limit_chars: int) -> None:
    between = "\n\n" if pieces[0] == "Title" else "" if "。" in pieces[0] else " "
    assert utterances(between.join(pieces), limit_chars) == pieces


def test_short_sentences_share_an_utterance_and_long_ones_do_not() -> None:
    assert utterances("One. Two.") == ["One. Two."]
    long = "word " * 70 + "end."
    assert utterances(f"{long} {long}") == [long, long]


def test_marks_alone_join_what_they_belong_to() -> None:
    assert utterances("... Hello. !!! ?", limit_chars=6) == ["... Hello. !!! ?"]


def test_a_text_without_space_is_cut_between_whole_characters() -> None:
    """G2: never inside a family, a flag, a skin tone, a keycap or a vowel sign."""
    whole = [FAMILY, "🇩🇪", "👋🏽", "1\ufe0f\u20e3", ENGLAND, "नि", "e\u0301"]
    for limit in range(12, 40):
        for kind in whole:
            text = "a" + kind * 30
            pieces = utterances(text, limit_chars=limit)
            assert without_space("".join(pieces)) == text
            for piece in pieces:
                assert without_space(piece).removeprefix("a").replace(kind, "") == ""


@settings(deadline=None, max_examples=300)
@given(
    st.text(
        st.one_of(
            st.characters(),
            st.sampled_from(" \n.!?。…”»)Drab1\u200d\U0001f1e9\U0001f1ea\u00a0"),
        ),
        max_size=120,
    ),
    st.integers(1, 40),
)
def test_splitting_keeps_every_character_but_white_space(text: str, limit_chars: int) -> None:
    """G4: and makes no piece without something to say."""
    text = clean(text)
    pieces = utterances(text, limit_chars)
    assert all(is_speakable(piece) and piece == piece.strip() for piece in pieces) or not pieces
    if is_speakable(text):
        assert without_space("".join(pieces)) == without_space(text)
    else:
        assert pieces == []


@settings(deadline=None)
@given(st.lists(st.text(st.sampled_from("abcdé"), min_size=1, max_size=12), min_size=1), st.integers(12, 60))
def test_words_make_utterances_within_the_limit(words: list[str], limit_chars: int) -> None:
    assert all(len(piece) <= limit_chars for piece in utterances(" ".join(words), limit_chars))


@settings(deadline=None, max_examples=300)
@given(st.text())
def test_cleaning_twice_changes_nothing(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    once.encode("utf-8")


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "word ",
        "One. ",
        "a. ",
        "Dr. ",
        "!",
        ".x",
        ".)",
        "。",
        "\n",
        "🇩🇪",
        "e\u0301",
        FAMILY,
        "👋🏽",
        "\u0301",
    ],
)
def test_a_hundred_thousand_characters_take_no_time(unit: str) -> None:
    """G5: whatever they are, none of the rules costs the square of the length."""
    text = "Hi " + (unit * MAX_TEXT_CHARS)[:MAX_TEXT_CHARS]
    started_s = time.process_time()
    pieces = utterances(clean(text))
    assert time.process_time() - started_s < 3
    assert without_space("".join(pieces)) == without_space(clean(text))


def test_an_utterance_is_short_enough_to_wait_for() -> None:
    assert all(len(p) <= UTTERANCE_CHARS for p in utterances("Some words of a sentence. " * 100))


# -- text that arrives in pieces -----------------------------------------------------------------------


_MOTLEY = st.lists(
    st.sampled_from([*'aB1 .!?…。！»)"\u00a0\u202f\n\r\ufeff\u2028\t', "Dr. ", "e.g. ", "Hello. "]),
    max_size=60,
).map("".join)


def in_pieces(text: str, cuts: list[int], limit_chars: int) -> list[str]:
    """Hand ``text``, cut at ``cuts``, to a new :class:`ArrivingText` and return all that it hands out."""
    arriving, edges = ArrivingText(limit_chars), sorted({0, len(text), *(min(c, len(text)) for c in cuts)})
    parts = [p for start, end in itertools.pairwise(edges) for p in arriving.write(text[start:end])]
    return parts + arriving.take_rest()


@given(text=_MOTLEY, cuts=st.lists(st.integers(0, 120)), limit_chars=st.sampled_from([3, 7, UTTERANCE_CHARS]))
def test_any_cutting_of_a_text_gives_the_sentences_of_the_whole(
    text: str, cuts: list[int], limit_chars: int
) -> None:
    assert in_pieces(text, cuts, limit_chars) == in_pieces(text, [], limit_chars)


@given(text=_MOTLEY, cuts=st.lists(st.integers(0, 120)))
def test_nothing_that_arrives_in_pieces_is_lost(text: str, cuts: list[int]) -> None:
    def letters(texts: list[str]) -> str:
        return "".join("".join(texts).split())

    assert letters(in_pieces(text, cuts, 7)) == letters([clean(text)])


def test_the_parts_of_whole_text_are_those_that_utterances_are_made_of() -> None:
    text = "Dr. Who said “Hi.” Then 3.14 came… « Oui. » 好。再見！ " + "word " * 100 + "end."
    joined = " ".join(in_pieces(text, list(range(len(text))), UTTERANCE_CHARS))
    assert utterances(joined) == utterances(text)


def test_a_sentence_is_handed_out_with_the_first_character_that_makes_it_certain() -> None:
    arriving = ArrivingText()
    assert [arriving.write(c) for c in "Hi. Yes"] == [[], [], [], ["Hi."], [], [], []]
    assert arriving.rest == "Yes"
    assert arriving.take_rest() == ["Yes"]
    assert arriving.rest == ""


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Hi.", True),
        ("Hi. ", True),
        ("Hi", False),
        ("Dr.", False),
        ("好。", True),
        ("", False),
        ("« Oui.", True),
    ],
)
def test_a_text_that_stops_arriving_may_be_whole(text: str, whole: bool) -> None:
    arriving = ArrivingText()
    arriving.write(text[:-1])
    left = arriving.write(text[-1:])
    assert (arriving.may_be_whole or bool(left)) is whole


def test_a_text_without_any_end_goes_out_in_parts_before_it_is_over() -> None:
    arriving = ArrivingText(limit_chars=20)
    assert arriving.write("one two three four five six") == ["one two three four"]


@pytest.mark.parametrize("text", ["." * MAX_TEXT_CHARS, "a" * MAX_TEXT_CHARS, "! " * (MAX_TEXT_CHARS // 2)])
def test_a_long_text_takes_no_minute_even_one_character_at_a_time(text: str) -> None:
    started_s, arriving = time.process_time(), ArrivingText()
    for character in text:
        arriving.write(character)
    assert time.process_time() - started_s < 10.0
