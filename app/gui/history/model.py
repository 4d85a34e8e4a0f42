"""The history as a list for a view."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.desktop.history import Entry, History
from app.gui.history.words import spoken

ENTRY = Qt.ItemDataRole.UserRole
"""The role of the `Entry` itself."""
HEARD = Qt.ItemDataRole.UserRole + 1
"""The role that says whether it is heard now."""
_TOOLTIP_CHARS = 600
_MOST_RUNS = 50
"""With more stretches that differ, the list is made anew: that is faster, and nobody would follow it."""

Index = QModelIndex | QPersistentModelIndex


def utc_now() -> datetime.datetime:
    """Return what time it is."""
    return datetime.datetime.now(datetime.timezone.utc)


class HistoryModel(QAbstractListModel):
    """The entries, newest first, or those that are searched for; follows the history until it is closed.

    Rows that stay keep their place and their selection when others come or go.
    """

    def __init__(
        self,
        history: History,
        parent: QObject | None = None,
        clock: Callable[[], datetime.datetime] = utc_now,
    ) -> None:
        super().__init__(parent)
        self._history = history
        self._clock = clock
        self._search = ""
        self._heard = ""
        self._entries: list[Entry] = history.entries()
        self._end_following = history.subscribe(self._refresh)
        self.destroyed.connect(lambda *_, end=self._end_following: end())

    @property
    def search(self) -> str:
        """What is searched for."""
        return self._search

    def set_search(self, search: str) -> None:
        """Show what has every word of ``search``; everything if there is none."""
        if search != self._search:
            self._search = search
            self._refresh()

    def set_heard(self, entry_id: str) -> None:
        """Mark the entry that is heard now; empty for none."""
        if entry_id == self._heard:
            return
        before, self._heard = self._heard, entry_id
        for row, entry in enumerate(self._entries):
            if entry.id in (before, entry_id):
                self.dataChanged.emit(self.index(row), self.index(row), [HEARD])

    def entry(self, index: Index) -> Entry | None:
        """Return the entry of a row."""
        return self._entries[index.row()] if index.isValid() else None

    def row_of(self, entry_id: str) -> int | None:
        """Return where an entry is, if it is shown."""
        return next((row for row, entry in enumerate(self._entries) if entry.id == entry_id), None)

    def tell_ages(self) -> None:
        """Have the ages of all entries said anew: time went by, or the language changed."""
        if self._entries:
            self.dataChanged.emit(self.index(0), self.index(len(self._entries) - 1))

    # -- Qt ---------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        """Return how many entries are shown."""
        return 0 if parent.isValid() else len(self._entries)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a view asks of an entry."""
        entry = self.entry(index)
        if entry is None:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return entry.title
            case Qt.ItemDataRole.AccessibleTextRole:
                return spoken(entry, self._clock())
            case Qt.ItemDataRole.ToolTipRole:
                text = entry.text
                return text if len(text) <= _TOOLTIP_CHARS else f"{text[:_TOOLTIP_CHARS].rstrip()}…"
            case _ if role == ENTRY:
                return entry
            case _ if role == HEARD:
                return entry.id == self._heard
        return None

    def _refresh(self) -> None:
        """Take what the history has now; rows that stay are not touched, unless too much is different."""
        old, new = self._entries, self._history.entries(self._search)
        gone = _runs(old, {e.id for e in new})
        come = _runs(new, {e.id for e in old})
        if len(gone) + len(come) > _MOST_RUNS:
            self.beginResetModel()
            self._entries = new
            self.endResetModel()
            return
        # Both are in the same order: what is left once the gone are gone is what the come come between.
        for first, end in reversed(gone):
            self.beginRemoveRows(QModelIndex(), first, end - 1)
            self._entries = self._entries[:first] + self._entries[end:]
            self.endRemoveRows()
        for first, end in come:
            self.beginInsertRows(QModelIndex(), first, end - 1)
            self._entries = self._entries[:first] + new[first:end] + self._entries[first:]
            self.endInsertRows()


def _runs(entries: list[Entry], known: set[str]) -> list[tuple[int, int]]:
    """Return the stretches of ``entries`` that are not ``known``."""
    runs: list[tuple[int, int]] = []
    for row, entry in enumerate(entries):
        if entry.id in known:
            continue
        if runs and runs[-1][1] == row:
            runs[-1] = runs[-1][0], row + 1
        else:
            runs.append((row, row + 1))
    return runs
