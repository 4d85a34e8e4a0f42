"""What is kept of what was spoken, and what closing the window does."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.config import Config
from app.desktop.settings import Settings
from app.gui.settings.controls import Number, OneOf, Toggle
from app.gui.settings.page import Page


class WindowPage(Page):
    """History, and closing."""

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.heading_history = self.add_heading()
        self.keep = self.add(Toggle(settings, "window.keep_history"))
        self.most = self.add(Number(settings, "window.history_mb", (10, 100_000), 100))
        self.heading_close = self.add_heading()
        self.on_close = self.add(OneOf(settings, "window.on_close"))
        self.finish()

    def show_config(self, config: Config) -> None:
        """Show what is in force."""
        super().show_config(config)
        self.most.setEnabled(config.window.keep_history)

    def retranslate(self) -> None:
        """Set all texts."""
        self.title.setText(self.tr("History and window"))
        self.heading_history.setText(self.tr("History"))
        self.keep.name(
            self.tr("&Keep what was spoken"),
            self.tr("Text and sound stay on this computer, to be found and heard again."),
        )
        self.most.name(self.tr("At &most"), self.tr("The oldest readings go first."))
        self.most.spin.setSuffix(self.tr(" MB"))
        self.heading_close.setText(self.tr("Closing"))
        self.on_close.name(self.tr("When the &window is closed"))
        self.on_close.offer(
            (
                ("ask", self.tr("Ask once")),
                ("tray", self.tr("Stay ready in the tray")),
                ("quit", self.tr("Quit")),
            )
        )
