"""What the player does, in words."""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.desktop.player_state import Phase, PlayerState
from app.gui.style.roles import set_role
from decoder.wire.events import Outcome

_WORDS = {
    Phase.IDLE: "",
    Phase.PREPARING: QT_TRANSLATE_NOOP("StatusLine", "Preparing the decoder…"),
    Phase.CONNECTING: QT_TRANSLATE_NOOP("StatusLine", "Connecting…"),
    Phase.WAITING: QT_TRANSLATE_NOOP("StatusLine", "Waiting for the server…"),
    Phase.BUFFERING: QT_TRANSLATE_NOOP("StatusLine", "Buffering…"),
    Phase.PLAYING: QT_TRANSLATE_NOOP("StatusLine", "Speaking"),
    Phase.STALLED: QT_TRANSLATE_NOOP("StatusLine", "Waiting for more…"),
    Phase.PAUSED: QT_TRANSLATE_NOOP("StatusLine", "Paused"),
}
_ENDINGS = {
    Outcome.COMPLETE: QT_TRANSLATE_NOOP("StatusLine", "Finished"),
    Outcome.INCOMPLETE: QT_TRANSLATE_NOOP("StatusLine", "Ended before all of it was spoken"),
    Outcome.EMPTY: QT_TRANSLATE_NOOP("StatusLine", "The server sent no sound"),
    Outcome.CUT_OFF: QT_TRANSLATE_NOOP("StatusLine", "Cut off"),
    Outcome.CANCELLED: QT_TRANSLATE_NOOP("StatusLine", "Stopped"),
    Outcome.FAILED: QT_TRANSLATE_NOOP("StatusLine", "Failed"),
}


class StatusLine(QWidget):
    """One line: what goes on, or how the last reading ended, or what to do next."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = PlayerState()
        self._preparing = False
        self.words = QLabel()
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        set_role(self.words, "caption")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.words, 1)
        self._paint()

    def show_state(self, state: PlayerState) -> None:
        """Show ``state``."""
        self._state = state
        self._paint()

    def show_preparing(self, preparing: bool) -> None:
        """Say that the decoder is not warm yet, where nothing else is to be said."""
        self._preparing = preparing
        self._paint()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self._paint()

    def _paint(self) -> None:
        _set(self.words, self._text())

    def _text(self) -> str:
        state = self._state
        if state.is_speaking:
            words = _tr(_WORDS[state.phase])
            if state.phase is Phase.PLAYING and state.sentence is not None and len(state.sentences) > 1:
                return self.tr("Speaking, sentence {0}").format(state.sentence + 1)
            return words
        if state.outcome is not None:
            words = _tr(_ENDINGS[state.outcome])
            is_explained = state.reason and state.outcome is not Outcome.CANCELLED
            return self.tr("{0}: {1}").format(words, state.reason) if is_explained else words
        if self._preparing:
            return _tr(_WORDS[Phase.PREPARING])
        return self.tr("Ready. Press Ctrl+Enter to hear the text.")


def _set(label: QLabel, text: str) -> None:
    if label.text() != text:
        label.setText(text)


def _tr(text: object) -> str:
    return QCoreApplication.translate("StatusLine", str(text)) if text else ""
