"""What a person should know, in the window and in nobody's way."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, QSize, Qt, QTimer
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QEnterEvent,
    QFontMetrics,
    QKeyEvent,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.desktop.notices import NoticeStack, Shown
from app.engine.events import Severity
from app.gui.style import tokens
from app.gui.style.icons import icon, pixmap
from app.gui.style.roles import set_role
from app.gui.style.theme import theme

_INKS = {Severity.INFO: "accent", Severity.WARNING: "warning", Severity.ERROR: "danger"}
_ICON = 20


class NoticeBar(QWidget):
    """A stack of notices, oldest on top; takes no room while there is none.

    An error stays until it is dismissed; others go by themselves, unless the pointer rests on the bar.
    """

    def __init__(self, parent: QWidget | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(parent)
        self._clock = clock
        self._stack = NoticeStack()
        self._cards: dict[int, _Card] = {}
        self._is_held = False
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(tokens.S)
        # As high as its texts need at its width, which a fixed policy would cap at what they need at another.
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.expire)
        self.setVisible(False)

    @property
    def shown(self) -> tuple[Shown, ...]:
        """The notices in view."""
        return self._stack.shown

    def add(self, severity: Severity, text: str) -> None:
        """Show ``text``, and have a screen reader say it: at once if it is an error, else when it is done."""
        self._stack.add(severity, text, self._clock())
        self._lay_out()
        announcement = QAccessibleAnnouncementEvent(self, text)
        announcement.setPoliteness(
            QAccessible.AnnouncementPoliteness.Assertive
            if severity is Severity.ERROR
            else QAccessible.AnnouncementPoliteness.Polite
        )
        QAccessible.updateAccessibility(announcement)

    def dismiss(self, number: int) -> None:
        """Take a notice away."""
        self._stack.dismiss(number)
        self._lay_out()

    def clear(self) -> None:
        """Take all away."""
        self._stack.clear()
        self._lay_out()

    def expire(self) -> None:
        """Take away what has stood there long enough; called by a timer."""
        if not self._is_held:
            self._stack.expire(self._clock())
        self._lay_out()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Keep what is being read."""
        self._is_held = True
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Let it go on."""
        self._is_held = False
        self._wait()
        super().leaveEvent(event)

    def _lay_out(self) -> None:
        shown = {each.number: each for each in self._stack.shown}
        for number in [number for number in self._cards if number not in shown]:
            card = self._cards.pop(number)
            self._column.removeWidget(card)
            card.hide()
            card.deleteLater()
        for number, each in shown.items():
            if number in self._cards:
                self._cards[number].show_notice(each)
            else:
                card = _Card(each, self.dismiss)
                self._cards[number] = card
                self._column.addWidget(card)
        self.setVisible(bool(shown))
        self._wait()

    def _wait(self) -> None:
        next_s = self._stack.next_expiry_s()
        if next_s is None or self._is_held:
            self._timer.stop()
        else:
            self._timer.start(max(1, round((next_s - self._clock()) * 1000)))


class _Card(QFrame):
    """One notice: what kind it is, its text, a button that takes it away."""

    def __init__(self, notice: Shown, dismiss: Callable[[int], None]) -> None:
        super().__init__()
        self._notice = notice
        self._dismiss = dismiss
        self.setProperty("severity", notice.severity.value)
        self._sign = QLabel()
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._close = QToolButton()
        self._close.setIcon(icon("close"))
        set_role(self._close, "quiet")
        self._close.clicked.connect(lambda: self._dismiss(self._notice.number))
        row = QHBoxLayout(self)
        row.setContentsMargins(tokens.M, tokens.XS, tokens.XS, tokens.XS)
        row.setSpacing(tokens.S)
        row.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._text, 1)
        row.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)
        theme().changed.connect(self._draw)
        self._draw()
        self._retranslate()

    def show_notice(self, notice: Shown) -> None:
        """Show the same notice again, counted."""
        if notice != self._notice:
            self._notice = notice
            self._retranslate()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go away by keyboard, too."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self._dismiss(self._notice.number)
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    def _retranslate(self) -> None:
        notice = self._notice
        kinds = {
            Severity.INFO: self.tr("Notice"),
            Severity.WARNING: self.tr("Warning"),
            Severity.ERROR: self.tr("Error"),
        }
        self._sign.setAccessibleName(kinds[notice.severity])
        text = notice.text
        if notice.times > 1:
            text = self.tr("{0} (%n times)", "", notice.times).format(text)
        self._text.setText(text)
        self._close.setToolTip(self.tr("Dismiss"))
        self._close.setAccessibleName(self.tr("Dismiss: {0}").format(notice.text))

    def _draw(self) -> None:
        side = theme().scaled(_ICON)
        severity = self._notice.severity
        self._sign.setPixmap(pixmap(severity.value, _INKS[severity], side, self.devicePixelRatioF()))
        self._close.setIconSize(QSize(round(side * 0.8), round(side * 0.8)))
        # Sign, first line and button stand on one line, as high as the button.
        high = self._close.sizeHint().height()
        self._sign.setFixedHeight(high)
        line = QFontMetrics(self._text.font()).lineSpacing()
        margin = max(0, (high - line) // 2)
        self._text.setContentsMargins(0, margin, 0, margin)
