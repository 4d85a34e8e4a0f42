from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from app.gui.style.theme import Theme, theme


@pytest.fixture
def look(qapp: QApplication) -> Iterator[Theme]:
    """The application's theme, light and of plain size before and after."""
    theme().apply(qapp, "light")
    yield theme()
    theme().apply(qapp, "light")
