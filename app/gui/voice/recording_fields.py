"""The recording of a clone: the file, what is said in it, and the speaker's consent."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QCheckBox, QLabel, QVBoxLayout, QWidget

from app.desktop.voices import VoiceForm
from app.engine.reference import is_uri
from app.gui.style import tokens
from app.gui.style.roles import set_role
from app.gui.voice.field import Field
from app.gui.voice.recording_picker import RecordingPicker
from app.gui.voice.words import fault_text
from app.gui.widgets.lines import Lines
from app.gui.widgets.remark import Remark


class RecordingFields(QWidget):
    """Shows what a form says about a recording.

    Signals:
        picked(str): another file.
        text_edited(str): what is said in it.
        timbre_only(bool): clone without what is said.
        consented(bool): consent was stated, or taken back.
        left: a text was left.

    """

    picked = Signal(str)
    text_edited = Signal(str)
    timbre_only = Signal(bool)
    consented = Signal(bool)
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.picker = RecordingPicker()
        self._picker = Field(self.picker)
        self.text = Lines(3)
        self._text = Field(self.text)
        self.timbre = QCheckBox()
        self.consent = ConsentBox()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens.M)
        column.addWidget(self._picker)
        column.addWidget(self._text)
        column.addWidget(self.timbre)
        column.addWidget(self.consent)
        self.picker.picked.connect(self.picked)
        self.text.textChanged.connect(lambda: self.text_edited.emit(self.text.toPlainText()))
        self.text.left.connect(self.left)
        self.timbre.clicked.connect(self.timbre_only)
        self.consent.clicked.connect(self.consented)
        self._retranslate()

    def show_form(self, form: VoiceForm) -> None:
        """Show the recording of ``form``."""
        voice = form.voice
        facts = self.tr("Read by the server itself.") if voice.ref_audio and is_uri(voice.ref_audio) else ""
        self.picker.show_file(voice.ref_audio, facts)
        self._text.setVisible("ref_text" in form.shows)
        self.text.blockSignals(True)
        self.text.show_text(voice.ref_text)
        self.text.blockSignals(False)
        self.timbre.setChecked(voice.x_vector_only)
        self.consent.setChecked(form.consents)
        self._picker.remark_on(fault_text(form.fault("ref_audio")))
        self._text.remark_on(fault_text(form.fault("ref_text")))
        self.consent.remark_on(fault_text(form.fault("consent")))

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    def _retranslate(self) -> None:
        self._picker.name(self.tr("Recording"), self.tr("Recording of the voice"))
        self._text.name(self.tr("What is said in it"), self.tr("What is said in the recording"))
        self.text.setPlaceholderText(self.tr("Word for word"))
        self.timbre.setText(self.tr("Timbre only, without a text"))
        self.timbre.setToolTip(self.tr("Sounds less like the speaker, and needs no transcript."))


class ConsentBox(QWidget):
    """States what is confirmed, and a box to tick that confirms it.

    Signals:
        clicked(bool): it was ticked, or no longer is.

    """

    clicked = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._statement = QLabel()
        self._statement.setWordWrap(True)
        set_role(self._statement, "caption")
        self.box = QCheckBox()
        self._remark = Remark()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens.XS)
        column.addWidget(self._statement)
        column.addWidget(self.box)
        column.addWidget(self._remark)
        self.setFocusProxy(self.box)
        self.box.clicked.connect(self.clicked)
        self._retranslate()

    def isChecked(self) -> bool:  # as Qt calls it
        """Return whether consent is stated."""
        return self.box.isChecked()

    def setChecked(self, is_checked: bool) -> None:  # as Qt calls it
        """Show whether consent is stated."""
        self.box.setChecked(is_checked)

    def remark_on(self, text: str) -> None:
        """Say what is wrong; empty: nothing."""
        self._remark.show_text(text)

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    def _retranslate(self) -> None:
        statement = self.tr(
            "The person who speaks in this recording knows that the voice is cloned, and has agreed to that "
            "and to what I use it for. Or it is my own voice."
        )
        self._statement.setText(statement)
        self.box.setText(self.tr("I confirm this"))
        self.box.setAccessibleDescription(statement)
