"""The settings: pages in a list, nothing to confirm, and never in the way of what is spoken."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.config import Config
from app.desktop.secrets import Secrets
from app.desktop.settings import Settings
from app.gui.settings.about_page import AboutPage
from app.gui.settings.appearance_page import AppearancePage
from app.gui.settings.audio_page import AudioPage
from app.gui.settings.decoder_page import DecoderPage
from app.gui.settings.page import Page
from app.gui.settings.server_page import ServerPage
from app.gui.settings.services import Services
from app.gui.settings.voice_page import VoicePage
from app.gui.settings.window_page import WindowPage
from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.roles import set_role
from app.gui.style.theme import theme
from app.gui.widgets.remark import Remark

PAGES = ("server", "voice", "decoder", "audio", "appearance", "window", "about")
_ICONS = {
    "server": "server",
    "voice": "user",
    "decoder": "sliders",
    "audio": "volume",
    "appearance": "window",
    "window": "history",
    "about": "info",
}
_SIZE = QSize(800, 600)
_LEAST_PAGE = 380
"""What a page wants of the width before the list may have names."""


class SettingsDialog(QDialog):
    """Made once and shown again; every control changes the settings at once and follows them.

    Not modal: speaking goes on, and what was changed is heard.
    """

    def __init__(
        self, settings: Settings, secrets: Secrets, services: Services, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self.setModal(False)
        # Each is made when it is first looked at: all at once would be felt while something is spoken.
        self._makers: dict[str, Callable[[], Page]] = {
            "server": lambda: ServerPage(settings, secrets, services),
            "voice": lambda: VoicePage(settings),
            "decoder": lambda: DecoderPage(settings, services),
            "audio": lambda: AudioPage(settings, services),
            "appearance": lambda: AppearancePage(settings),
            "window": lambda: WindowPage(settings),
            "about": lambda: AboutPage(settings, services),
        }
        self._pages: dict[str, Page] = {}
        self._names: tuple[str, ...] = ()
        self.list = QListWidget()
        self.stack = QStackedWidget()
        for name in PAGES:
            self.list.addItem(QListWidgetItem(icon(_ICONS[name]), ""))
        self.problem = Remark("warning")
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self._arrange()
        self.list.currentRowChanged.connect(self._on_page)
        self.buttons.rejected.connect(self.close)
        QShortcut(QKeySequence.StandardKey.NextChild, self, lambda: self._turn(1))
        QShortcut(QKeySequence.StandardKey.PreviousChild, self, lambda: self._turn(-1))
        for end in (
            settings.subscribe(self._on_settings),
            settings.subscribe_problem(self.problem.show_text),
        ):
            self.destroyed.connect(lambda _=None, end=end: end())
        theme().changed.connect(self._fit)
        self._retranslate()
        self.problem.show_text(settings.problem)
        self.list.setCurrentRow(0)

    def open_page(self, name: str = "") -> None:
        """Show the dialog, at the page of this name in ``PAGES``; empty: where it was left."""
        if name:
            self.list.setCurrentRow(PAGES.index(name))
        self.show()
        self.raise_()
        self.activateWindow()
        self.list.setFocus()
        self._current.open_page()

    def page(self, name: str) -> Page:
        """Return the page of this name in ``PAGES``."""
        if name not in self._pages:
            page = self._makers[name]()
            page.show_config(self._settings.effective)
            self.stack.addWidget(page)
            self._pages[name] = page
        return self._pages[name]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let Return end what is typed into a field, and press no button that has not the focus."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Make room for the page."""
        self._fit()
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    @property
    def _current(self) -> Page:
        return self.page(PAGES[self.list.currentRow()])

    def _on_page(self, at: int) -> None:
        if at >= 0:
            self.stack.setCurrentWidget(self._current)
            if self.isVisible():
                self._current.open_page()

    def _turn(self, by: int) -> None:
        self.list.setCurrentRow((self.list.currentRow() + by) % self.list.count())

    def _on_settings(self, _old: Config, new: Config) -> None:
        for page in self._pages.values():
            page.show_config(new)

    def _retranslate(self) -> None:
        self.setWindowTitle(self.tr("Settings"))
        self.list.setAccessibleName(self.tr("Pages of the settings"))
        names = (
            self.tr("Server"),
            self.tr("Voice"),
            self.tr("Decoder"),
            self.tr("Sound"),
            self.tr("Appearance"),
            self.tr("History and window"),
            self.tr("About"),
        )
        self._names = names
        self.buttons.button(QDialogButtonBox.StandardButton.Close).setText(self.tr("Close"))
        self._fit()

    def _fit(self) -> None:
        """Make the list as wide as its longest name, and its icons as large as its text."""
        side = theme().scaled(tokens.ICON)
        self.list.setIconSize(QSize(side, side))
        self._show_names(True)
        if self.list.width() + theme().scaled(_LEAST_PAGE) > self.width():
            self._show_names(False)

    def _show_names(self, are_shown: bool) -> None:
        """Show names beside the icons, or only as tooltips where there is no room for them."""
        for at, name in enumerate(self._names):
            item = self.list.item(at)
            item.setText(name if are_shown else "")
            item.setToolTip("" if are_shown else name)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, name)
        room = 2 * tokens.L + tokens.S if are_shown else tokens.L
        self.list.setFixedWidth(self.list.sizeHintForColumn(0) + room)

    def _arrange(self) -> None:
        set_role(self.list, "pages")
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setSpacing(2)
        side = QVBoxLayout()
        side.setContentsMargins(tokens.S, tokens.M, 0, tokens.M)
        side.addWidget(self.list)
        pages = QHBoxLayout()
        pages.setSpacing(0)
        pages.addLayout(side)
        pages.addWidget(self.stack, 1)
        below = QHBoxLayout()
        below.setContentsMargins(tokens.M, 0, tokens.M, tokens.M)
        below.addWidget(self.problem, 1)
        below.addStretch(0)
        below.addWidget(self.buttons)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(pages, 1)
        column.addLayout(below)
        self.resize(_SIZE)
