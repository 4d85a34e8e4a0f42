"""Chooses a recording of this machine: by a native dialog, or by dropping it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QStandardPaths, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.roles import set_role


class RecordingPicker(QFrame):
    """A place for one file.

    Signals:
        picked(str): a file was chosen; whether it can be used is not looked at here.

    """

    picked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._path = ""
        self._facts = ""
        self._dialog: QFileDialog | None = None
        self.setAcceptDrops(True)
        set_role(self, "card")
        self._name = QLabel()
        self._name.setTextFormat(Qt.TextFormat.PlainText)
        self._name.setWordWrap(True)
        self._hint = QLabel()
        self._hint.setTextFormat(Qt.TextFormat.PlainText)
        self._hint.setWordWrap(True)
        set_role(self._hint, "caption")
        self.button = QPushButton()
        self.button.setIcon(icon("open"))
        self.button.clicked.connect(self.ask)
        self.setFocusProxy(self.button)
        row = QHBoxLayout()
        row.addWidget(self.button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(tokens.M, tokens.S, tokens.M, tokens.S)
        column.setSpacing(tokens.XS)
        column.addWidget(self._name)
        column.addWidget(self._hint)
        column.addLayout(row)
        self._retranslate()

    def show_file(self, path: str, facts: str = "") -> None:
        """Show which file it is, and what is known of it; an empty path: none."""
        self._path, self._facts = path, facts
        self._retranslate()

    def ask(self) -> None:
        """Open the native dialog, without waiting for it here."""
        folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.MusicLocation)
        dialog = QFileDialog(self, self.tr("Choose a recording"), folder)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self.tr("WAV files (*.wav *.wave)"), self.tr("All files (*)")])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.picked)
        self._dialog = dialog
        dialog.finished.connect(self._forget)
        dialog.open()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take one file of this machine."""
        if len(event.mimeData().urls()) == 1 and event.mimeData().urls()[0].isLocalFile():
            event.acceptProposedAction()
            self._hint.setText(self.tr("Let go to take this file."))

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Be as before."""
        self._retranslate()

    def dropEvent(self, event: QDropEvent) -> None:
        """Take it."""
        event.acceptProposedAction()
        self._retranslate()
        self.picked.emit(event.mimeData().urls()[0].toLocalFile())

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    def _forget(self) -> None:
        self._dialog = None

    def _retranslate(self) -> None:
        name = Path(self._path).name
        self._name.setText(name)
        self._name.setToolTip(self._path)
        self._name.setVisible(bool(name))
        drop = self.tr("Drop a WAV file here: one voice, 1 to 30 seconds, little noise.")
        self._hint.setText(self._facts if name else drop)
        self._hint.setVisible(bool(self._hint.text()))
        self.button.setText(self.tr("Choose another…") if name else self.tr("Choose a WAV file…"))
        chosen = self.tr("Recording: {0}. Choose another").format(name)
        self.button.setAccessibleName(chosen if name else self.tr("Choose a WAV file of a voice"))
