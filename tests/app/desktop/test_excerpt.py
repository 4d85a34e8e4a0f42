"""The beginning of a text in one line."""

from __future__ import annotations

from app.desktop.excerpt import excerpt


def test_it_is_one_line_of_bounded_length() -> None:
    assert excerpt(" One\n\n two\tthree ") == "One two three"
    assert excerpt("One two three", 7) == "One two…"
    assert excerpt("One two three", 8) == "One two…", "no space before the ellipsis"
    assert excerpt("One two", 7) == "One two"
    assert excerpt("") == ""


def test_of_a_long_text_only_the_beginning_is_looked_at() -> None:
    assert excerpt("a" * 100_000) == "a" * 60 + "…"
    assert excerpt(" " * 100_000 + "a") == ""
