"""What can be done with an entry of the history, and with all of them."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QToolButton

from app.desktop.history import Entry
from app.gui.style.icons import icon
from app.gui.style.roles import set_role


class EntryActions(QObject):
    """The actions, for a menu and as buttons.

    Attributes:
        replay, edit, copy, save, delete: with the entry that is selected.
        clear: with all of them.

    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.replay = QAction(icon("play"), "", self)
        self.edit = QAction(icon("edit"), "", self)
        self.copy = QAction(icon("copy"), "", self)
        self.save = QAction(icon("save"), "", self)
        self.delete = QAction(icon("delete"), "", self)
        self.clear = QAction(icon("clear"), "", self)
        self._buttons: list[QToolButton] = []
        self.retranslate()

    def button(self, action: QAction) -> QToolButton:
        """Make a button of an action's icon."""
        button = QToolButton()
        button.setDefaultAction(action)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        set_role(button, "quiet")
        self._buttons.append(button)
        self._name_buttons()
        return button

    def enable_for(self, entry: Entry | None) -> None:
        """Offer what can be done with ``entry``."""
        for action in (self.replay, self.save, self.delete):
            action.setEnabled(entry is not None)
        for action in (self.edit, self.copy):
            action.setEnabled(entry is not None and bool(entry.text))

    def retranslate(self) -> None:
        """Say everything in the language of the moment."""
        for action, text, keys in (
            (self.replay, self.tr("Hear again"), self.tr("Enter")),
            (self.edit, self.tr("Put the text into the editor"), ""),
            (self.copy, self.tr("Copy the text"), self.tr("Ctrl+C")),
            (self.save, self.tr("Save audio…"), ""),
            (self.delete, self.tr("Delete"), self.tr("Del")),
            (self.clear, self.tr("Clear the history…"), ""),
        ):
            # The keys are only shown: the list takes them while it has the focus, and nobody else shall.
            action.setText(f"{text}\t{keys}" if keys else text)
            action.setToolTip(self.tr("{0} ({1})").format(text, keys) if keys else text)
        self._name_buttons()

    def _name_buttons(self) -> None:
        for button in self._buttons:
            button.setAccessibleName(button.defaultAction().text().partition("\t")[0])
