"""The list of past readings, with the keys one expects of a list."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget


class EntryList(QListView):
    """One entry is selected at a time.

    While it has the focus its keys are its own, also those that are the window's otherwise.

    Signals:
        replay_wanted, copy_wanted, delete_wanted: of the current entry.
        undo_wanted: of the last deletion.

    """

    replay_wanted = Signal()
    copy_wanted = Signal()
    delete_wanted = Signal()
    undo_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.doubleClicked.connect(lambda _: self.replay_wanted.emit())

    def event(self, event: QEvent) -> bool:
        """Claim the keys before the window's shortcuts have them."""
        if (
            event.type() is QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and self._wanted(event) is not None
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Do what the key stands for."""
        name = self._wanted(event)
        if name is None:
            super().keyPressEvent(event)
            return
        event.accept()
        {
            "replay": self.replay_wanted,
            "copy": self.copy_wanted,
            "delete": self.delete_wanted,
            "undo": self.undo_wanted,
        }[name].emit()

    def _wanted(self, event: QKeyEvent) -> str | None:
        plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        if plain and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            return "replay"
        if plain and event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            return "delete"
        if event.matches(QKeySequence.StandardKey.Copy):
            return "copy"
        if event.matches(QKeySequence.StandardKey.Undo):
            return "undo"
        return None
