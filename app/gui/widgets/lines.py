"""A few lines of text in a form."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QWidget

from app.gui.style import tokens
from app.gui.style.theme import theme


class Lines(QPlainTextEdit):
    """A few lines of text; the tabulator leaves it, and everything pasted is plain.

    Signals:
        left: the focus has gone elsewhere.

    """

    left = Signal()

    def __init__(self, lines: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines = lines
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self._fit)
        self._fit()

    def show_text(self, text: str) -> None:
        """Show ``text``; the cursor stays where it is if that is what is there."""
        if self.toPlainText() != text:
            self.setPlainText(text)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Tell that it was left."""
        super().focusOutEvent(event)
        self.left.emit()

    def _fit(self) -> None:
        line = self.fontMetrics().lineSpacing()
        margins = 2 * (tokens.S + self.frameWidth()) + 2 * round(self.document().documentMargin())
        self.setFixedHeight(self._lines * line + margins)
