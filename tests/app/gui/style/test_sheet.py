from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.gui.style.marks import Marks
from app.gui.style.sheet import style_sheet
from app.gui.style.tokens import DARK, LIGHT, Colours


def sheet(colours: Colours, text_scale: float = 1.0) -> str:
    return style_sheet(
        colours,
        lambda step: 10 * text_scale * step,
        lambda length: round(length * text_scale),
        Marks().drawn(colours),
    )


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_every_colour_comes_from_the_tokens(colours: Colours) -> None:
    used = set(re.findall(r"#[0-9a-fA-F]{3,8}\b", sheet(colours)))
    known = {value for value in vars(colours).values() if isinstance(value, str)}
    assert used <= known
    assert colours.accent in used


def test_light_and_dark_differ_in_colour_only() -> None:
    def shape(text: str) -> str:
        return re.sub(r'#[0-9a-f]{6}|url\("[^"]*"\)', "", text)

    assert shape(sheet(LIGHT)) == shape(sheet(DARK))


def test_text_and_what_is_ticked_grow_together() -> None:
    small, large = sheet(LIGHT), sheet(LIGHT, 2.0)
    assert "font-size: 13.00pt" in small
    assert "font-size: 26.00pt" in large
    assert "width: 16px; height: 16px" in small
    assert "width: 32px; height: 32px" in large


def test_every_mark_is_drawn_in_the_colour_of_its_palette() -> None:
    marks = Marks()
    for colours in (LIGHT, DARK):
        for path in marks.drawn(colours).values():
            svg = Path(path).read_text("utf-8")
            assert "currentColor" not in svg
    assert set(marks.drawn(LIGHT).values()).isdisjoint(marks.drawn(DARK).values())
