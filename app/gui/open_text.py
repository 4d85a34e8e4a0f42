"""Opening a text through the desktop's own dialog, which stops nothing."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFileDialog

from app.desktop.documents import SUFFIXES
from app.gui.main_window import MainWindow


class OpenText(QObject):
    """Shows the dialog; one that is open already comes to the front."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.dialog: QFileDialog | None = None
        window.act["open_text"].triggered.connect(self.ask)

    def ask(self) -> None:
        """Ask for a text file and show it in the editor."""
        if self.dialog is None:
            dialog = QFileDialog(self._window, self.tr("Open a text"))
            dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
            dialog.setNameFilters(
                [
                    self.tr("Texts ({0})").format(" ".join(f"*{suffix}" for suffix in SUFFIXES)),
                    self.tr("All files ({0})").format("*"),
                ]
            )
            dialog.fileSelected.connect(lambda name: self._window.editor.open_document(Path(name)))
            dialog.finished.connect(self._forget)
            self.dialog = dialog
        # Beside the window: stopping what is spoken must stay possible.
        self.dialog.setWindowModality(Qt.WindowModality.NonModal)
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.activateWindow()

    def _forget(self) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None
