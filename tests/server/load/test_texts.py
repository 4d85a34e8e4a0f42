"""Texts that no two sessions share."""

from __future__ import annotations

import pytest

from server.load.texts import MAX_TEXTS, own_text


def test_every_session_has_a_text_of_its_own() -> None:
    """Already by its first two words, which are the shortest text there is."""
    for words in (2, 6):
        texts = [own_text(index, words) for index in range(MAX_TEXTS)]
        assert len(set(texts)) == MAX_TEXTS
        assert {len(text.split()) for text in texts} == {words}


def test_it_is_the_same_in_every_run() -> None:
    assert own_text(5) == own_text(5)
    assert own_text(5, 9).startswith(own_text(5, 3).removesuffix("."))


@pytest.mark.parametrize(("index", "words"), [(-1, 6), (MAX_TEXTS, 6), (0, 1)])
def test_what_there_is_no_text_for_is_refused(index: int, words: int) -> None:
    with pytest.raises(ValueError, match="text"):
        own_text(index, words)
