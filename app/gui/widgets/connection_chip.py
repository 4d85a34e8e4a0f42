"""Which server, and what is going on with it, in a few words; the rest is in its menu."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QT_TRANSLATE_NOOP, QEvent, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QColor, QIcon, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QLabel, QMenu, QToolButton, QWidget, QWidgetAction

from app.config import DEMO
from app.desktop.link_view import LinkKind, LinkView
from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.roles import set_role
from app.gui.style.theme import theme

_WORDS = {
    LinkKind.ASLEEP: QT_TRANSLATE_NOOP("ConnectionChip", "connects when you speak"),
    LinkKind.CONNECTING: QT_TRANSLATE_NOOP("ConnectionChip", "connecting…"),
    LinkKind.CONNECTED: QT_TRANSLATE_NOOP("ConnectionChip", "connected"),
    LinkKind.PREPARING: QT_TRANSLATE_NOOP("ConnectionChip", "preparing the decoder…"),
    LinkKind.CODEC: QT_TRANSLATE_NOOP("ConnectionChip", "ready (codec tokens)"),
    LinkKind.PCM: QT_TRANSLATE_NOOP("ConnectionChip", "ready (PCM)"),
    LinkKind.NO_DECODER: QT_TRANSLATE_NOOP("ConnectionChip", "no decoder"),
    LinkKind.OFFLINE: QT_TRANSLATE_NOOP("ConnectionChip", "offline"),
    LinkKind.REFUSED: QT_TRANSLATE_NOOP("ConnectionChip", "refused"),
}

_SENTENCES = {
    LinkKind.ASLEEP: QT_TRANSLATE_NOOP(
        "ConnectionChip", "There is no connection now. One is made as soon as you speak."
    ),
    LinkKind.CONNECTING: QT_TRANSLATE_NOOP("ConnectionChip", "The server is being called."),
    LinkKind.CONNECTED: QT_TRANSLATE_NOOP(
        "ConnectionChip", "The server is there. Who decodes shows with the first text."
    ),
    LinkKind.PREPARING: QT_TRANSLATE_NOOP(
        "ConnectionChip", "The decoder is being loaded and warmed up. You can already speak."
    ),
    LinkKind.CODEC: QT_TRANSLATE_NOOP(
        "ConnectionChip", "The server sends codec tokens; they are decoded here."
    ),
    LinkKind.PCM: QT_TRANSLATE_NOOP("ConnectionChip", "The server decodes and sends finished sound."),
    LinkKind.NO_DECODER: QT_TRANSLATE_NOOP(
        "ConnectionChip", "Codec tokens cannot be decoded here. Choose a decoder in the settings."
    ),
    LinkKind.OFFLINE: QT_TRANSLATE_NOOP("ConnectionChip", "The server cannot be reached."),
    LinkKind.REFUSED: QT_TRANSLATE_NOOP(
        "ConnectionChip", "The server says no. Look at its address and key in the settings."
    ),
}

_INKS = {
    LinkKind.ASLEEP: "text_muted",
    LinkKind.CONNECTING: "warning",
    LinkKind.CONNECTED: "good",
    LinkKind.PREPARING: "warning",
    LinkKind.CODEC: "good",
    LinkKind.PCM: "good",
    LinkKind.NO_DECODER: "danger",
    LinkKind.OFFLINE: "danger",
    LinkKind.REFUSED: "danger",
}

_HOLLOW = (LinkKind.ASLEEP, LinkKind.CONNECTING, LinkKind.PREPARING)
"""Shown as a ring: colour alone tells nothing to those who do not see it."""

TICK_MS = 250
_DOT = 10
_TITLE_CHARS = 24
_MENU_WIDTH = 360


class ConnectionChip(QToolButton):
    """Shows a :class:`LinkView`; its menu says why, tries again, and changes the server.

    Signals:
        try_now: do not wait for the next try.
        open_settings: show the settings of the server.
        profile_chosen: use the server of this name from now on.

    """

    try_now = Signal()
    open_settings = Signal()
    profile_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` is the one on which a view's ``retry_at_s`` was made."""
        super().__init__(parent)
        self._clock = clock
        self._view = LinkView(LinkKind.ASLEEP, "")
        self._profiles: tuple[str, ...] = ()
        self._current = ""
        set_role(self, "chip")
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setIconSize(QSize(_DOT, _DOT))

        self._menu = QMenu(self)
        self._why = QLabel()
        self._why.setWordWrap(True)
        self._why.setContentsMargins(tokens.M, tokens.S, tokens.M, tokens.S)
        why = QWidgetAction(self._menu)
        why.setDefaultWidget(self._why)
        self._menu.addAction(why)
        self._try = QAction(self._menu)
        self._try.triggered.connect(self.try_now)
        self._menu.addAction(self._try)
        self._menu.addSeparator()
        self._group = QActionGroup(self._menu)
        self._after_profiles = self._menu.addSeparator()
        self._settings = QAction(self._menu)
        self._settings.triggered.connect(self.open_settings)
        self._menu.addAction(self._settings)
        self.setMenu(self._menu)

        self._tick = QTimer(self)
        self._tick.setInterval(TICK_MS)
        self._tick.timeout.connect(self._render)
        theme().changed.connect(self._on_theme_change)
        self._on_theme_change()
        self._retranslate()

    def show_link(self, view: LinkView) -> None:
        """Show ``view`` from now on, counting down if it says when the next try is."""
        self._view = view
        if view.retry_at_s is None:
            self._tick.stop()
        else:
            self._tick.start()
        self._draw_dot()
        self._render()

    def show_profiles(self, names: Sequence[str], current: str) -> None:
        """Offer the servers ``names``, of which ``current`` is in use."""
        if (tuple(names), current) == (self._profiles, self._current):
            return
        self._profiles, self._current = tuple(names), current
        for action in self._group.actions():
            self._group.removeAction(action)
            self._menu.removeAction(action)
        for name in names:
            action = QAction(self._menu, checkable=True)
            action.setData(name)
            action.setChecked(name == current)
            action.triggered.connect(lambda _checked=False, name=name: self.profile_chosen.emit(name))
            self._group.addAction(action)
            self._menu.insertAction(self._after_profiles, action)
        self._name_profiles()

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    # -- inside -----------------------------------------------------------------------------------------

    def _render(self) -> None:
        view = self._view
        title = _short(self._called(view.title))
        words = self._words()
        text = self.tr("{0}: {1}").format(title, words) if title else words
        label = text.replace("&", "&&")
        if label != self.text():
            self.setText(label)
            self.setAccessibleName(self.tr("Server {0}").format(text))
        sentence = self.tr(str(_SENTENCES[view.kind]))
        # With codec tokens all is as it should be, and the engine's words say no more than the sentence.
        detail = "" if view.kind is LinkKind.CODEC else view.detail
        why = f"{sentence}\n\n{detail}" if detail else sentence
        if why != self._why.text():
            self._why.setText(why)
            self.setToolTip(why)
            self.setAccessibleDescription(why)
        self._try.setVisible(view.can_try_now)

    def _called(self, profile: str) -> str:
        return self.tr("Demo") if profile == DEMO else profile

    def _name_profiles(self) -> None:
        for action in self._group.actions():
            # An ampersand in a name is not a shortcut.
            action.setText(self._called(action.data()).replace("&", "&&"))

    def _words(self) -> str:
        left_s = self._view.seconds_left(self._clock())
        if self._view.kind is LinkKind.OFFLINE and left_s is not None:
            return self.tr("offline, next try in {0} s").format(left_s)
        return self.tr(str(_WORDS[self._view.kind]))

    def _retranslate(self) -> None:
        self._try.setText(self.tr("Try now"))
        self._settings.setText(self.tr("Server settings…"))
        self._name_profiles()
        self._render()

    def _draw_dot(self) -> None:
        """Draw a dot, or a ring while there is no connection that could be used."""
        side = theme().scaled(_DOT)
        # Qt leaves 4 pixels between an icon and its text; the image brings the rest.
        box = QSize(side + tokens.XS, side)
        self.setIconSize(box)
        ratio = self.devicePixelRatioF()
        image = QPixmap(box * ratio)
        image.setDevicePixelRatio(ratio)
        image.fill(Qt.GlobalColor.transparent)
        colour = QColor(getattr(theme().colours, _INKS[self._view.kind]))
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour, 2))
        painter.setBrush(Qt.BrushStyle.NoBrush if self._view.kind in _HOLLOW else colour)
        painter.drawEllipse(QRectF(1.5, 1.5, side - 3, side - 3))
        painter.end()
        self.setIcon(QIcon(image))

    def _on_theme_change(self) -> None:
        self._why.setMaximumWidth(theme().scaled(_MENU_WIDTH))
        self._settings.setIcon(icon("settings"))
        self._try.setIcon(icon("refresh"))
        self._draw_dot()


def _short(title: str) -> str:
    return title if len(title) <= _TITLE_CHARS else f"{title[: _TITLE_CHARS - 1]}…"
