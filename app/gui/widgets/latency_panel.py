"""The truth about latency while it happens."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.desktop.buffer_history import BufferHistory
from app.desktop.figures import (
    NOT_KNOWN,
    as_kilobytes_per_s,
    as_milliseconds,
    as_real_time_factor,
    as_seconds,
    in_milliseconds,
)
from app.desktop.latency import Numbers
from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.roles import set_role
from app.gui.style.theme import theme
from app.gui.widgets import latency_words
from app.gui.widgets.buffer_graph import BufferGraph
from app.gui.widgets.figure import Figure
from app.gui.widgets.throttle import Throttle
from app.gui.widgets.waterfall_view import WaterfallView

RENDER_S = 0.1
WIDE = 640
"""From this width on, in pixels of a window whose text is not enlarged, the parts stand side by side."""


class LatencyPanel(QWidget):
    """TTFA as one large number, its parts as a waterfall, and what else can be counted.

    Signals:
        copy_requested: the numbers should go to the clipboard as text.

    """

    copy_requested = Signal()

    def __init__(self, parent: QWidget | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(parent)
        self._clock = clock
        self._numbers: Numbers | None = None
        self._history = BufferHistory()
        self._throttle = Throttle(RENDER_S, self)
        self._throttle.due.connect(self._render)

        self._heading = QLabel()
        set_role(self._heading, "section")
        self._ttfa = QLabel(NOT_KNOWN)
        set_role(self._ttfa, "display")
        self._unit = QLabel("ms")
        set_role(self._unit, "title")
        self._slowest = QLabel()
        self._slowest.setWordWrap(True)
        self._slowest.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        set_role(self._slowest, "caption")
        self._waterfall = WaterfallView()
        self._rtf = Figure()
        self._underruns = Figure()
        self._frames = Figure()
        self._buffer = Figure()
        self._rate = Figure()
        self._pcm_rate = Figure()
        self._graph = BufferGraph(self._history)
        self._copy = QPushButton()
        self._copy.setIcon(icon("copy"))
        set_role(self._copy, "quiet")
        self._copy.clicked.connect(self.copy_requested)

        self._parts = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._parts.setContentsMargins(0, 0, 0, 0)
        self._parts.setSpacing(tokens.M)
        self._parts.addLayout(self._headline(), 1)
        self._parts.addWidget(self._waterfall, 1, Qt.AlignmentFlag.AlignTop)
        self._parts.addLayout(self._counts(), 1)
        theme().changed.connect(self._fit_text)
        self._retranslate()
        self._fit_text()

    def show_numbers(self, numbers: Numbers | None) -> None:
        """Show ``numbers``, of a reading that runs or has ended; ``None`` before any."""
        if numbers is None:
            self._history.clear()
        else:
            self._history.note(self._clock(), numbers.buffered_s)
        self._numbers = numbers
        self._throttle.want()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Stand the parts side by side where there is room."""
        super().resizeEvent(event)
        is_wide = self.width() >= theme().scaled(WIDE)
        self._parts.setDirection(
            QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        )
        self._parts.setSpacing(tokens.XL if is_wide else tokens.M)

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    # -- laying out -------------------------------------------------------------------------------------

    def _headline(self) -> QVBoxLayout:
        top = QHBoxLayout()
        top.addWidget(self._heading, 1)
        top.addWidget(self._copy)
        number = QHBoxLayout()
        number.setSpacing(tokens.S)
        number.addWidget(self._ttfa, 0, Qt.AlignmentFlag.AlignBottom)
        number.addWidget(self._unit, 1, Qt.AlignmentFlag.AlignBottom)
        column = QVBoxLayout()
        column.setSpacing(0)
        column.addLayout(top)
        column.addLayout(number)
        column.addWidget(self._slowest)
        column.addStretch(1)
        return column

    def _counts(self) -> QVBoxLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(tokens.M)
        grid.setVerticalSpacing(tokens.S)
        for column, figure in enumerate((self._rtf, self._underruns, self._frames)):
            grid.addWidget(figure, 0, column)
            grid.setColumnStretch(column, 1)
        grid.addWidget(self._buffer, 1, 0)
        grid.addWidget(self._graph, 1, 1, 1, 2)
        grid.addWidget(self._rate, 2, 0)
        grid.addWidget(self._pcm_rate, 2, 1, 1, 2)
        column_of_all = QVBoxLayout()
        column_of_all.addLayout(grid)
        column_of_all.addStretch(1)
        return column_of_all

    def _fit_text(self) -> None:
        """Put number and unit on one base line, and reserve room so that nothing moves when words come."""
        large, small = (QFontMetricsF(theme().font(step)) for step in (tokens.DISPLAY, tokens.TITLE))
        self._unit.setContentsMargins(0, 0, 0, round(large.descent() - small.descent()))
        line = QFontMetricsF(theme().font(tokens.CAPTION)).lineSpacing()
        self._slowest.setMinimumHeight(round(2 * line) + tokens.XS)

    # -- showing ----------------------------------------------------------------------------------------

    def _render(self) -> None:
        numbers = self._numbers
        self._copy.setEnabled(numbers is not None)
        self._waterfall.show_numbers(numbers)
        value, unit = in_milliseconds(None if numbers is None else numbers.ttfa_s)
        if (value, unit) != (self._ttfa.text(), self._unit.text()):
            self._ttfa.setText(value)
            self._unit.setText(unit)
        self._name_ttfa()
        if numbers is None:
            self._slowest.setText(self.tr("Speak something: how long it takes to be heard is shown here."))
            for figure in (
                self._rtf,
                self._underruns,
                self._frames,
                self._buffer,
                self._rate,
                self._pcm_rate,
            ):
                figure.show_value(NOT_KNOWN)
        else:
            self._slowest.setText(latency_words.slowest_in_words(numbers))
            self._render_counts(numbers)
        self._graph.update()

    def _render_counts(self, numbers: Numbers) -> None:
        by_server = numbers.is_decoded_by_server
        self._rtf.show_value(self.tr("by server") if by_server else as_real_time_factor(numbers.rtf))
        silent = self.tr("{0} ({1})").format(numbers.underruns, as_milliseconds(numbers.gap_s))
        self._underruns.show_value(silent if numbers.underruns else "0", numbers.underruns > 0)
        self._frames.show_value(str(numbers.frames))
        self._buffer.show_value(as_seconds(numbers.buffered_s))
        self._rate.show_value(as_kilobytes_per_s(numbers.wire_bytes_per_s))
        self._pcm_rate.show_value(as_kilobytes_per_s(numbers.pcm_bytes_per_s))

    def _retranslate(self) -> None:
        self.setAccessibleName(self.tr("Latency"))
        self._heading.setText(self.tr("Time to first audio"))
        meaning = self.tr(
            "TTFA: from the moment the text is sent to the first sample leaving the sound device."
        )
        for part in (self._heading, self._ttfa, self._unit):
            part.setToolTip(meaning)
        self._copy.setText(self.tr("Copy report"))
        self._copy.setToolTip(self.tr("Copy these numbers as text"))
        self._copy.setAccessibleName(self.tr("Copy the latency report"))
        self._rtf.explain(
            self.tr("RTF"),
            self.tr(
                "Real-time factor: seconds spent decoding for each second of sound. "
                "Below 1 the decoder keeps up. There is none if the server decodes."
            ),
        )
        self._underruns.explain(
            self.tr("Underruns"),
            self.tr(
                "How often the sound stopped in mid-sentence because no more was ready, and for how long."
            ),
        )
        self._frames.explain(
            self.tr("Frames"),
            self.tr("Codec frames received, 80 ms of sound each. There are none if the server decodes."),
        )
        depth = self.tr("Decoded sound that waits for the sound device now, and over the last 20 seconds.")
        self._buffer.explain(self.tr("Buffer"), depth)
        self._graph.setToolTip(depth)
        self._graph.setAccessibleName(self.tr("Buffer over the last 20 seconds"))
        self._rate.explain(self.tr("Received"), self.tr("Bytes received for each second of sound."))
        self._pcm_rate.explain(
            self.tr("As PCM"), self.tr("What each second of the same sound would have taken as 16-bit PCM.")
        )
        self._render()

    def _name_ttfa(self) -> None:
        value = f"{self._ttfa.text()} {self._unit.text()}"
        self._ttfa.setAccessibleName(self.tr("Time to first audio: {0}").format(value))
