"""Splitting keeps every character but white space, and whole what belongs together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.emulator.sentences import split_units


@settings(deadline=None)
@given(
    st.text(alphabet="aB3 .,;!?…。，\n\"')”Dr", max_size=60), st.sampled_from(["none", "sentence", "clause"])
)
def test_nothing_but_white_space_is_lost(text: str, granularity: str) -> None:
    units = split_units(text, granularity)
    assert "".join("".join(units).split()) == "".join(text.split())
    assert all(unit == unit.strip() != "" for unit in units)


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Pi is 3.14 today. Yes.", ["Pi is 3.14 today.", "Yes."]),
        ("Dr. Smith met Mr. J. Doe. Fine.", ["Dr. Smith met Mr. J. Doe.", "Fine."]),
        ("See https://example.org/a.b?c=d. Now.", ["See https://example.org/a.b?c=d.", "Now."]),
        ("He said “Go!” Then he went.", ["He said “Go!”", "Then he went."]),
        ("你好。今天很好！", ["你好。", "今天很好！"]),
        ("Title\n\nText", ["Title", "Text"]),
        ("...", ["..."]),
        (" \n ", []),
    ],
)
def test_sentences(text: str, units: list[str]) -> None:
    assert split_units(text, "sentence") == units


def test_clauses_and_none() -> None:
    assert split_units("One, two; 1,000 three. Four.", "clause") == ["One,", "two;", "1,000 three.", "Four."]
    assert split_units(" One. Two. ", "none") == ["One. Two."]
    assert split_units("One. Two.", None) == ["One. Two."]
