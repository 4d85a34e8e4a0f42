"""What the form of a voice is made of: controls with their names."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.gui.mnemonics import without_mnemonic
from app.gui.style import tokens
from app.gui.style.roles import set_role
from app.gui.widgets.remark import Remark


class Field(QWidget):
    """A control with its name above it and, if something is wrong, a remark below."""

    def __init__(self, control: QWidget, with_note: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.control = control
        self.label = QLabel()
        self.label.setBuddy(control)
        set_role(self.label, "caption")
        self.note = QLabel()
        set_role(self.note, "caption")
        self.note.setVisible(with_note)
        self.remark = Remark()
        head = QHBoxLayout()
        head.addWidget(self.label)
        head.addStretch(1)
        head.addWidget(self.note)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens.XS)
        column.addLayout(head)
        column.addWidget(control)
        column.addWidget(self.remark)

    def name(self, text: str, accessible: str = "") -> None:
        """Call the control ``text``, in which ``&`` marks the key that leads to it."""
        self.label.setText(text)
        spoken = accessible or without_mnemonic(text)
        if self.control.accessibleName() != spoken:  # each call would be announced
            self.control.setAccessibleName(spoken)

    def remark_on(self, text: str, ink: str = "danger") -> None:
        """Say what is wrong, which a screen reader reads with the control; empty: nothing."""
        self.remark.show_text(text, ink)
        if self.control.accessibleDescription() != text:
            self.control.setAccessibleDescription(text)
