"""Contrast as WCAG 2.2 counts it: 4.5:1 for text, 3:1 for what must be seen to use a control."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from app.gui.style.tokens import DARK, LIGHT, Colours

PALETTES = [pytest.param(LIGHT, id="light"), pytest.param(DARK, id="dark")]

GROUNDS = ("window", "surface", "raised", "hover", "pressed")
TINTS = ("accent_soft", "info_soft", "good_soft", "warning_soft", "danger_soft")
ON_GROUNDS = ("text", "text_muted", "accent", "accent_hover", "good", "warning", "danger")
PAIRS = [
    *((ink, ground) for ground in GROUNDS for ink in ON_GROUNDS),
    *(("text", ground) for ground in TINTS),
    *(("text_muted", ground) for ground in TINTS),
    ("accent", "info_soft"),
    ("accent", "accent_soft"),
    ("good", "good_soft"),
    ("warning", "warning_soft"),
    ("danger", "danger_soft"),
    ("accent_text", "accent"),
    ("accent_text", "accent_hover"),
    ("accent_text", "accent_pressed"),
    ("danger_text", "danger"),
    ("danger_text", "danger_hover"),
    ("selection_text", "selection"),
]
SEEN = [
    *(("border_strong", ground) for ground in ("window", "surface", "raised")),
    *(("wave_played", ground) for ground in ("window", "surface")),
    ("accent", "track"),
]


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_counted_as_the_standard_does() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colours", PALETTES)
@pytest.mark.parametrize(("ink", "ground"), PAIRS)
def test_text_can_be_read_on_every_ground(colours: Colours, ink: str, ground: str) -> None:
    assert contrast(getattr(colours, ink), getattr(colours, ground)) >= 4.5


@pytest.mark.parametrize("colours", PALETTES)
@pytest.mark.parametrize(("ink", "ground"), SEEN)
def test_what_must_be_seen_can_be(colours: Colours, ink: str, ground: str) -> None:
    assert contrast(getattr(colours, ink), getattr(colours, ground)) >= 3.0


@pytest.mark.parametrize("colours", PALETTES)
def test_played_and_buffered_sound_can_be_told_apart(colours: Colours) -> None:
    assert contrast(colours.wave_played, colours.wave_buffered) >= 2.0


@pytest.mark.parametrize("colours", PALETTES)
def test_every_colour_is_written_in_full(colours: Colours) -> None:
    values = {f.name: getattr(colours, f.name) for f in fields(colours) if f.name != "is_dark"}
    assert [name for name, value in values.items() if not re.fullmatch("#[0-9a-f]{6}", value)] == []
