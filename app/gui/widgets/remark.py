"""A small line that says what is wrong, or how it went, beneath what it is about."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QLabel, QWidget

from app.gui.style import tokens
from app.gui.style.theme import theme


class Remark(QLabel):
    """A small line beneath something, in one of the theme's inks; takes no room while it is empty."""

    def __init__(self, ink: str = "danger", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ink = ink
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setVisible(False)
        theme().changed.connect(self._draw)
        self._draw()

    def show_text(self, text: str, ink: str = "") -> None:
        """Show ``text``; empty: nothing."""
        if ink and ink != self._ink:
            self._ink = ink
            self._draw()
        self.setText(text)
        self.setVisible(bool(text))

    def _draw(self) -> None:
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.WindowText, QColor(getattr(theme().colours, self._ink)))
        self.setPalette(palette)
        self.setFont(theme().font(tokens.CAPTION))
