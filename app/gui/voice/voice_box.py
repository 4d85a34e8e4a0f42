"""The box of a server's voices."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QWidget

from app.gui.voice.words import speaker_name
from app.gui.widgets.choice import Choice
from app.session.voices import VoiceList, normal


class VoiceBox(Choice):
    """Speakers and uploaded voices under headings; a line to write in while nobody knows what there is.

    Signals:
        picked(str): a voice of the list; empty: the server's default.
        typed(str): a name was written, letter by letter.
        left: writing has ended.

    """

    picked = Signal(str)
    typed = Signal(str)
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[VoiceList | None, bool] | None = None
        self.activated.connect(self._on_activated)

    def show_voices(self, voices: VoiceList | None, is_clone: bool) -> None:
        """Offer what ``voices`` has for a clone, or for everything else."""
        if self._shown != (voices, is_clone):
            self._shown = voices, is_clone
            self._fill()

    def show_name(self, name: str) -> None:
        """Show the voice called ``name``, however it is written; empty: the server's default."""
        line = self.lineEdit()
        if line is None:
            with QSignalBlocker(self):
                self.show_data(normal(name))
        elif line.text() != name:
            line.setText(name)

    def retranslate(self) -> None:
        """Speak another language."""
        if self._shown is not None:
            self._fill()

    def _fill(self) -> None:
        assert self._shown is not None
        voices, is_clone = self._shown
        with QSignalBlocker(self):
            self.clear()
            if voices is None:
                self._make_writable(is_clone)
                return
            self.setEditable(False)
            self.setPlaceholderText(
                self.tr("Choose a voice") if voices.uploaded else self.tr("None uploaded yet")
            )
            if not is_clone:
                self.addItem(self.tr("The server's default"), "")
                if voices.speakers:
                    self.add_heading(self.tr("Speakers"))
                for name in voices.speakers:
                    self.addItem(speaker_name(name), name)
                if voices.uploaded:
                    self.add_heading(self.tr("Uploaded"))
            for voice in voices.uploaded:
                self.addItem(voice.name, normal(voice.name))

    def _make_writable(self, is_clone: bool) -> None:
        if (line := self.lineEdit()) is None:
            self.setEditable(True)
            line = self.lineEdit()
            assert line is not None
            self.setCompleter(None)  # type: ignore[arg-type]  # a null pointer takes it away
            line.textEdited.connect(self.typed)
            line.editingFinished.connect(self.left)
        line.setPlaceholderText(
            self.tr("Name of the uploaded voice") if is_clone else self.tr("The server's default, or a name")
        )

    def _on_activated(self, at: int) -> None:
        if not self.isEditable():
            self.picked.emit(self.itemData(at))
