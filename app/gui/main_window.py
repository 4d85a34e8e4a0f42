"""The window: puts the widgets in their places, and shows in them what it is told."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QSplitter, QToolButton, QVBoxLayout, QWidget

from app.desktop.excerpt import excerpt
from app.desktop.offers import offers
from app.desktop.player_state import PlayerState
from app.gui.actions import Actions
from app.gui.edits import Edits
from app.gui.keys_dialog import KeysDialog
from app.gui.side_panel import LowPanel, SidePanel
from app.gui.status_line import StatusLine
from app.gui.style import tokens
from app.gui.style.roles import set_role
from app.gui.style.theme import theme
from app.gui.tasks import Tasks
from app.gui.transport import NamedToolButton, Transport
from app.gui.voice.panel import VoicePanel
from app.gui.widgets.connection_chip import ConnectionChip
from app.gui.widgets.editor import Editor
from app.gui.widgets.latency_panel import LatencyPanel
from app.gui.widgets.notice_bar import NoticeBar
from app.gui.widgets.waveform import WaveformStrip
from app.gui.window_state import WindowState

LEAST = QSize(760, 520)
PREFERRED = QSize(1120, 720)
WIDE = 960
"""From this width on there is room for panels beside the text; a larger text needs more."""
PANELS = ("history", "voice", "latency")
_COLUMNS = ("history", "voice")
AT_FIRST = ("latency",)
"""Open at the very first start."""


class MainWindow(QMainWindow):
    """Everything in the window, and no decision about sound.

    Attributes:
        act: what can be asked, by name.
        editor, transport, waveform, chip, notices, status, voice, latency: the widgets, for who connects
            them.
        left, right: the columns beside the text, for panels.

    Signals:
        close_asked: the person wants to close it; it stays until somebody hides it.
        sentence_asked: an index of the state's sentences, to be heard from there on.

    """

    close_asked = Signal()
    sentence_asked = Signal(int)

    def __init__(self, kept: WindowState, tasks: Tasks) -> None:
        super().__init__()
        self.setMinimumSize(LEAST)
        self.setAcceptDrops(True)
        self._kept = kept
        self._is_wide = True
        self._set_aside: tuple[str, ...] = ()
        """The panels that were open before the window became too narrow for them."""
        self._state = PlayerState()
        self.act = Actions(self)
        self.act.fill(self.menuBar())
        self.chip = ConnectionChip()
        self.notices = NoticeBar()
        self.editor = Editor()
        self.status = StatusLine()
        self.waveform = WaveformStrip()
        self.transport = Transport(self.act)
        self.left = SidePanel()
        self.right = SidePanel()
        self.voice = VoicePanel(tasks)
        self.latency = LatencyPanel()
        self._below = LowPanel(self.latency)
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._lay_out()
        self.resize(PREFERRED)
        if (geometry := kept.geometry()) is not None:
            self.restoreGeometry(geometry)
        opened = kept.panels()
        for name in PANELS:
            self.act[name].setChecked(name in (AT_FIRST if opened is None else opened))
        if (division := kept.division()) is not None:
            self._split.restoreState(division)
        self.latency.copy_requested.connect(self.act["report"].trigger)
        self.right.add(self.voice, self.act["voice"])
        self._below.setVisible(self.act["latency"].isChecked())
        self.act["latency"].toggled.connect(self._below.setVisible)
        for name in PANELS:
            self.act[name].toggled.connect(lambda on, name=name: self._on_panel(name, on))
        self.edits = Edits(self.act, self.editor)
        self.editor.sentence_chosen.connect(self.sentence_asked)
        self.editor.notice.connect(self.notices.add)
        self.act["keys"].triggered.connect(lambda: KeysDialog(self.act, self).show())
        self.act["back"].triggered.connect(self._on_back)
        self.act["forward"].triggered.connect(self._on_forward)
        self.show_state(self._state)
        self.act["speak"].setEnabled(False)  # until there is somebody to speak
        self.act["report"].setEnabled(False)
        self._retranslate()
        self.editor.setFocus()

    @property
    def is_first_start(self) -> bool:
        """Whether no window was closed here before."""
        return self._kept.panels() is None

    def welcome(self) -> None:
        """Put a text into the empty editor that is worth hearing first."""
        self.editor.set_text(
            self.tr(
                "Hello, and welcome to Nearfield. What you hear is put together on this very machine, from"
                " a thin stream of numbers: half a kilobyte for each second of speech.\n\n"
                "Write or paste a text of your own here, and press Ctrl+Enter to hear it. The sentence that"
                " you hear is marked. Press Escape at any time, and there is silence at once."
            )
        )

    # -- showing ----------------------------------------------------------------------------------------

    def show_state(self, state: PlayerState) -> None:
        """Show what is spoken and how far it was heard."""
        self._state = state
        can = offers(state)
        self.act["pause"].setEnabled(can.pause)
        self.act.show_resume(can.resumes)
        self.act["stop"].setEnabled(can.stop)
        self.act["save_audio"].setEnabled(can.save)
        self.act["back"].setEnabled(can.back_to is not None)
        self.act["forward"].setEnabled(can.forward_to is not None)
        self.status.show_state(state)
        self.waveform.set_heard(state.heard_s)
        self.editor.show_state(state)
        self._name_itself()

    def show_measured(self, state: PlayerState, peaks: NDArray[np.float32]) -> None:
        """Show what is measured of it and how it looks; comes less often than ``show_state``."""
        self.waveform.set_peaks(peaks)
        self.waveform.set_total(state.decoded_s, state.is_whole)
        self.latency.show_numbers(state.numbers)
        self.act["report"].setEnabled(state.numbers is not None)

    def bring_up(self) -> None:
        """Show the window above the others, wherever it was."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def keep_state(self) -> None:
        """Write where it is and what is open."""
        opened = tuple(name for name in PANELS if self.act[name].isChecked())
        self._kept.keep(
            self.saveGeometry(), self._split.saveState(), opened if self._is_wide else self._set_aside
        )

    # -- Qt ---------------------------------------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        """Leave it to others: what is spoken has to end first, or goes on in the tray."""
        event.ignore()
        self.close_asked.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fold the panels away where there is no room for them, and bring them back where there is."""
        super().resizeEvent(event)
        self._below.updateGeometry()
        is_wide = self.width() >= theme().scaled(WIDE)
        if is_wide == self._is_wide:
            return
        self._is_wide = is_wide
        if is_wide:
            opened, self._set_aside = self._set_aside, ()
        else:
            self._set_aside = tuple(name for name in PANELS if self.act[name].isChecked())
            opened = ()
        for name in PANELS:
            self.act[name].setChecked(name in opened)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take a file anywhere: nobody has to aim at the text."""
        if event.mimeData().hasUrls() and self.editor.canInsertFromMimeData(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open it in the editor."""
        self.editor.insertFromMimeData(event.mimeData())
        event.acceptProposedAction()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self._retranslate()

    # -- inside -----------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(tokens.S)
        top.addWidget(self.chip)
        top.addStretch(1)
        for name in PANELS:
            button: QToolButton = NamedToolButton(self.act[name])
            set_role(button, "quiet")
            top.addWidget(button)

        middle = QWidget()
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens.S)
        column.addWidget(self.editor, 1)
        column.addWidget(self.status)
        column.addWidget(self.waveform)
        column.addWidget(self.transport)
        column.addSpacing(tokens.XS)
        column.addWidget(self._below)

        self._split.setHandleWidth(tokens.M)
        self._split.setChildrenCollapsible(False)
        for widget in (self.left, middle, self.right):
            self._split.addWidget(widget)
        self._split.setStretchFactor(1, 1)
        self.left.hide()
        self.right.hide()

        centre = QWidget()
        rows = QVBoxLayout(centre)
        rows.setContentsMargins(tokens.M, tokens.S, tokens.M, tokens.M)
        rows.setSpacing(tokens.S)
        rows.addLayout(top)
        rows.addWidget(self.notices)
        rows.addWidget(self._split, 1)
        self.setCentralWidget(centre)

    def _on_panel(self, name: str, on: bool) -> None:
        if on and not self._is_wide and name in _COLUMNS:
            # One column beside the text is all there is room for: the newest.
            for other in _COLUMNS:
                self.act[other].setChecked(other == name)

    def _on_back(self) -> None:
        if (index := offers(self._state).back_to) is not None:
            self.sentence_asked.emit(index)

    def _on_forward(self) -> None:
        if (index := offers(self._state).forward_to) is not None:
            self.sentence_asked.emit(index)

    def _name_itself(self) -> None:
        title = self.tr("Nearfield")
        if self._state.is_speaking and (text := excerpt(self._state.text)):
            title = self.tr("{0} — Nearfield").format(text)
        if title != self.windowTitle():
            self.setWindowTitle(title)

    def _retranslate(self) -> None:
        self.act.retranslate()
        self.setAccessibleName(self.tr("Nearfield"))
        self._name_itself()
