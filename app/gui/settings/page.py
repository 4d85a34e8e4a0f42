"""A page of the settings: a title, rows under headings, and more than fits scrolls."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.config import Config
from app.gui.settings.rows import Bound
from app.gui.style import tokens
from app.gui.style.roles import set_role
from app.gui.style.theme import theme

_T = TypeVar("_T", bound=QWidget)
_WIDTH = 520
"""Longer lines are tiring to read."""
_LEAST_WIDTH = 360


class Page(QScrollArea):
    """Base of the pages; subclasses add rows, and name everything in ``retranslate``."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.title = QLabel()
        set_role(self.title, "title")
        self.title.setWordWrap(True)
        self._rows: list[Bound] = []
        self._body = QWidget()
        self.column = QVBoxLayout(self._body)
        self.column.setContentsMargins(tokens.L, tokens.L, tokens.L, tokens.L)
        self.column.setSpacing(tokens.M)
        self.column.addWidget(self.title)
        self.setWidget(self._body)

    def add(self, widget: _T) -> _T:
        """Put ``widget`` below what is there."""
        self.column.addWidget(widget)
        if isinstance(widget, Bound):
            self._rows.append(widget)
        return widget

    def add_heading(self) -> QLabel:
        """Put a heading below what is there."""
        heading = QLabel()
        set_role(heading, "section")
        heading.setContentsMargins(0, tokens.S, 0, 0)
        return self.add(heading)

    def add_text(self) -> QLabel:
        """Put a paragraph in small print below what is there."""
        text = QLabel()
        text.setWordWrap(True)
        text.setTextFormat(Qt.TextFormat.PlainText)
        set_role(text, "caption")
        return self.add(text)

    def finish(self) -> None:
        """Leave the rest of the page empty, and name everything; the last thing that a constructor does."""
        self.column.addStretch(1)
        self.retranslate()

    def show_config(self, config: Config) -> None:
        """Show what is in force."""
        for row in self._rows:
            row.show_config(config)

    def open_page(self) -> None:
        """Take notice of being looked at."""

    def retranslate(self) -> None:
        """Set all texts."""
        raise NotImplementedError

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def minimumSizeHint(self) -> QSize:
        """Let a small window with large text scroll sideways rather than grow out of the screen."""
        return QSize(_LEAST_WIDTH, 0)

    def sizeHint(self) -> QSize:
        """Ask for lines of a good length."""
        return QSize(theme().scaled(_WIDTH), super().sizeHint().height())
