"""The waterfall: a row for each hop between asking and hearing, each where the one before ends."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from app.desktop.figures import as_milliseconds
from app.desktop.latency import Hop, Numbers
from app.desktop.waterfall import Bar, waterfall
from app.gui.style import tokens
from app.gui.style.roles import set_role
from app.gui.style.theme import theme
from app.gui.widgets import latency_words

_LEAST_WIDTH = 2.0
_THICK = 8


@dataclass(frozen=True)
class _Row:
    name: QLabel
    bar: _BarCell
    value: QLabel


class WaterfallView(QWidget):
    """Rows of name, bar and milliseconds; all there from the start, so that none moves."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(tokens.S)
        grid.setVerticalSpacing(tokens.XS)
        grid.setColumnStretch(1, 1)
        self._rows: dict[Hop, _Row] = {}
        for line, hop in enumerate(Hop):
            row = _Row(QLabel(), _BarCell(), QLabel())
            set_role(row.name, "caption")
            set_role(row.value, "caption")
            row.value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(row.name, line, 0)
            grid.addWidget(row.bar, line, 1)
            grid.addWidget(row.value, line, 2)
            self._rows[hop] = row
        theme().changed.connect(self._size_columns)
        self._retranslate()
        self.show_numbers(None)

    def show_numbers(self, numbers: Numbers | None) -> None:
        """Show the hops of ``numbers``."""
        for bar in waterfall(numbers).bars:
            row = self._rows[bar.hop]
            value = as_milliseconds(bar.duration_s)
            if row.value.text() != value:
                row.value.setText(value)
                row.value.setAccessibleName(f"{row.name.text()}: {value}")
            row.bar.show_bar(bar)

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    def _retranslate(self) -> None:
        for hop, row in self._rows.items():
            row.name.setText(latency_words.name(hop))
            row.value.setAccessibleName(f"{row.name.text()}: {row.value.text()}")
            for part in (row.name, row.bar, row.value):
                part.setToolTip(latency_words.meaning(hop))
        self._size_columns()

    def _size_columns(self) -> None:
        metrics = QFontMetricsF(theme().font(tokens.CAPTION))
        wide = round(metrics.horizontalAdvance("0000 ms")) + 1
        for row in self._rows.values():
            row.value.setMinimumWidth(wide)


class _BarCell(QWidget):
    """One bar on a faint track."""

    def __init__(self) -> None:
        super().__init__()
        self._bar: Bar | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        theme().changed.connect(self.update)

    def show_bar(self, bar: Bar) -> None:
        """Show ``bar``."""
        if bar != self._bar:
            self._bar = bar
            self.update()

    def sizeHint(self) -> QSize:
        """Return a size in which milliseconds can be told apart."""
        return QSize(120, _THICK)

    def minimumSizeHint(self) -> QSize:
        """Return the least that shows anything."""
        return QSize(48, _THICK)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the track, and on it the bar in the colour of its weight."""
        colours = theme().colours
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        track = QRectF(0, (self.height() - _THICK) / 2, self.width(), _THICK)
        painter.setBrush(QColor(colours.track))
        painter.drawRoundedRect(track, _THICK / 2, _THICK / 2)
        bar = self._bar
        if bar is not None and bar.starts is not None and bar.ends is not None and bar.ends > bar.starts:
            painter.setBrush(QColor(_colour(bar)))
            wide = max(_LEAST_WIDTH, (bar.ends - bar.starts) * track.width())
            left = min(bar.starts * track.width(), track.width() - wide)
            rounding = min(wide, _THICK) / 2
            painter.drawRoundedRect(QRectF(left, track.top(), wide, _THICK), rounding, rounding)
        painter.end()


def _colour(bar: Bar) -> str:
    colours = theme().colours
    if bar.is_slowest:
        return colours.accent
    return colours.wave_buffered if bar.is_within_ttfa else colours.border_strong
