"""A question in its place, which nobody has to answer before going on."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QHideEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.gui.style import tokens
from app.gui.style.roles import set_role


class Question(QFrame):
    """A text with a button that does something and one that does not; both make it go away.

    Attributes:
        asks: which question it is, empty while it is hidden.
        yes, no: its buttons.

    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_role(self, "card")
        self.asks = ""
        self._do: Callable[[], None] = self.hide
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.yes = QPushButton()
        self.no = QPushButton()
        set_role(self.no, "quiet")
        row = QHBoxLayout()
        row.setSpacing(tokens.S)
        row.addStretch(1)
        row.addWidget(self.no)
        row.addWidget(self.yes)
        column = QVBoxLayout(self)
        column.setContentsMargins(tokens.M, tokens.S, tokens.S, tokens.S)
        column.setSpacing(tokens.S)
        column.addWidget(self.text)
        column.addLayout(row)
        self.yes.clicked.connect(self._on_yes)
        self.no.clicked.connect(self.hide)

    def ask(
        self,
        asks: str,
        text: str,
        yes: str,
        do: Callable[[], None],
        no: str,
        *,
        is_dangerous: bool = False,
    ) -> None:
        """Show the question ``asks``; ``do`` is called if it is answered with yes."""
        is_new = self.asks != asks or self.text.text() != text
        self.asks, self._do = asks, do
        self.text.setText(text)
        self.yes.setText(yes)
        self.no.setText(no)
        set_role(self.yes, "danger" if is_dangerous else "link")
        self.show()
        if is_new:
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    def hideEvent(self, event: QHideEvent) -> None:
        """Ask nothing any longer."""
        super().hideEvent(event)
        if self.isHidden():  # and not merely in a window that is
            self.asks = ""

    def _on_yes(self) -> None:
        self.hide()
        self._do()
