"""The voices that were uploaded to a server: use one, or delete it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.roles import set_role
from app.gui.widgets.remark import Remark
from app.session.voices import UploadedVoice, VoiceList, normal


class UploadedList(QWidget):
    """One row for each voice.

    Signals:
        chosen(str): speak with this voice.
        delete_confirmed(str): delete it.
        asking(object): this row has a question, which should be seen.

    """

    chosen = Signal(str)
    delete_confirmed = Signal(str)
    asking = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._voices: VoiceList | None = None
        self.rows: dict[str, UploadedRow] = {}
        self._empty = Remark("text_muted")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(tokens.S)
        self._column.addWidget(self._empty)
        self._render_empty()

    def show_voices(self, voices: VoiceList | None) -> None:
        """Show what ``voices`` has; a row that stays keeps what it is asking."""
        self._voices = voices
        uploaded = voices.uploaded if voices is not None else ()
        names = {normal(voice.name) for voice in uploaded}
        if voices is not None:
            for name in [name for name in self.rows if name not in names]:
                row = self.rows.pop(name)
                self._column.removeWidget(row)
                row.hide()
                row.deleteLater()
        for at, voice in enumerate(uploaded):
            if normal(voice.name) not in self.rows:
                row = UploadedRow(voice)
                row.chosen.connect(self.chosen)
                row.delete_confirmed.connect(self.delete_confirmed)
                row.asking.connect(self.asking)
                self.rows[normal(voice.name)] = row
                self._column.insertWidget(at, row)
        self._render_empty()

    def clear(self) -> None:
        """Forget every row: the server is another one."""
        self.show_voices(VoiceList())
        self.show_voices(None)

    def show_failure(self, name: str, text: str) -> None:
        """Say beside its row why a voice was not deleted."""
        if row := self.rows.get(normal(name)):
            row.show_failure(text)

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._render_empty()
        super().changeEvent(event)

    def _render_empty(self) -> None:
        if self.rows:
            self._empty.show_text("")
        elif self._voices is None:
            self._empty.show_text(self.tr("Which voices the server has is not known now."))
        else:
            self._empty.show_text(
                self.tr("No voice was uploaded yet. Choose a recording above to clone the first one.")
            )


class UploadedRow(QFrame):
    """A voice; deleting asks first, in the row itself.

    Signals:
        chosen(str), delete_confirmed(str): with the name.
        asking(object): it has a question now; with itself.

    """

    chosen = Signal(str)
    delete_confirmed = Signal(str)
    asking = Signal(object)

    def __init__(self, voice: UploadedVoice, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._voice = voice
        set_role(self, "card")
        self._name = QLabel(voice.name)
        self._name.setTextFormat(Qt.TextFormat.PlainText)
        self._facts = QLabel()
        set_role(self._facts, "caption")
        self.use = QPushButton()
        self.delete = QPushButton()
        self.delete.setIcon(icon("delete"))
        set_role(self.delete, "quiet")
        self._question = QLabel()
        self._question.setWordWrap(True)
        self._question.setTextFormat(Qt.TextFormat.PlainText)
        self.keep = QPushButton()
        self.confirm = QPushButton()
        set_role(self.confirm, "danger")
        self._failure = Remark()

        names = QVBoxLayout()
        names.setSpacing(0)
        names.addWidget(self._name)
        names.addWidget(self._facts)
        row = QHBoxLayout()
        row.addLayout(names, 1)
        row.addWidget(self.use)
        row.addWidget(self.delete)
        self._asking = QWidget()
        ask = QHBoxLayout(self._asking)
        ask.setContentsMargins(0, 0, 0, 0)
        ask.addWidget(self._question, 1)
        ask.addWidget(self.keep)
        ask.addWidget(self.confirm)
        column = QVBoxLayout(self)
        column.setContentsMargins(tokens.M, tokens.S, tokens.S, tokens.S)
        column.addLayout(row)
        column.addWidget(self._asking)
        column.addWidget(self._failure)

        self.use.clicked.connect(lambda: self.chosen.emit(self._voice.name))
        self.delete.clicked.connect(self._ask)
        self.keep.clicked.connect(self._on_keep)
        self.confirm.clicked.connect(self._on_confirm)
        self._asking.setVisible(False)
        self._retranslate()

    def show_failure(self, text: str) -> None:
        """Say why it is still there."""
        self._failure.show_text(text)
        self.setEnabled(True)

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    def _ask(self) -> None:
        self._failure.show_text("")
        self._asking.setVisible(True)
        self.delete.setEnabled(False)
        self.keep.setFocus()
        self.asking.emit(self)

    def _on_keep(self) -> None:
        self._asking.setVisible(False)
        self.delete.setEnabled(True)
        self.delete.setFocus()

    def _on_confirm(self) -> None:
        self._asking.setVisible(False)
        self.delete.setEnabled(True)
        self.setEnabled(False)
        self.delete_confirmed.emit(self._voice.name)

    def _retranslate(self) -> None:
        name = self._voice.name
        self._facts.setText(
            self.tr("With its text") if self._voice.has_text else self.tr("Timbre only, without a text")
        )
        self.use.setText(self.tr("Use"))
        self.use.setAccessibleName(self.tr("Speak with {0}").format(name))
        self.delete.setToolTip(self.tr("Delete from the server"))
        self.delete.setAccessibleName(self.tr("Delete {0} from the server").format(name))
        self._question.setText(self.tr("Delete “{0}” from the server for everybody?").format(name))
        self.keep.setText(self.tr("Keep"))
        self.keep.setAccessibleName(self.tr("Keep {0}").format(name))
        self.confirm.setText(self.tr("Delete"))
        self.confirm.setAccessibleName(self.tr("Delete {0} for everybody").format(name))
