from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from PySide6.QtWidgets import QApplication

from app.gui.style.theme import Theme, theme


@dataclass
class Clock:
    """Time that passes when it is told to."""

    now_s: float = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def look(qapp: QApplication) -> Iterator[Theme]:
    """The application's theme, light and of plain size before and after."""
    theme().apply(qapp, "light")
    yield theme()
    theme().apply(qapp, "light")
