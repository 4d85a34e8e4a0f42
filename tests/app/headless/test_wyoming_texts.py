from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import TextTooLong
from app.headless.wyoming.texts import Text
from app.text import MAX_TEXT_CHARS, clean, utterances


async def taken(text: Text) -> list[list[str]]:
    """All that a text hands out, until it is over."""
    found = []
    while pieces := await text.next():
        found.append(pieces)
    return found


async def test_a_whole_text_is_cut_as_everywhere() -> None:
    """What `say` would send is what is sent."""
    whole = "One. Two. " + "Three words more. " * 50
    text = Text(is_whole=True)
    text.write(whole)
    text.close()
    assert await taken(text) == [utterances(clean(whole))]
    assert await text.next() == []


async def test_sentences_are_handed_out_as_they_arrive() -> None:
    """The first is there before the second is whole, and waiting ends when there is more."""
    text = Text(is_whole=False)
    text.write("One sen")
    waiting = asyncio.ensure_future(text.next())
    await asyncio.sleep(0)
    assert not waiting.done()
    text.write("tence. And ano")
    assert await waiting == ["One sentence."]
    text.write("ther. And a third")
    assert await text.next() == ["And another."]
    text.close()
    text.close()
    assert await taken(text) == [["And a third"]]


async def test_what_cannot_be_said_is_not_waited_upon() -> None:
    """Marks alone say nothing, at the beginning or the end."""
    text = Text(is_whole=False)
    text.write("… … \n")
    text.write("Yes. …")
    text.close()
    assert [" ".join(p) for p in await taken(text)] in (["… … Yes. …"], ["… Yes. …"], ["Yes. …"])
    nothing = Text(is_whole=False)
    nothing.write("…")
    nothing.close()
    assert await taken(nothing) == []


async def test_too_long_is_told_and_not_kept() -> None:
    """In one piece or in many."""
    text = Text(is_whole=False)
    text.write("x" * MAX_TEXT_CHARS)
    with pytest.raises(TextTooLong):
        text.write("y")


@given(st.lists(st.text(alphabet="ab .!?\n", max_size=20), max_size=8))
def test_nothing_is_lost_however_it_is_cut(pieces: list[str]) -> None:
    """All letters come out, in order."""

    async def run() -> str:
        text = Text(is_whole=False)
        found = ""
        for piece in pieces:
            text.write(piece)
        text.close()
        for batch in await taken(text):
            found += "".join(batch)
        return found

    letters = "".join(c for c in "".join(pieces) if c in "ab")
    assert "".join(c for c in asyncio.run(run()) if c in "ab") == letters
