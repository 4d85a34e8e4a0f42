"""What a widget is for, so that the style sheet can tell it from others of its class."""

from __future__ import annotations

from typing import Literal

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QWidget

Role = Literal[
    "title",  # a heading of a page
    "section",  # a heading within one
    "caption",  # small and muted: what a value means
    "display",  # the one large number
    "number",  # a number that changes
    "alarm",  # one that tells of something bad
    "primary",  # the button that does what the window is for
    "danger",  # the button that loses something
    "quiet",  # a button without an outline
    "link",  # a button that looks like a link
    "card",  # a frame with a surface of its own
    "pages",  # a list that leads to pages
    "chip",  # a button that says a state in a few words
]

_WITH_FIGURES = ("display", "number", "alarm", "caption", "chip")


def set_role(widget: QWidget, role: Role) -> None:
    """Say what ``widget`` is for; may be called again with another role.

    Figures of what shows numbers get one width each, so that nothing moves when they change.
    """
    widget.setProperty("role", role)
    if role in _WITH_FIGURES:
        widget.setFont(tabular(widget.font()))
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)


def tabular(font: QFont) -> QFont:
    """Return ``font`` with figures that are all as wide as each other, where it has them."""
    font = QFont(font)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font
