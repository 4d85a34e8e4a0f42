"""The sound of a reading from end to end: what was heard, what is ready, and where one is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QSlider, QWidget

from app.desktop.figures import as_clock
from app.desktop.waveform import bar_heights, span_s
from app.gui.style import tokens
from app.gui.style.theme import theme
from app.gui.widgets.throttle import Throttle
from app.gui.widgets.wave_picture import WavePicture, bars_within

REPAINT_S = 1 / 25
KEY_S = 5.0
PAGE_S = 30.0
SPOKEN_S = 5
"""By how much the place must change, in seconds, before a screen reader is told while it plays."""


class WaveformStrip(QSlider):
    """A slider that looks like the sound. The whole reading is as wide as the strip; nothing scrolls.

    It is a slider to screen readers too: from 0 to the sound there is, in whole seconds.

    Signals:
        scrubbed: the pointer is held and was moved to this place, in seconds.
        seek_requested: the reading should go on from this place, in seconds; never beyond what there is.

    """

    scrubbed = Signal(float)
    seek_requested = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._peaks: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        self._heights: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        self._heard_s = 0.0
        self._total_s = 0.0
        self._is_complete = False
        self._held_s: float | None = None
        """Where the pointer holds the playhead."""
        self._hover_s: float | None = None
        self._told_s = 0
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setRange(0, 0)
        self.setSingleStep(round(KEY_S))
        self.setPageStep(round(PAGE_S))
        self._repaint = Throttle(REPAINT_S, self)
        self._repaint.due.connect(self.update)
        theme().changed.connect(self._on_theme_change)
        self._retranslate()

    # -- what is shown ----------------------------------------------------------------------------------

    def set_peaks(self, peaks: NDArray[np.float32]) -> None:
        """Show ``peaks`` [n], 0 to 1, one for every 20 ms; they may grow from call to call."""
        self._peaks = peaks
        self._lay_out()

    def set_total(self, total_s: float, complete: bool) -> None:
        """Say how much sound there is, and whether that is all."""
        if (total_s, complete) == (self._total_s, self._is_complete):
            return
        self._total_s, self._is_complete = total_s, complete
        self.setMaximum(int(total_s))
        self._lay_out()
        self._tell()

    def set_heard(self, heard_s: float) -> None:
        """Move the playhead."""
        if heard_s == self._heard_s:
            return
        jumped = abs(heard_s - self._heard_s) > 1
        self._heard_s = heard_s
        self._repaint.want()
        # Told now and then only: a screen reader reads every change aloud while the strip has the focus.
        if jumped or abs(heard_s - self._told_s) >= SPOKEN_S:
            self._tell()

    def clear(self) -> None:
        """Show no reading."""
        self._peaks = np.zeros(0, dtype=np.float32)
        self._heard_s = self._total_s = 0.0
        self._is_complete = False
        self._held_s = None
        self.setMaximum(0)
        self._lay_out()
        self._tell()

    def sizeHint(self) -> QSize:
        """Return a height that leaves room for the times below the bars."""
        return QSize(400, self._line_height() + 7 * tokens.S)

    def minimumSizeHint(self) -> QSize:
        """Return what is still of use."""
        return QSize(160, self._line_height() + 5 * tokens.S)

    # -- what a person does -----------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take hold of the playhead."""
        if event.button() is Qt.MouseButton.LeftButton and self._total_s > 0:
            self._hold(event.position().x())
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag it, or say which time is under the pointer."""
        self._hover_s = self._picture().time_at(event.position().x()) if self._total_s > 0 else None
        if self._held_s is not None:
            self._hold(event.position().x())
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go: that is where to go on."""
        if event.button() is Qt.MouseButton.LeftButton and self._held_s is not None:
            self._request(self._held_s)
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        """Forget the time under the pointer."""
        self._hover_s = None
        self.update()
        super().leaveEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to what scrolls: nobody seeks by accident."""
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Seek by a few seconds, by more, or to an end; Esc lets go of the playhead without seeking."""
        here_s = self._heard_s
        goals: dict[int, float] = {
            Qt.Key.Key_Left: here_s - KEY_S,
            Qt.Key.Key_Right: here_s + KEY_S,
            Qt.Key.Key_PageDown: here_s - PAGE_S,
            Qt.Key.Key_PageUp: here_s + PAGE_S,
            Qt.Key.Key_Home: 0.0,
            Qt.Key.Key_End: self._total_s,
        }
        key = event.key()
        if key == Qt.Key.Key_Escape and self._held_s is not None:
            self._held_s = None
            self.update()
        elif key in goals and event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        ):
            if self._total_s > 0:
                self._request(min(max(goals[key], 0.0), self._total_s))
        else:
            event.ignore()

    # -- painting ---------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the sound and the times, or say what will be here."""
        colours = theme().colours
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(theme().font(tokens.CAPTION))
        if self._total_s > 0:
            times = QRectF(self.rect()).adjusted(tokens.XS, 0, -tokens.XS, -2)
            times.setTop(times.bottom() - QFontMetricsF(painter.font()).height())
            total = as_clock(self._total_s)
            self._picture().paint(
                painter, times, total if self._is_complete else self.tr("{0}…").format(total)
            )
        else:
            painter.setPen(QColor(colours.text_muted))
            lines = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignCenter
            painter.drawText(QRectF(self.rect()), lines, self.tr("What is read aloud is drawn here."))
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.accent), tokens.RING))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            inset = tokens.RING / 2
            ring = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
            painter.drawRoundedRect(ring, tokens.RADIUS_SMALL, tokens.RADIUS_SMALL)
        painter.end()

    def _picture(self) -> WavePicture:
        return WavePicture(
            self._wave_area(),
            self._heights,
            self._span_s(),
            self._total_s,
            self._is_complete,
            self._heard_s if self._held_s is None else self._held_s,
            self._hover_s if self._held_s is None else None,
        )

    # -- inside -----------------------------------------------------------------------------------------

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language, or look dimmed."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Have as many bars as fit."""
        super().resizeEvent(event)
        self._lay_out()

    def _retranslate(self) -> None:
        self.setAccessibleName(self.tr("Place in the reading"))
        self.setWhatsThis(
            self.tr("Click or drag to hear it from there. Left and Right go back and on by 5 seconds.")
        )
        self._tell()

    def _on_theme_change(self) -> None:
        self.updateGeometry()
        self._lay_out()

    def _tell(self) -> None:
        """Tell screen readers the place: as the slider's value, and in words."""
        self._told_s = int(self._heard_s)
        self.setValue(self._told_s)
        self.setAccessibleDescription(
            self.tr("{0} of {1}").format(as_clock(self._heard_s), as_clock(self._total_s))
        )

    def _request(self, at_s: float) -> None:
        self._held_s = None
        self.set_heard(at_s)
        self._tell()
        self.seek_requested.emit(at_s)
        self.update()

    def _hold(self, x: float) -> None:
        self._held_s = self._picture().time_at(x)
        self.scrubbed.emit(self._held_s)
        self.update()

    def _lay_out(self) -> None:
        bars = bars_within(self._wave_area().width())
        self._heights = bar_heights(self._peaks, bars, self._span_s())
        self._repaint.want()

    def _span_s(self) -> float:
        return span_s(self._total_s, self._is_complete)

    def _wave_area(self) -> QRectF:
        edge = tokens.XS
        return QRectF(self.rect()).adjusted(edge, edge, -edge, -edge - self._line_height())

    def _line_height(self) -> int:
        return round(QFontMetricsF(theme().font(tokens.CAPTION)).height()) + tokens.XS
