"""Every size and colour of the window, in one place."""

from __future__ import annotations

from dataclasses import dataclass

XS = 4
S = 8
M = 16
L = 24
XL = 32
"""Distances in device-independent pixels, on a grid of 8 with one half step."""

RADIUS = 8
"""Of cards and fields; what lies inside of one takes less."""
RADIUS_SMALL = 4
RING = 2
"""Width of the ring around what has the keyboard's focus."""
ICON = 18
"""Side of an icon beside text."""
CONTROL = 32
"""Least height of what can be clicked, in a window whose text is not enlarged."""

CAPTION = 0.875
BODY = 1.0
TITLE = 1.3
DISPLAY = 3.0
"""The type scale: factors to the point size that the desktop gives its text."""


@dataclass(frozen=True)
class Colours:
    """One palette, each colour as ``#rrggbb``. Every text colour is readable (4.5:1) on every background."""

    is_dark: bool
    window: str
    """Behind everything."""
    surface: str
    """Cards, and what is written into."""
    raised: str
    """Menus and tooltips, above all else."""
    hover: str
    """A quiet control under the pointer."""
    pressed: str
    border: str
    """Lines that only divide."""
    border_strong: str
    """Outlines of controls, which must be seen (3:1)."""
    text: str
    text_muted: str
    text_disabled: str
    """Of what cannot be used now; the one colour that may be faint."""
    accent: str
    accent_hover: str
    accent_pressed: str
    accent_text: str
    """On the accent."""
    accent_soft: str
    """A tint of it, behind text: the sentence that is heard, what is chosen in a list."""
    good: str
    warning: str
    danger: str
    danger_hover: str
    danger_text: str
    """On danger."""
    info_soft: str
    good_soft: str
    warning_soft: str
    danger_soft: str
    """Tints, behind text."""
    selection: str
    selection_text: str
    wave_played: str
    wave_buffered: str
    track: str
    """The groove of a slider, the empty part of a graph."""


LIGHT = Colours(
    is_dark=False,
    window="#f5f6f7",
    surface="#ffffff",
    raised="#ffffff",
    hover="#eaedef",
    pressed="#dde2e5",
    border="#dce0e3",
    border_strong="#868f97",
    text="#1a1e21",
    text_muted="#56606a",
    text_disabled="#9aa2aa",
    accent="#0a6b74",
    accent_hover="#085a62",
    accent_pressed="#064a50",
    accent_text="#ffffff",
    accent_soft="#d8eff0",
    good="#17683a",
    warning="#7d4e00",
    danger="#b3242b",
    danger_hover="#961a21",
    danger_text="#ffffff",
    info_soft="#e6f3f4",
    good_soft="#e2f3e8",
    warning_soft="#fcf0d6",
    danger_soft="#fde8e7",
    selection="#b5dfe2",
    selection_text="#10191a",
    wave_played="#0a6b74",
    wave_buffered="#9fb1b8",
    track="#e3e7ea",
)

DARK = Colours(
    is_dark=True,
    window="#15181a",
    surface="#1d2124",
    raised="#262b2f",
    hover="#2a3034",
    pressed="#343b40",
    border="#30363b",
    border_strong="#707a83",
    text="#e7eaec",
    text_muted="#a6b0b8",
    text_disabled="#646e76",
    accent="#5cc4cb",
    accent_hover="#78d3d9",
    accent_pressed="#46a9b0",
    accent_text="#052326",
    accent_soft="#173b3e",
    good="#6fce92",
    warning="#e8b95c",
    danger="#ff9b96",
    danger_hover="#ffb3af",
    danger_text="#3a0507",
    info_soft="#1a3033",
    good_soft="#1a3324",
    warning_soft="#382c14",
    danger_soft="#432224",
    selection="#24585d",
    selection_text="#f2fafa",
    wave_played="#5cc4cb",
    wave_buffered="#57656d",
    track="#2c3236",
)
