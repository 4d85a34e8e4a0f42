"""The usual commands of editing, for whatever has the keyboard: the text, or a field beside it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QTextEdit

from app.gui.actions import Actions
from app.gui.widgets.editor import Editor

_COMMANDS = {
    # Names of actions, and of the slots that all text widgets of Qt have.
    "undo": "undo",
    "redo": "redo",
    "cut": "cut",
    "copy": "copy",
    "paste": "paste",
    "select_all": "selectAll",
}


class Edits(QObject):
    """Sends the commands to the text widget that has the focus, else to the editor."""

    def __init__(self, act: Actions, editor: Editor) -> None:
        super().__init__(editor)
        self._act = act
        self._editor = editor
        for name, slot in _COMMANDS.items():
            act[name].triggered.connect(lambda _=False, slot=slot: self._do(slot))
        act["clear"].triggered.connect(editor.clear)
        editor.text_changed.connect(self._offer)
        editor.copyAvailable.connect(self._offer)
        self._offer()

    def _do(self, slot: str) -> None:
        focused = QApplication.focusWidget()
        if not isinstance(focused, QLineEdit | QPlainTextEdit | QTextEdit):
            focused = self._editor
        command: Callable[[], None] = getattr(focused, slot)
        command()

    def _offer(self) -> None:
        self._act["clear"].setEnabled(not self._editor.document().isEmpty())
        self._act["speak_selection"].setEnabled(self._editor.textCursor().hasSelection())
