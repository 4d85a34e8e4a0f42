"""Saving the sound of a reading to a file of one's own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import QObject, QStandardPaths, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.desktop.export import SUFFIXES, available_suffixes, suggested_name
from app.desktop.history import History
from app.engine.events import Severity
from app.errors import RecordingError
from app.gui.tasks import Tasks


class SoundSaver(QObject):
    """Asks where to, and writes there; the window stays usable meanwhile.

    Signals:
        notice: a `Severity` and how it went.

    """

    notice = Signal(Severity, str)

    def __init__(self, history: History, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._history = history
        self._tasks = tasks
        self._over = parent
        self._folder = Path(
            QStandardPaths.writableLocation(QStandardPaths.StandardLocation.MusicLocation) or Path.home()
        )

    def ask(self, entry_id: str, text: str) -> QFileDialog:
        """Ask for a file and write an entry, or the latest reading, to it; ``text`` suggests a name.

        Returns the dialog, which is open; nobody waits for it.
        """
        dialog = QFileDialog(self._over.window(), self.tr("Save audio"), str(self._folder))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setFileMode(QFileDialog.FileMode.AnyFile)
        names = {
            ".wav": self.tr("WAV (*.wav)"),
            ".flac": self.tr("FLAC, lossless (*.flac)"),
            ".ogg": self.tr("Ogg Vorbis, small (*.ogg)"),
            ".opus": self.tr("Opus, smallest (*.opus)"),
        }
        suffixes = available_suffixes()
        filters = [names[suffix] for suffix in suffixes]
        dialog.setNameFilters(filters)
        dialog.setDefaultSuffix("wav")
        dialog.filterSelected.connect(
            lambda chosen: dialog.setDefaultSuffix(suffixes[filters.index(chosen)].removeprefix("."))
        )
        dialog.selectFile(suggested_name(text))
        dialog.fileSelected.connect(lambda path: self.save(entry_id, Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        # Not modal: stopping what is spoken must stay possible.
        dialog.setWindowModality(Qt.WindowModality.NonModal)
        dialog.show()
        return dialog

    def save(self, entry_id: str, path: Path) -> None:
        """Write it to ``path``; a suffix that is none of a sound file's is taken as part of the name."""
        if path.suffix.lower() not in SUFFIXES:
            path = path.with_name(f"{path.name}.wav")
        self._folder = path.parent
        self._tasks.spawn(self._export(entry_id, path))

    async def _export(self, entry_id: str, path: Path) -> None:
        try:
            await asyncio.to_thread(self._history.export, entry_id, path)
        except RecordingError as error:
            self.notice.emit(Severity.ERROR, str(error))
        else:
            self.notice.emit(Severity.INFO, self.tr("Saved as {0}.").format(path))
