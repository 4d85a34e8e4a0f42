"""How the window looks."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.desktop.settings import Settings
from app.gui.language import LANGUAGES
from app.gui.settings.controls import OneOf, Toggle
from app.gui.settings.page import Page

_SCALES = (0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0)


class AppearancePage(Page):
    """Theme, size of text, language, motion."""

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = self.add(OneOf(settings, "appearance.theme"))
        self.text_scale = self.add(OneOf(settings, "appearance.text_scale"))
        self.language = self.add(OneOf(settings, "appearance.language"))
        self.motion = self.add(Toggle(settings, "appearance.reduced_motion"))
        self.finish()

    def retranslate(self) -> None:
        """Set all texts."""
        self.title.setText(self.tr("Appearance"))
        self.theme.name(self.tr("&Theme"))
        self.theme.offer(
            (("system", self.tr("As the desktop")), ("light", self.tr("Light")), ("dark", self.tr("Dark")))
        )
        self.text_scale.name(self.tr("Si&ze of text"), self.tr("Relative to the desktop's own."))
        self.text_scale.offer([(scale, self.tr("{0} %").format(round(scale * 100))) for scale in _SCALES])
        self.language.name(self.tr("&Language"))
        # A language is called what those who speak it call it.
        self.language.offer((("system", self.tr("As the desktop")), *LANGUAGES.items()))
        self.motion.name(
            self.tr("&Reduce motion"), self.tr("Nothing slides or fades; things appear where they belong.")
        )
