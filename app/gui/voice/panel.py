"""The voice, beside the text: who speaks, in which language, how."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from app.config import VoiceConfig
from app.desktop.voices import VoiceChoice, VoiceForm, VoiceServices
from app.errors import NearfieldError
from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.roles import set_role
from app.gui.tasks import Tasks
from app.gui.voice.clone_dialog import CloneDialog
from app.gui.voice.form_view import FormView
from app.gui.voice.words import fault_text
from app.gui.widgets.remark import Remark
from app.session.voices import VoiceList

TYPING_PAUSE_MS = 500
"""After so long without a key, what was typed counts."""


class VoicePanel(QWidget):
    """Shows a ``VoiceConfig`` and lets it be changed; asks the server which voices there are.

    Signals:
        changed(dict): keys of the configuration and their new values; only what can be spoken.
        fault_changed(str): why the choice cannot be spoken yet; empty once it can.
        voices_changed: what is known of the server's voices is another now; see ``voices``.

    """

    changed = Signal(dict)
    fault_changed = Signal(str)
    voices_changed = Signal()

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._choice = VoiceChoice()
        self._services: VoiceServices | None = None
        self._reason = ""
        self._is_asking = False
        self._is_demo = False
        self._fault = ""
        self._dialog: CloneDialog | None = None
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(TYPING_PAUSE_MS)
        self._pause.timeout.connect(self.flush)
        self._heading = QLabel()
        set_role(self._heading, "section")
        self._refresh = QToolButton()
        self._refresh.setIcon(icon("refresh"))
        set_role(self._refresh, "quiet")
        self._refresh.clicked.connect(self.reload)
        self._state = Remark("text_muted")
        self._form = FormView(self._choice)
        self._form.chosen.connect(self._on_choice)
        self._form.typed.connect(self._on_typing)
        self._form.left.connect(self.flush)
        self._form.clone_requested.connect(self.clone)
        head = QHBoxLayout()
        head.addWidget(self._heading)
        head.addStretch(1)
        head.addWidget(self._refresh)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens.S)
        column.addLayout(head)
        column.addWidget(self._state)
        column.addWidget(self._form)
        column.addStretch(1)
        self._retranslate()

    # -- what the window says ---------------------------------------------------------------------------

    @property
    def voices(self) -> VoiceList | None:
        """What the server has; ``None`` while that is not known."""
        return self._choice.voices

    @property
    def fault(self) -> str:
        """Why the choice cannot be spoken yet; empty if it can."""
        return self._fault

    def show_voice(self, voice: VoiceConfig) -> None:
        """Show what is saved; what is being typed survives what did not change it."""
        self._choice.show(voice)
        self._render()

    def use(self, services: VoiceServices | None) -> None:
        """Ask another server from now on, at once; ``None``: there is none to ask."""
        self._services = services
        if self._dialog is not None:
            self._dialog.close()
            self._dialog.use(services)
        self.set_voices(None, "")
        self.reload()

    def reload(self) -> None:
        """Ask the server for its voices again; until it answers, the old ones are shown."""
        if self._services is not None:
            self._is_asking = True
            self._render()
            self._tasks.spawn(self._load(self._services))

    def set_voices(self, voices: VoiceList | None, reason: str) -> None:
        """Show the server's voices; without a list, ``reason`` says why: empty while the server is asked."""
        self._is_asking = voices is None and not reason and self._services is not None
        self._reason = reason
        self._choice.offer(voices)
        if self._dialog is not None:
            self._dialog.show_voices(voices)
        self._render()
        self.voices_changed.emit()

    def set_demo(self, is_demo: bool) -> None:
        """Show that the demo has one voice, and nothing to choose."""
        self._is_demo = is_demo
        self._render()

    def flush(self) -> None:
        """Let what is being typed count now: before something is spoken."""
        self._pause.stop()
        if not self._is_demo and (changes := self._choice.take_changes()):
            self.changed.emit(changes)

    # -- what a person does -----------------------------------------------------------------------------

    def clone(self) -> None:
        """Open the dialog for cloning; it does not stop anything else."""
        if self._services is None or self._is_demo:
            return
        if self._dialog is None:
            self._dialog = CloneDialog(self._tasks, self.window())
            self._dialog.use(self._services)
            self._dialog.show_voices(self.voices)
            self._dialog.changed.connect(self.reload)
            self._dialog.chosen.connect(self._on_uploaded)
        self._dialog.show()
        self._dialog.raise_()
        self._dialog.activateWindow()

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    async def _load(self, services: VoiceServices) -> None:
        voices, reason = None, ""
        try:
            voices = await services.list()
        except NearfieldError as error:
            reason = str(error)
        if self._services is services:  # else the answer is another server's
            self.set_voices(voices, reason)

    def _on_choice(self) -> None:
        self._render()
        self.flush()

    def _on_uploaded(self, name: str) -> None:
        self._choice.pick_voice(name)
        self._on_choice()

    def _on_typing(self) -> None:
        self._render()
        self._pause.start()

    # -- rendering --------------------------------------------------------------------------------------

    def _render(self) -> None:
        self._render_state()
        self._form.setVisible(not self._is_demo)
        is_first = self._is_asking and self.voices is None
        self._form.render_choice(is_first, can_clone=self._services is not None)
        self._render_fault(self._choice.form)

    def _render_state(self) -> None:
        self._refresh.setVisible(self._services is not None and not self._is_demo)
        self._refresh.setEnabled(not self._is_asking)
        if self._is_demo:
            text, ink = (
                self.tr("The demo has one voice. Connect to a server to choose another."),
                "text_muted",
            )
        elif self._is_asking and self.voices is None:
            text, ink = self.tr("Asking the server which voices it has…"), "text_muted"
        elif self._reason:
            text, ink = self.tr("No list of voices. {0}").format(self._reason), "warning"
        else:
            text, ink = "", "text_muted"
        self._state.show_text(text, ink)

    def _render_fault(self, form: VoiceForm) -> None:
        fault = "" if self._is_demo or not form.faults else fault_text(form.faults[0])
        if fault != self._fault:
            self._fault = fault
            self.fault_changed.emit(fault)

    def _retranslate(self) -> None:
        self._heading.setText(self.tr("Voice"))
        self._refresh.setToolTip(self.tr("Ask the server for its voices again"))
        self._refresh.setAccessibleName(self._refresh.toolTip())
        self._render()
