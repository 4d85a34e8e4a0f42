"""The fields of a voice, each where its task has it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRegularExpression, Qt, Signal
from PySide6.QtGui import QRegularExpressionValidator
from PySide6.QtWidgets import (
    QButtonGroup,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.desktop.voices import VoiceChoice, VoiceForm, fall_back
from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.roles import set_role
from app.gui.voice.field import Field
from app.gui.voice.recording_fields import RecordingFields
from app.gui.voice.voice_box import VoiceBox
from app.gui.voice.words import fault_text, language_name, task_hint, task_name
from app.gui.widgets.choice import Choice
from app.gui.widgets.lines import Lines
from decoder.wire.rules import LANGUAGES, MAX_INSTRUCTIONS_CHARS, TASK_TYPES

_SEED = r"\d{0,18}"
"""A number of 64 bits at most, or none; an empty line is a valid one."""


class FormView(QWidget):
    """Shows a :class:`VoiceChoice` and puts into it what a person does.

    Signals:
        chosen: something was chosen, which counts at once.
        typed: something is being typed.
        left: a text was left.
        clone_requested: a voice should be cloned.

    """

    chosen = Signal()
    typed = Signal()
    left = Signal()
    clone_requested = Signal()

    def __init__(self, choice: VoiceChoice, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choice = choice
        self._is_asking = False
        self._can_clone = False
        self._make()
        self._lay_out()
        self._connect()
        self._retranslate()

    def render_choice(self, is_asking: bool, can_clone: bool) -> None:
        """Show the choice as it is now, while the server is asked for its voices or not."""
        self._is_asking, self._can_clone = is_asking, can_clone
        form = self._choice.form
        voice = form.voice
        self._task.show_data(voice.task)
        self._task_field.remark_on(fault_text(form.fault("")))
        self._source.setVisible("source" in form.shows)
        (self._from_recording if form.from_recording else self._from_uploaded).setChecked(True)
        self._voice_field.setVisible("name" in form.shows)
        self._render_voice(form)
        self._clone.setVisible(can_clone and voice.task != "VoiceDesign")
        self.recording.setVisible("ref_audio" in form.shows)
        self.recording.show_form(form)
        self._language.show_data("" if voice.language == "Auto" else voice.language)
        self._language_field.remark_on(fault_text(form.fault("language")))
        self._instructions_field.setVisible("instructions" in form.shows)
        self._render_instructions(form)
        seed = "" if voice.seed is None else str(voice.seed)
        if self._seed.text() != seed:
            self._seed.setText(seed)

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    # -- what a person does -----------------------------------------------------------------------------

    def _on_task(self, at: int) -> None:
        self._choice.edit(task=self._task.itemData(at))
        self.chosen.emit()

    def _on_voice(self, name: str) -> None:
        self._choice.pick_voice(name)
        self.chosen.emit()

    def _on_voice_typed(self, name: str) -> None:
        self._choice.edit(name=name)
        self.typed.emit()

    def _on_source(self, button: QRadioButton) -> None:
        self._choice.clone_of_recording(button is self._from_recording)
        self.chosen.emit()

    def _on_recording(self, path: str) -> None:
        self._choice.pick_recording(path)
        self.chosen.emit()

    def _on_text(self, text: str) -> None:
        self._choice.edit(ref_text=text)
        self.typed.emit()

    def _on_timbre(self, is_only: bool) -> None:
        self._choice.edit(x_vector_only=is_only)
        self.chosen.emit()

    def _on_consent(self, consents: bool) -> None:
        self._choice.consent(consents)
        self.chosen.emit()

    def _on_language(self, at: int) -> None:
        self._choice.edit(language=self._language.itemData(at))
        self.chosen.emit()

    def _on_instructions(self) -> None:
        self._choice.edit(instructions=self._instructions.toPlainText())
        self.typed.emit()

    def _on_seed(self, text: str) -> None:
        self._choice.edit(seed=int(text) if text.isdecimal() else None)
        self.typed.emit()

    def _on_advanced(self, is_open: bool) -> None:
        self._advanced.setIcon(icon("chevron-down" if is_open else "chevron-right"))
        self._seed_field.setVisible(is_open)

    # -- rendering --------------------------------------------------------------------------------------

    def _render_voice(self, form: VoiceForm) -> None:
        is_clone = form.voice.task == "Base"
        self._voice_field.name(self.tr("Uploaded voice") if is_clone else self.tr("Speaker"))
        self._voice.show_voices(self._choice.voices, is_clone)
        # Soon it will be a list: what is not one yet is nothing to write into.
        self._voice.setEnabled(self._choice.voices is not None or not self._is_asking)
        self._voice.show_name(fall_back(form.voice, self._choice.voices)[0].name)
        if form.lacks:
            missing = self.tr("This server has no voice “{0}”: its default speaks instead.").format(
                form.lacks
            )
            self._voice_field.remark_on(missing, "warning")
        else:
            self._voice_field.remark_on(fault_text(form.fault("name")), "danger")

    def _render_instructions(self, form: VoiceForm) -> None:
        text = form.voice.instructions
        self._instructions.blockSignals(True)
        self._instructions.show_text(text)
        self._instructions.blockSignals(False)
        is_design = form.voice.task == "VoiceDesign"
        self._instructions_field.name(
            self.tr("Description") if is_design else self.tr("Style (optional)"),
            self.tr("Description of the voice") if is_design else self.tr("Style in words, optional"),
        )
        self._instructions.setPlaceholderText(
            self.tr("A calm elderly man with a slight Scottish accent")
            if is_design
            else self.tr("Cheerful and quick, like good news")
        )
        count = self.tr("{0} of {1}").format(len(text.strip()), MAX_INSTRUCTIONS_CHARS)
        self._instructions_field.note.setText(count)
        self._instructions_field.remark_on(fault_text(form.fault("instructions")))

    # -- making -----------------------------------------------------------------------------------------

    def _make(self) -> None:
        self._task = Choice()
        self._task_field = Field(self._task)
        self._source = QWidget()
        self._from_uploaded = QRadioButton()
        self._from_recording = QRadioButton()
        self._sources = QButtonGroup(self)
        self._sources.addButton(self._from_uploaded)
        self._sources.addButton(self._from_recording)
        self._voice = VoiceBox()
        self._voice_field = Field(self._voice)
        self.recording = RecordingFields()
        self._language = Choice()
        self._language_field = Field(self._language)
        self._instructions = Lines(4)
        self._instructions_field = Field(self._instructions, with_note=True)
        self._clone = QPushButton()
        self._clone.setIcon(icon("microphone"))
        set_role(self._clone, "quiet")
        self._advanced = QToolButton()
        self._advanced.setCheckable(True)
        self._advanced.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._advanced.setIcon(icon("chevron-right"))
        set_role(self._advanced, "quiet")
        self._seed = QLineEdit()
        self._seed.setValidator(QRegularExpressionValidator(QRegularExpression(_SEED), self))
        self._seed_field = Field(self._seed)
        self._seed_field.setVisible(False)

    def _lay_out(self) -> None:
        source = QVBoxLayout(self._source)
        source.setContentsMargins(0, 0, 0, 0)
        source.setSpacing(0)
        source.addWidget(self._from_uploaded)
        source.addWidget(self._from_recording)
        body = QVBoxLayout(self)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(tokens.M)
        for widget in (
            self._task_field,
            self._source,
            self._voice_field,
            self.recording,
            self._clone,
            self._language_field,
            self._instructions_field,
            self._advanced,
            self._seed_field,
        ):
            body.addWidget(widget)
        # No wider than what they say, for they have no outline that would explain it.
        for button in (self._clone, self._advanced):
            body.setAlignment(button, Qt.AlignmentFlag.AlignLeft)

    def _connect(self) -> None:
        self._task.activated.connect(self._on_task)
        self._sources.buttonClicked.connect(self._on_source)
        self._voice.picked.connect(self._on_voice)
        self._voice.typed.connect(self._on_voice_typed)
        self._voice.left.connect(self.left)
        self.recording.picked.connect(self._on_recording)
        self.recording.text_edited.connect(self._on_text)
        self.recording.timbre_only.connect(self._on_timbre)
        self.recording.consented.connect(self._on_consent)
        self.recording.left.connect(self.left)
        self._language.activated.connect(self._on_language)
        self._instructions.textChanged.connect(self._on_instructions)
        self._instructions.left.connect(self.left)
        self._clone.clicked.connect(self.clone_requested)
        self._advanced.toggled.connect(self._on_advanced)
        self._seed.textEdited.connect(self._on_seed)
        self._seed.editingFinished.connect(self.left)

    def _retranslate(self) -> None:
        self._task_field.name(self.tr("Kind of voice"))
        self._task.clear()
        for at, task in enumerate(TASK_TYPES):
            self._task.addItem(task_name(task), task)
            self._task.setItemData(at, task_hint(task), Qt.ItemDataRole.ToolTipRole)
        self._from_uploaded.setText(self.tr("A voice uploaded to the server"))
        self._from_recording.setText(self.tr("A recording on this computer"))
        self._language_field.name(self.tr("Language"), self.tr("Language that is spoken"))
        self._language.clear()
        self._language.addItem(language_name("Auto"), "")
        for language in LANGUAGES[1:]:
            self._language.addItem(language_name(language), language)
        self._clone.setText(self.tr("Clone and manage voices…"))
        self._advanced.setText(self.tr("Advanced"))
        self._advanced.setAccessibleName(self.tr("Advanced settings of the voice"))
        self._seed_field.name(self.tr("Seed"), self.tr("Seed: the same number gives the same reading"))
        self._seed.setPlaceholderText(self.tr("Empty: another reading each time"))
        self._seed.setToolTip(
            self.tr("The same number gives the same reading, where the server supports it.")
        )
        self._voice.retranslate()
        self.render_choice(self._is_asking, self._can_clone)
