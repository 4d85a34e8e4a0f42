"""Clones a voice on the server from a recording, and manages those that were cloned."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.desktop.cloning import Cloning, NameFault, name_fault, read_recording
from app.desktop.voices import VoiceServices
from app.engine.reference import SampleError
from app.errors import NearfieldError
from app.gui.style import tokens
from app.gui.style.roles import set_role
from app.gui.style.theme import theme
from app.gui.tasks import Tasks
from app.gui.voice.field import Field
from app.gui.voice.recording_fields import ConsentBox
from app.gui.voice.recording_picker import RecordingPicker
from app.gui.voice.uploaded_list import UploadedList
from app.gui.voice.words import name_text, unfit_text
from app.gui.widgets.lines import Lines
from app.gui.widgets.remark import Remark
from app.session.voices import VoiceList

_STEPS = 1000


class CloneDialog(QDialog):
    """Not modal: what is being read goes on. Closing it calls an upload off.

    Signals:
        changed: the server's voices are others now.
        chosen(str): speak with this uploaded voice.

    """

    changed = Signal()
    chosen = Signal(str)

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._services: VoiceServices | None = None
        self._voices: VoiceList | None = None
        self._cloning = Cloning()
        self._proposed = ""
        self._upload: asyncio.Task[None] | None = None
        self._is_called_off = False
        self.setModal(False)
        self._make()
        self._lay_out()
        self._connect()
        self._retranslate()

    def use(self, services: VoiceServices | None) -> None:
        """Work with another server from now on; what was filled in stays."""
        self._call_off()
        self._services = services
        self.uploaded.clear()
        self._say("", "")

    def show_voices(self, voices: VoiceList | None) -> None:
        """Show what the server has; without a list, what was known stays, for a moment's doubt."""
        self._voices = voices
        self.uploaded.show_voices(voices)
        self._render()

    def done(self, result: int) -> None:
        """Close, whichever way; an upload that runs is called off."""
        self._call_off()
        super().done(result)

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    # -- what a person does -----------------------------------------------------------------------------

    def _on_recording(self, path: str) -> None:
        self._say("", "")
        try:
            sample, proposed = read_recording(Path(path))
        except SampleError as error:
            self._cloning = replace(self._cloning, path=Path(path), sample=None, consents=False)
            self._recording_field.remark_on(unfit_text(error.why))
        else:
            # Consent is for one recording, not for the next.
            self._cloning = replace(self._cloning, path=Path(path), sample=sample, consents=False)
            self._recording_field.remark_on("")
            if self.name.text().strip() in ("", self._proposed):
                self._proposed = proposed
                self.name.setText(proposed)
        self._render()

    def _on_text(self) -> None:
        self._cloning = replace(self._cloning, name=self.name.text(), ref_text=self.text.toPlainText())
        self._render()

    def _on_consent(self, consents: bool) -> None:
        self._cloning = replace(self._cloning, consents=consents)
        self._render()

    def _on_upload(self) -> None:
        if self._services is None or self._upload is not None or not self._cloning.is_ready(self._voices):
            return
        self._say("", "")
        self._tasks.spawn(self._send(self._services))

    async def _send(self, services: VoiceServices) -> None:
        self._upload = asyncio.current_task()
        self._is_called_off = False
        voice = self._cloning.new_voice(datetime.now(timezone.utc))
        self._on_progress(0.0)
        self._render()
        try:
            await services.upload(voice, self._on_progress)
        except NearfieldError as error:
            self._say(str(error), "danger")
        except asyncio.CancelledError:
            if self._is_called_off:  # else the window closes, and nobody wants to know
                doubt = self.tr("Called off. The server may have it all the same: look at the list.")
                self._say(doubt, "warning")
                self.changed.emit()
            raise
        else:
            self._say(self.tr("“{0}” is on the server now.").format(voice.name), "good")
            self._start_over()
            self.changed.emit()
        finally:
            self._upload = None
            self._render()

    async def _delete(self, services: VoiceServices, name: str) -> None:
        try:
            await services.delete(name)
        except NearfieldError as error:
            self.uploaded.show_failure(name, str(error))
        self.changed.emit()

    def _on_delete(self, name: str) -> None:
        if self._services is not None:
            self._tasks.spawn(self._delete(self._services, name))

    def _on_asking(self, row: QWidget) -> None:
        # Once it has the height that the question needs.
        QTimer.singleShot(0, row, lambda: self._scroll.ensureWidgetVisible(row, 0, tokens.S))

    def _on_progress(self, part: float) -> None:
        self.progress.setValue(int(part * _STEPS))
        self._doing.setText(
            self.tr("The server looks at the recording…") if part >= 1.0 else self.tr("Uploading…")
        )

    def _call_off(self) -> None:
        if self._upload is not None:
            self._is_called_off = True
            self._upload.cancel()

    def _start_over(self) -> None:
        self._cloning = Cloning()
        self._proposed = ""
        self.name.clear()
        self.text.clear()

    def _say(self, text: str, ink: str) -> None:
        self._outcome.show_text(text, ink)

    # -- rendering --------------------------------------------------------------------------------------

    def _render(self) -> None:
        cloning, is_uploading = self._cloning, self._upload is not None
        facts = self.tr("{0} s of sound").format(f"{cloning.sample.duration_s:.1f}") if cloning.sample else ""
        self.picker.show_file(str(cloning.path or ""), facts)
        self.consent.setChecked(cloning.consents)
        fault = name_fault(cloning.name, self._voices)
        # An empty form is not full of reproaches.
        is_started = cloning.sample is not None or bool(cloning.name)
        missing = fault is NameFault.MISSING and not is_started
        self._name_field.remark_on("" if missing else name_text(fault))
        self._form.setEnabled(not is_uploading)
        self.upload.setEnabled(cloning.is_ready(self._voices))
        self.upload.setVisible(not is_uploading)
        self._running.setVisible(is_uploading)

    # -- making -----------------------------------------------------------------------------------------

    def _make(self) -> None:
        self._heading = QLabel()
        set_role(self._heading, "section")
        self._form = QWidget()
        self.picker = RecordingPicker()
        self._recording_field = Field(self.picker)
        self.name = QLineEdit()
        self._name_field = Field(self.name)
        self.text = Lines(3)
        self._text_field = Field(self.text)
        self.consent = ConsentBox()
        self.upload = QPushButton()
        self.upload.setDefault(True)
        set_role(self.upload, "primary")
        self._running = QWidget()
        self._doing = QLabel()
        set_role(self._doing, "caption")
        self.progress = QProgressBar()
        self.progress.setRange(0, _STEPS)
        self.cancel = QPushButton()
        self._outcome = Remark()
        self._list_heading = QLabel()
        set_role(self._list_heading, "section")
        self.uploaded = UploadedList()
        self._buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        for button in self._buttons.buttons():
            if isinstance(button, QPushButton):
                button.setAutoDefault(False)

    def _lay_out(self) -> None:
        form = QVBoxLayout(self._form)
        form.setContentsMargins(0, 0, 0, 0)
        form.setSpacing(tokens.M)
        for widget in (self._recording_field, self._name_field, self._text_field, self.consent):
            form.addWidget(widget)
        bar = QHBoxLayout()
        bar.setSpacing(tokens.M)
        bar.addWidget(self.progress, 1)
        bar.addWidget(self.cancel)
        running = QVBoxLayout(self._running)
        running.setContentsMargins(0, 0, 0, 0)
        running.setSpacing(tokens.XS)
        running.addWidget(self._doing)
        running.addLayout(bar)
        go = QHBoxLayout()
        go.addStretch(1)
        go.addWidget(self.upload)
        inside = QWidget()
        page = QVBoxLayout(inside)
        page.setContentsMargins(tokens.L, tokens.L, tokens.L, tokens.M)
        page.setSpacing(tokens.M)
        page.addWidget(self._heading)
        page.addWidget(self._form)
        page.addLayout(go)
        page.addWidget(self._running)
        page.addWidget(self._outcome)
        page.addSpacing(tokens.S)
        page.addWidget(self._list_heading)
        page.addWidget(self.uploaded)
        page.addStretch(1)
        self._scroll = scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(inside)
        foot = QHBoxLayout()
        foot.setContentsMargins(tokens.L, tokens.S, tokens.L, tokens.M)
        foot.addWidget(self._buttons)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(scroll, 1)
        column.addLayout(foot)
        self.resize(QSize(theme().scaled(480), theme().scaled(680)).boundedTo(self.screen().availableSize()))

    def _connect(self) -> None:
        self.picker.picked.connect(self._on_recording)
        self.name.textChanged.connect(self._on_text)
        self.text.textChanged.connect(self._on_text)
        self.consent.clicked.connect(self._on_consent)
        self.upload.clicked.connect(self._on_upload)
        self.cancel.clicked.connect(self._call_off)
        self.uploaded.chosen.connect(self.chosen)
        self.uploaded.delete_confirmed.connect(self._on_delete)
        self.uploaded.asking.connect(self._on_asking)
        self._buttons.rejected.connect(self.reject)

    def _retranslate(self) -> None:
        self.setWindowTitle(self.tr("Cloned voices"))
        self._heading.setText(self.tr("Clone a voice"))
        self._recording_field.name(self.tr("Recording"), self.tr("Recording of the voice"))
        self._name_field.name(self.tr("&Name"), self.tr("Name of the new voice"))
        self._text_field.name(
            self.tr("What is &said in it (optional, sounds closer)"),
            self.tr("What is said in the recording, optional"),
        )
        self.text.setPlaceholderText(self.tr("Word for word"))
        self.upload.setText(self.tr("&Upload"))
        self.upload.setAccessibleName(self.tr("Upload the recording to the server"))
        self.cancel.setText(self.tr("Cancel"))
        self.cancel.setAccessibleName(self.tr("Cancel the upload"))
        self.progress.setAccessibleName(self.tr("Progress of the upload"))
        self._list_heading.setText(self.tr("Uploaded voices"))
        self._render()
