"""The keys of the window, and how to have the clipboard spoken from anywhere."""

from __future__ import annotations

import sys

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QLabel, QVBoxLayout, QWidget

from app.gui.actions import Actions
from app.gui.style import tokens
from app.gui.style.roles import set_role

COMMAND = "nearfield say --clipboard"


class KeysDialog(QDialog):
    """Lists what the actions say of themselves; stops nothing while it is open."""

    def __init__(self, act: Actions, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowModality(Qt.WindowModality.NonModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._act = act
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(tokens.L)
        self._grid.setVerticalSpacing(tokens.XS)
        self._title = QLabel()
        set_role(self._title, "section")
        self._how = QLabel()
        self._how.setWordWrap(True)
        self._how.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(tokens.L, tokens.L, tokens.L, tokens.M)
        column.setSpacing(tokens.M)
        column.addLayout(self._grid)
        column.addWidget(self._title)
        column.addWidget(self._how)
        column.addWidget(buttons)
        self._retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self._retranslate()

    def _retranslate(self) -> None:
        self.setWindowTitle(self.tr("Keyboard"))
        self._title.setText(self.tr("From any other program"))
        if sys.platform.startswith("linux"):
            where = self.tr(
                "In the desktop's settings, under keyboard shortcuts, add one of your own with the command"
                " “{0}”. It has the window speak what was copied, and works without an open window, too."
            )
        else:
            where = self.tr(
                "Have a key of your choice run the command “{0}”, by the means of your system. It has the"
                " window speak what was copied, and works without an open window, too."
            )
        self._how.setText(where.format(COMMAND))
        self._how.setAccessibleName(self._how.text())
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        rows = self._act.keys()
        half = (len(rows) + 1) // 2
        for i, (name, keys) in enumerate(rows):
            row, column = i % half, 2 * (i // half)
            what, which = QLabel(name), QLabel(keys)
            set_role(which, "caption")
            self._grid.addWidget(what, row, column)
            self._grid.addWidget(which, row, column + 1)
