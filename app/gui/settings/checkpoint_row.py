"""The place of the weights: looked at before it is used, so that a slip of the keyboard breaks nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from app.desktop.checkpoints import Checkpoint, is_repository
from app.desktop.settings import Settings
from app.gui.settings.amounts import size_text
from app.gui.settings.rows import Bound
from app.gui.settings.services import Services
from decoder.errors import CheckpointError


class CheckpointRow(Bound):
    """A folder or a repository; counts once it was found to hold what is needed.

    Signals:
        missing: a repository whose weights are not here, to be offered for download; empty for none.

    """

    missing = Signal(str)

    def __init__(self, settings: Settings, services: Services, parent: QWidget | None = None) -> None:
        self.edit = QLineEdit()
        super().__init__(settings, "decoder.checkpoint", self.edit, parent)
        self._services = services
        self._used = ""
        self._typed = ""
        self._look = 0
        self._found: Checkpoint | None = None
        self._is_missing = False
        self._unused = ""
        """Why what was typed is not used."""
        self.edit.editingFinished.connect(self._on_finished)

    @property
    def folder(self) -> str:
        """Where to begin when a folder is chosen."""
        return self._used if Path(self._used).is_absolute() else str(Path.home())

    def show_value(self, value: Any) -> None:
        """Show ``value``; what is being typed stays."""
        if value != self._used:
            self._used = self._typed = value
            self._unused, self._found = "", None
            self.edit.setText(value)
            if self.isVisible():
                self.look()

    def use(self, source: str) -> None:
        """Use ``source`` if it holds what is needed."""
        self.edit.setText(source)
        self._typed = source
        self.look()

    def look(self) -> None:
        """Look at what is shown; used from then on if it is well."""
        self._look += 1
        self._services.tasks.spawn(self._look_at(self._typed.strip(), self._look))

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._show_remark()

    async def _look_at(self, source: str, look: int) -> None:
        try:
            found, reason = await self._services.look_at(source), ""
        except CheckpointError as error:
            found, reason = None, str(error)
        if look != self._look:
            return  # something else was asked for meanwhile
        self._found, self._unused = found, reason
        self._is_missing = found is None and is_repository(source)
        self.missing.emit(source if self._is_missing else "")
        if found is not None and source != self._used:
            self._used = source
            self.commit(source)
        self._show_remark()

    def _on_finished(self) -> None:
        if self.edit.text() != self._typed:
            self.use(self.edit.text())

    def _show_remark(self) -> None:
        super()._show_remark()
        if self._fault:
            return
        if self._found is not None:
            text = self.tr("Found: {0} at {1} kHz, in {2}").format(
                size_text(self._found.size_bytes), self._found.sample_rate_hz / 1000, self._found.folder
            )
            self.remark_on(text, "good")
            return
        if not self._unused:
            return
        reason = self.tr("It is not on this computer yet.") if self._is_missing else self._unused
        if self._typed.strip() != self._used:
            self.remark_on(self.tr("{0}\nStill in use: {1}").format(reason, self._used))
        else:
            self.remark_on(reason, "warning")
