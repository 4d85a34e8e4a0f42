"""What happens when a person closes the window: it goes on in the tray, or everything ends."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget

from app.desktop.settings import Settings


class Closing(QObject):
    """Decides between tray and end, asking once where that is not known.

    Signals:
        ending: the program should end; comes once.

    """

    ending = Signal()

    def __init__(
        self, window: QWidget, settings: Settings, has_tray: Callable[[], bool], app: QApplication
    ) -> None:
        super().__init__(window)
        self._window = window
        self._settings = settings
        self._has_tray = has_tray
        self._question: QMessageBox | None = None
        self._has_ended = False
        # Qt would leave its loop by itself, in the middle of what runs in it.
        app.setQuitOnLastWindowClosed(False)
        app.installEventFilter(self)
        self._app = app

    def close_window(self) -> None:
        """Close the window, as its owner wants it to be."""
        on_close = self._settings.effective.window.on_close
        if not self._has_tray() or on_close == "quit":
            self.end()
        elif on_close == "tray":
            self._window.hide()
        else:
            self._ask()

    def end(self) -> None:
        """End the program; further calls do nothing."""
        if not self._has_ended:
            self._has_ended = True
            self._app.removeEventFilter(self)
            self.ending.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take the desktop's wish to quit (dock, end of the session) as one to end in order."""
        if watched is self._app and event.type() is QEvent.Type.Quit:
            self.end()
            return True
        return False

    def _ask(self) -> None:
        """Ask without stopping anything: what is spoken goes on meanwhile."""
        if self._question is None:
            question = QMessageBox(self._window)
            question.setWindowModality(Qt.WindowModality.NonModal)
            question.setIcon(QMessageBox.Icon.Question)
            question.setWindowTitle(self.tr("Close the window"))
            question.setText(self.tr("Keep Nearfield in the tray?"))
            question.setInformativeText(
                self.tr(
                    "There it goes on speaking, and is quickly at hand. You are asked this once;"
                    " the settings have it, too."
                )
            )
            keep = question.addButton(self.tr("Keep in the tray"), QMessageBox.ButtonRole.AcceptRole)
            leave = question.addButton(self.tr("Quit"), QMessageBox.ButtonRole.DestructiveRole)
            question.addButton(QMessageBox.StandardButton.Cancel)
            question.setDefaultButton(keep)
            keep.clicked.connect(lambda: self._remember("tray"))
            leave.clicked.connect(lambda: self._remember("quit"))
            question.finished.connect(self._forget_question)
            self._question = question
        self._question.show()
        self._question.raise_()
        self._question.activateWindow()

    def _remember(self, choice: str) -> None:
        self._settings.update(**{"window.on_close": choice})
        self.close_window()

    def _forget_question(self) -> None:
        if self._question is not None:
            self._question.deleteLater()
            self._question = None
