"""The download of a repository's weights, with how far it is and a way to stop it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.desktop.checkpoints import Download, DownloadState, Fetch, Phase
from app.gui.settings.amounts import size_text
from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.roles import set_role
from app.gui.widgets.remark import Remark


class DownloadRow(QWidget):
    """Offers to download what is missing; takes no room while there is nothing to say.

    Signals:
        fetched: the repository that is here now.

    """

    fetched = Signal(str)

    def __init__(self, fetch: Fetch | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._repo = ""
        self._download = Download(self._on_change, fetch)
        download = self._download
        self.destroyed.connect(lambda: download.close())
        self.start = QPushButton(icon("download"), "")
        self.start.clicked.connect(self._start)
        self.cancel = QPushButton(icon("cancel"), "")
        self.cancel.clicked.connect(self._download.cancel)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.amount = QLabel()
        set_role(self.amount, "caption")
        self.remark = Remark()
        buttons = QHBoxLayout()
        buttons.addWidget(self.start)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.amount, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens.S)
        column.addWidget(self.bar)
        column.addLayout(buttons)
        column.addWidget(self.remark)
        self._retranslate()

    def offer(self, repo: str) -> None:
        """Offer to download ``repo``; empty: nothing, but what runs goes on and stays in view."""
        self._repo = repo
        self._show()

    def changeEvent(self, event: QEvent) -> None:
        """Speak another language."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    def _start(self) -> None:
        self._download.start(self._repo)
        self.cancel.setFocus()  # the button that was pressed is gone

    def _on_change(self, state: DownloadState) -> None:
        had_focus = self.cancel.hasFocus()
        self._show()
        if state.phase is not Phase.RUNNING and had_focus and self.start.isVisible():
            self.start.setFocus()
        if state.phase is Phase.DONE:
            self.fetched.emit(state.repo)

    def _retranslate(self) -> None:
        self.cancel.setText(self.tr("Cancel the download"))
        self.cancel.setAccessibleName(self.cancel.text())
        self.bar.setAccessibleName(self.tr("Download of the weights"))
        self._show()

    def _show(self) -> None:
        state = self._download.state
        is_running = state.phase is Phase.RUNNING
        is_mine = state.repo == self._repo
        self.setVisible(bool(self._repo) or is_running)
        self.bar.setVisible(
            is_running or (is_mine and state.phase is Phase.CANCELLED and state.total_bytes > 0)
        )
        self.cancel.setVisible(is_running)
        self.start.setVisible(bool(self._repo) and not is_running)
        # A bar of 0 of 0 moves to and fro: it is not known yet how much there is.
        self.bar.setRange(0, 1000 if state.total_bytes or not is_running else 0)
        if state.total_bytes:
            self.bar.setValue(round(1000 * state.done_bytes / state.total_bytes))
        self.start.setText(
            self.tr("Go on with the download")
            if is_mine and state.phase in (Phase.CANCELLED, Phase.FAILED) and state.done_bytes
            else self.tr("Download the weights")
        )
        self.start.setAccessibleName(self.start.text())
        self.amount.setText(self._amount(state) if is_running else "")
        self.remark.show_text(state.reason if is_mine and state.phase is Phase.FAILED else "")

    def _amount(self, state: DownloadState) -> str:
        if not state.total_bytes:
            return self.tr("Looking what there is…")
        sizes = (size_text(state.done_bytes), size_text(state.total_bytes))
        if not state.bytes_per_s:
            return self.tr("{0} of {1}").format(*sizes)
        return self.tr("{0} of {1}, {2} a second").format(*sizes, size_text(state.bytes_per_s))
