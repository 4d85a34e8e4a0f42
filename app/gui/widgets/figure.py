"""A number with its name above it."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.desktop.figures import NOT_KNOWN
from app.gui.style.roles import Role, set_role


class Figure(QWidget):
    """Keeps its place while the number changes; a screen reader hears both together."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = QLabel()
        set_role(self._name, "caption")
        self._value = QLabel(NOT_KNOWN)
        set_role(self._value, "number")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._name)
        column.addWidget(self._value)

    def explain(self, name: str, meaning: str) -> None:
        """Set what the number is called, and what it means."""
        self._name.setText(name)
        self.setToolTip(meaning)
        self._describe()

    def show_value(self, text: str, is_alarming: bool = False) -> None:
        """Show a number, written out."""
        if text != self._value.text():
            self._value.setText(text)
            self._describe()
        role: Role = "alarm" if is_alarming else "number"
        if self._value.property("role") != role:
            set_role(self._value, role)

    def value(self) -> str:
        """Return what is shown."""
        return self._value.text()

    def _describe(self) -> None:
        self._value.setAccessibleName(f"{self._name.text()}: {self._value.text()}")
