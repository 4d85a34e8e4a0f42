from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.headless.speechd.ssml import Mark, Script, read
from app.text import normalised


@pytest.mark.parametrize(
    ("ssml", "text"),
    [
        ("<speak>Hello there.</speak>", "Hello there."),
        ("plain & simple, 3 < 4 > 2", "plain & simple, 3 < 4 > 2"),
        ("<speak>a &lt;b&gt; &amp;amp; &quot;c&quot; &#228;</speak>", 'a <b> &amp; "c" ä'),
        ("<speak><p>One</p><p>Two</p></speak>", "One\nTwo\n"),
        ("<s>One</s><break/>Two", "One\nTwo"),
        ("say <emphasis level='strong'>this</emphasis>", "say this"),
        ("<![CDATA[a <b>]]> c", "a <b> c"),
        ("<?xml version='1.0'?><!-- no -->yes", "yes"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]>&a;", "<!DOCTYPE x [<!ENTITY a 'b'>]>&a;"),
        ("a\x00b\ud800", "ab"),
        ("", ""),
    ],
)
def test_the_words_without_the_tags(ssml: str, text: str) -> None:
    """Entities are resolved once, breaks are line breaks, nothing that cannot be sent is left."""
    assert read(ssml).text == text


def test_where_the_marks_are() -> None:
    """They count the characters before them, as they are spoken."""
    script = read('<speak>A &amp; b.<mark name="__spd_0"/> Two <mark name=\'x &gt; "y"\' />words</speak>')
    assert script == Script("A & b. Two words", (Mark("__spd_0", 6), Mark('x > "y"', 11)))


def test_what_comes_again_after_a_pause_has_its_tags_escaped() -> None:
    """Its marks are marks again, and no tag is read out."""
    once = '<speak>A &lt; b.<mark name="__spd_0"/> C.</speak>'
    twice = f"<speak>{html.escape(once)}</speak>"
    assert read(twice) == read(once) == Script("A < b. C.", (Mark("__spd_0", 6),))


def test_a_mark_without_a_name_is_none() -> None:
    """Nothing could be told of it."""
    assert read("<mark/>a<mark nam='x'/>").marks == ()


@given(st.text(st.characters(codec="utf-8")))
def test_any_text_survives(text: str) -> None:
    """What speech-dispatcher escapes is what is spoken."""
    assert read(f"<speak>{html.escape(text)}</speak>").text == normalised(text)
    assert read(f"<speak>{html.escape(f'<speak>{html.escape(text)}</speak>')}</speak>").text == normalised(
        text
    )


@given(st.text(alphabet="<>/&;mark name=\"'!-[]?s", max_size=60))
def test_no_nonsense_is_too_much(text: str) -> None:
    """Whatever comes, marks are in order and within the text."""
    script = read(text)
    places = [mark.at_chars for mark in script.marks]
    assert places == sorted(places)
    assert all(0 <= place <= len(script.text) for place in places)
