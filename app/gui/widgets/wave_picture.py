"""One picture of a reading's sound: bars, what is still to come, playhead and times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.desktop.figures import as_clock
from app.gui.style import tokens
from app.gui.style.theme import theme

BAR, GAP = 3.0, 1.5
_LEAST_HEIGHT = 2.0


def bars_within(width: float) -> int:
    """Return how many bars stand side by side in ``width`` pixels."""
    return max(0, int((width + GAP) / (BAR + GAP)))


@dataclass(frozen=True)
class WavePicture:
    """All that is drawn, in seconds of sound and pixels of the strip."""

    area: QRectF
    """Where the bars are."""
    heights: NDArray[np.float32]
    """Of each bar, 0 to 1."""
    span_s: float
    """What the whole width stands for."""
    total_s: float
    is_complete: bool
    head_s: float
    """Where the playhead is: heard, or held by the pointer."""
    hover_s: float | None
    """The time under a pointer that holds nothing."""

    def x_of(self, at_s: float) -> float:
        """Return where a time lies."""
        return self.area.left() + self.area.width() * min(1.0, at_s / self.span_s)

    def time_at(self, x: float) -> float:
        """Return the time at ``x``, never beyond the sound there is."""
        part = (x - self.area.left()) / max(1.0, self.area.width())
        return min(max(part * self.span_s, 0.0), self.total_s)

    def paint(self, painter: QPainter, times: QRectF, total_text: str) -> None:
        """Draw it, with the times in the line ``times``."""
        self._paint_bars(painter)
        self._paint_rest(painter)
        if self.hover_s is not None:
            self._paint_hover(painter, self.hover_s)
        self._paint_head(painter)
        self._paint_times(painter, times, total_text)

    def _paint_bars(self, painter: QPainter) -> None:
        colours = theme().colours
        played, buffered = QColor(colours.wave_played), QColor(colours.wave_buffered)
        head_x = self.x_of(self.head_s)
        middle = self.area.center().y()
        painter.setPen(Qt.PenStyle.NoPen)
        for i, height in enumerate(self.heights.tolist()):
            tall = max(_LEAST_HEIGHT, height * self.area.height())
            bar = QRectF(self.area.left() + i * (BAR + GAP), middle - tall / 2, BAR, tall)
            painter.setBrush(played if bar.right() <= head_x else buffered)
            painter.drawRoundedRect(bar, BAR / 2, BAR / 2)
            if bar.left() < head_x < bar.right():
                painter.setBrush(played)
                painter.drawRect(QRectF(bar.left(), bar.top(), head_x - bar.left(), tall))

    def _paint_rest(self, painter: QPainter) -> None:
        starts = self.x_of(self.total_s) + tokens.XS
        if not self.is_complete and starts < self.area.right():
            painter.setPen(QPen(QColor(theme().colours.track), 2))
            middle = self.area.center().y()
            painter.drawLine(QPointF(starts, middle), QPointF(self.area.right(), middle))

    def _paint_hover(self, painter: QPainter, hover_s: float) -> None:
        x = self.x_of(hover_s)
        painter.setPen(QPen(QColor(theme().colours.text_muted), 1))
        painter.drawLine(QPointF(x, self.area.top()), QPointF(x, self.area.bottom()))

    def _paint_head(self, painter: QPainter) -> None:
        x = self.x_of(self.head_s)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme().colours.text))
        painter.drawRoundedRect(QRectF(x - 1, self.area.top() - 2, 2, self.area.height() + 4), 1, 1)

    def _paint_times(self, painter: QPainter, line: QRectF, total_text: str) -> None:
        colours = theme().colours
        painter.setPen(QColor(colours.text))
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft, as_clock(self.head_s))
        painter.setPen(QColor(colours.text_muted))
        painter.drawText(line, Qt.AlignmentFlag.AlignRight, total_text)
        if self.hover_s is not None:
            metrics = QFontMetricsF(painter.font())
            text = as_clock(self.hover_s)
            wide = metrics.horizontalAdvance(text)
            # The times at both ends are never written over.
            room = metrics.horizontalAdvance("0:00:00…") + tokens.S
            x = self.x_of(self.hover_s) - wide / 2
            x = min(max(x, line.left() + room), line.right() - room - wide)
            painter.drawText(QPointF(x, line.bottom() - metrics.descent()), text)
