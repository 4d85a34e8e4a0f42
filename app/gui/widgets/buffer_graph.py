"""How much sound was in hand over the last seconds."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.desktop.buffer_history import BufferHistory
from app.gui.style import tokens
from app.gui.style.theme import theme


class BufferGraph(QWidget):
    """A small area chart, newest at the right."""

    def __init__(self, history: BufferHistory, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        """Return a strip as high as two lines."""
        return QSize(120, theme().scaled(4 * tokens.S))

    def minimumSizeHint(self) -> QSize:
        """Return the least that shows anything."""
        return QSize(48, 3 * tokens.S)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the line over its area, on a base line."""
        colours = theme().colours
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(0, 1, 0, -1)
        painter.setPen(QPen(QColor(colours.track), 1))
        painter.drawLine(area.bottomLeft(), area.bottomRight())
        points = [
            QPointF(area.left() + x * area.width(), area.bottom() - y * area.height())
            for x, y in self._history.points()
        ]
        if len(points) > 1:
            ground = QPolygonF(
                [QPointF(points[0].x(), area.bottom()), *points, QPointF(points[-1].x(), area.bottom())]
            )
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.accent_soft))
            painter.drawPolygon(ground)
            painter.setPen(QPen(QColor(colours.accent), 1.5))
            painter.drawPolyline(QPolygonF(points))
        painter.end()
