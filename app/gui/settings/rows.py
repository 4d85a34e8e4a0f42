"""Controls with their names and remarks, each bound to one key of the settings."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QEvent, QSignalBlocker, Qt
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.config import Config
from app.desktop.settings import Settings
from app.errors import ConfigError
from app.gui.mnemonics import without_mnemonic
from app.gui.style import tokens
from app.gui.style.roles import set_role
from app.gui.widgets.remark import Remark

_GIVEN = {
    "command line": QT_TRANSLATE_NOOP(
        "Row", "Given on the command line for this start. What you choose here counts from now on."
    ),
    "environment": QT_TRANSLATE_NOOP(
        "Row", "Given by the environment for this start. What you choose here counts from now on."
    ),
}


class Row(QWidget):
    """A control with its name above it, what it means below, and room for what is wrong."""

    def __init__(self, control: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.control = control
        self.label = QLabel()
        self.label.setBuddy(control)
        self.label.setVisible(False)
        self.help = QLabel()
        self.help.setWordWrap(True)
        self.help.setTextFormat(Qt.TextFormat.PlainText)
        self.help.setVisible(False)
        set_role(self.help, "caption")
        self.remark = Remark()
        self.beside = QHBoxLayout()
        self.beside.setSpacing(tokens.S)
        self.beside.addWidget(control)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens.XS)
        column.addWidget(self.label)
        column.addLayout(self.beside)
        below = QVBoxLayout()
        below.setSpacing(tokens.XS)
        if isinstance(control, QCheckBox):  # beneath its text
            below.setContentsMargins(tokens.XL, 0, 0, 0)
        below.addWidget(self.help)
        below.addWidget(self.remark)
        column.addLayout(below)

    def name(self, text: str, help_text: str = "") -> None:
        """Call the control ``text``, in which ``&`` marks the key that leads to it, and say what it means."""
        if isinstance(self.control, QCheckBox):
            self.control.setText(text)
        else:
            self.label.setText(text)
            self.label.setVisible(True)
        self.control.setAccessibleName(without_mnemonic(text))
        self.explain(help_text)

    def explain(self, help_text: str) -> None:
        """Say what the control, or what is chosen in it, means."""
        self.help.setText(help_text)
        self.help.setVisible(bool(help_text))
        self._describe()

    def remark_on(self, text: str, ink: str = "danger") -> None:
        """Say what is wrong or how it went, which a screen reader reads with the control; empty: nothing."""
        self.remark.show_text(text, ink)
        self._describe()

    def _describe(self) -> None:
        self.control.setAccessibleDescription("\n".join(filter(None, (self.remark.text(), self.help.text()))))


class Bound(Row):
    """A row that shows one key of the settings and changes it."""

    def __init__(self, settings: Settings, key: str, control: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(control, parent)
        self.key = key
        self._settings = settings
        self._fault = ""

    def show_config(self, config: Config) -> None:
        """Show what is in force, and where it comes from if not from the file."""
        section, _, name = self.key.partition(".")
        with QSignalBlocker(self.control):
            self.show_value(getattr(getattr(config, section), name))
        self._show_remark()

    def show_value(self, value: Any) -> None:
        """Show ``value``, without telling anybody."""
        raise NotImplementedError

    def commit(self, value: Any) -> bool:
        """Change the key; a value that does not fit is told beside the control."""
        try:
            self._settings.update(**{self.key: value})
        except ConfigError as error:
            self._fault = str(error)
        else:
            self._fault = ""
        self._show_remark()
        return not self._fault

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._show_remark()
        super().changeEvent(event)

    def _show_remark(self) -> None:
        given = _GIVEN.get(self._settings.source(self.key))
        if self._fault:
            self.remark_on(self._fault)
        elif given is not None:
            self.remark_on(QCoreApplication.translate("Row", str(given)), "text_muted")
        else:
            self.remark_on("")
