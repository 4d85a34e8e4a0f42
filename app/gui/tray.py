"""The icon beside the clock, where a desktop has a place for it."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from app.desktop.excerpt import excerpt
from app.desktop.player_state import Phase, PlayerState
from app.gui.actions import Actions
from app.gui.style.icons import app_icon
from app.gui.style.theme import theme

_IN_MENU = ("show_window", "", "speak_clipboard", "pause", "stop", "", "quit")
_SIZES = (16, 22, 24, 32, 48, 64)


class Tray(QObject):
    """Shows in its icon and tooltip what is spoken; its menu holds the window's own actions."""

    def __init__(self, actions: Actions, parent: QObject) -> None:
        super().__init__(parent)
        self._shown: Phase | None = None
        self.menu = QMenu()
        for name in _IN_MENU:
            if name:
                self.menu.addAction(actions[name])
            else:
                self.menu.addSeparator()
        self.icon = QSystemTrayIcon(self)
        self.icon.setContextMenu(self.menu)
        self.icon.activated.connect(
            lambda reason: (
                actions["show_window"].trigger()
                if reason is QSystemTrayIcon.ActivationReason.Trigger
                else None
            )
        )
        self.show_state(PlayerState())
        if self.is_available():
            self.icon.show()

    @staticmethod
    def is_available() -> bool:
        """Whether the desktop has a tray now."""
        return QSystemTrayIcon.isSystemTrayAvailable()

    def close(self) -> None:
        """Take the icon away."""
        self.icon.hide()
        self.menu.deleteLater()

    def show_state(self, state: PlayerState) -> None:
        """Show ``state``; cheap where nothing of it is to be seen here."""
        text = excerpt(state.text)
        if not state.is_speaking:
            tip = self.tr("Nearfield")
        elif state.phase is Phase.PAUSED:
            tip = self.tr("Nearfield, paused: {0}").format(text)
        else:
            tip = self.tr("Nearfield speaks: {0}").format(text)
        if tip != self.icon.toolTip():
            self.icon.setToolTip(tip)
        seen = state.phase if state.phase in (Phase.IDLE, Phase.PAUSED) else Phase.PLAYING
        if seen is not self._shown:
            self._shown = seen
            self.icon.setIcon(_icon(seen))


def _icon(phase: Phase) -> QIcon:
    """Return the application's icon, with a mark in its corner while something is spoken or held."""
    plain = app_icon()
    if phase is Phase.IDLE:
        return plain
    marked = QIcon()
    for side in _SIZES:
        image = QPixmap(plain.pixmap(side, side))
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        radius = side / 4
        centre = QPointF(side - radius, side - radius)
        painter.setPen(QPen(QColor(theme().colours.surface), side / 16))
        painter.setBrush(QColor(theme().colours.accent))
        painter.drawEllipse(centre, radius - side / 32, radius - side / 32)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme().colours.accent_text))
        if phase is Phase.PAUSED:
            for left in (-0.4, 0.12):
                painter.drawRect(
                    QRectF(centre.x() + left * radius, centre.y() - 0.4 * radius, 0.28 * radius, 0.8 * radius)
                )
        else:
            x, y = centre.x(), centre.y()
            corners = ((-0.3, -0.45), (-0.3, 0.45), (0.5, 0.0))
            painter.drawPolygon([QPointF(x + dx * radius, y + dy * radius) for dx, dy in corners])
        painter.end()
        marked.addPixmap(image)
    return marked
