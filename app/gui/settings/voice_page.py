"""How it is spoken unless something else is chosen."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.desktop.settings import Settings
from app.gui.settings.controls import OneOf, OptionalNumber, Paragraph, Text
from app.gui.settings.page import Page
from app.gui.voice.words import language_name, task_name
from decoder.wire.rules import LANGUAGES, TASK_TYPES


class VoicePage(Page):
    """Voice, language and style."""

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.about = self.add_text()
        self.task = self.add(OneOf(settings, "voice.task"))
        self.speaker = self.add(Text(settings, "voice.name"))
        self.language = self.add(OneOf(settings, "voice.language"))
        self.instructions = self.add(Paragraph(settings, "voice.instructions", 3))
        self.seed = self.add(OptionalNumber(settings, "voice.seed"))
        self.finish()

    def retranslate(self) -> None:
        """Set all texts."""
        default = self.tr("As the server likes")
        self.title.setText(self.tr("Voice"))
        self.about.setText(
            self.tr(
                "The same as beside the text, where the voices of the server can be chosen and cloned."
                " The demo has one voice of its own."
            )
        )
        self.task.name(self.tr("&Kind of voice"))
        self.task.offer((("", default), *((task, task_name(task)) for task in TASK_TYPES)))
        self.speaker.name(
            self.tr("&Speaker"),
            self.tr("A name that the server knows, such as vivian; empty: its own choice."),
        )
        self.language.name(self.tr("&Language of the text"))
        self.language.offer((("", default), *((name, language_name(name)) for name in LANGUAGES)))
        self.instructions.name(
            self.tr("St&yle"),
            self.tr("In words, such as “slowly and warmly”. A voice described in words needs it."),
        )
        self.seed.name(
            self.tr("See&d"),
            self.tr("A whole number, for a reading that can be repeated; empty: a new one each time."),
        )
