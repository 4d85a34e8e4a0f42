"""The panel of past readings: found, heard again, saved, deleted."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from PySide6.QtCore import QEvent, QLocale, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.desktop.history import Entry, History
from app.desktop.player_state import PlayerState
from app.engine.events import Severity
from app.errors import RecordingError
from app.gui.history.acts import EntryActions
from app.gui.history.delegate import EntryDelegate
from app.gui.history.entry_list import EntryList
from app.gui.history.model import HistoryModel, utc_now
from app.gui.history.question import Question
from app.gui.history.saving import SoundSaver
from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.roles import set_role
from app.gui.style.theme import theme
from app.gui.tasks import Tasks

AGES_S = 30
"""How often ages are said anew."""
UNDO_S = 20
"""How long the offer to undo a deletion stays in view; the keys for it work on."""


class HistoryView(QWidget):
    """Shows the history, and asks for what is not its own business.

    Signals:
        replay: the id of an entry that is to be heard again.
        text_chosen: a text that is to be put back into the editor.
        notice: a `Severity` and something that a person should know.

    """

    replay = Signal(str)
    text_chosen = Signal(str)
    notice = Signal(Severity, str)

    def __init__(
        self,
        history: History,
        tasks: Tasks,
        parent: QWidget | None = None,
        clock: Callable[[], datetime.datetime] = utc_now,
    ) -> None:
        super().__init__(parent)
        self._history = history
        self.saver = SoundSaver(history, tasks, self)
        self.saver.notice.connect(self.notice)
        self.model = HistoryModel(history, self, clock)
        self.title = QLabel()
        set_role(self.title, "section")
        self.search = QLineEdit()
        glass, cross = icon("search", "text_muted"), icon("close", "text_muted")
        self.search.addAction(glass, QLineEdit.ActionPosition.LeadingPosition)
        # Not Qt's own button, which is hard to see on a dark ground.
        self.show_all = self.search.addAction(cross, QLineEdit.ActionPosition.TrailingPosition)
        self.show_all.setVisible(False)
        self.list = EntryList()
        self.list.setModel(self.model)
        self.list.setItemDelegate(EntryDelegate(self.list, clock))
        self.empty = QLabel()
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setMargin(tokens.M)
        set_role(self.empty, "caption")
        self.question = Question()
        self.act = EntryActions(self)
        self._deleted: Entry | None = None
        self._ages = QTimer(self)
        self._ages.setInterval(AGES_S * 1000)
        self._ages.timeout.connect(self.model.tell_ages)
        self._undo_goes = QTimer(self)
        self._undo_goes.setSingleShot(True)
        self._undo_goes.setInterval(UNDO_S * 1000)
        self._undo_goes.timeout.connect(self._end_undo)
        self._lay_out()
        self._connect()
        self._retranslate()
        self._show_rows()

    def show_state(self, state: PlayerState) -> None:
        """Mark the entry that is heard."""
        self.model.set_heard(state.recording if state.is_speaking else "")

    def selected(self) -> Entry | None:
        """Return the entry that is selected."""
        return self.model.entry(self.list.currentIndex())

    def sizeHint(self) -> QSize:
        """Want to be tall: a list that is short is no help."""
        return QSize(320, 640)

    # -- Qt ---------------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        """Let time go by."""
        super().showEvent(event)
        self.model.tell_ages()
        self._ages.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Let it rest while nobody looks."""
        super().hideEvent(event)
        self._ages.stop()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self._retranslate()

    # -- what a person does -----------------------------------------------------------------------------

    def _on_replay(self) -> None:
        if (entry := self.selected()) is not None:
            self.replay.emit(entry.id)

    def _on_edit(self) -> None:
        if (entry := self.selected()) is not None and entry.text:
            self.text_chosen.emit(entry.text)

    def _on_copy(self) -> None:
        if (entry := self.selected()) is not None and entry.text:
            QGuiApplication.clipboard().setText(entry.text)
            self.notice.emit(Severity.INFO, self.tr("The text is in the clipboard."))

    def _on_save(self) -> None:
        if (entry := self.selected()) is not None:
            self.saver.ask(entry.id, entry.text)

    def _on_delete(self) -> None:
        entry = self.selected()
        if entry is None:
            return
        row = self.list.currentIndex().row()
        try:
            self._history.delete(entry.id)
        except RecordingError as error:
            self.notice.emit(Severity.ERROR, str(error))
            return
        self._select(min(row, self.model.rowCount() - 1))
        self._deleted = entry
        self._ask_undo()
        self._undo_goes.start()

    def _on_undo(self) -> None:
        self._end_undo()
        try:
            entry = self._history.undo_delete()
        except RecordingError as error:
            self.notice.emit(Severity.ERROR, str(error))
            return
        if entry is not None and (row := self.model.row_of(entry.id)) is not None:
            self._select(row)
            self.list.setFocus()

    def _on_clear(self) -> None:
        self._end_undo()
        self._ask_clear()
        self.question.no.setFocus()

    def _clear(self) -> None:
        self.question.hide()
        try:
            self._history.clear()
        except RecordingError as error:
            self.notice.emit(Severity.ERROR, str(error))
        self.search.setFocus()

    def _on_menu(self, point: QPoint) -> None:
        if self.selected() is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        act = self.act
        menu.addActions([act.replay, act.edit, act.copy, act.save])
        menu.addSeparator()
        menu.addAction(act.delete)
        menu.popup(self.list.viewport().mapToGlobal(point))

    # -- inside -----------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self._pages = QStackedWidget()
        self._pages.addWidget(self.list)
        self._pages.addWidget(self.empty)
        tools = QHBoxLayout()
        tools.setSpacing(tokens.XS)
        for action in (self.act.replay, self.act.edit, self.act.copy, self.act.save, self.act.delete):
            tools.addWidget(self.act.button(action))
        tools.addStretch(1)
        tools.addWidget(self.act.button(self.act.clear))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(tokens.S)
        column.addWidget(self.title)
        column.addWidget(self.search)
        column.addWidget(self._pages, 1)
        column.addWidget(self.question)
        column.addLayout(tools)
        self.question.hide()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(280)

    def _connect(self) -> None:
        act = self.act
        for action, slot in (
            (act.replay, self._on_replay),
            (act.edit, self._on_edit),
            (act.copy, self._on_copy),
            (act.save, self._on_save),
            (act.delete, self._on_delete),
            (act.clear, self._on_clear),
        ):
            action.triggered.connect(slot)
        self.list.replay_wanted.connect(act.replay.trigger)
        self.list.copy_wanted.connect(act.copy.trigger)
        self.list.delete_wanted.connect(act.delete.trigger)
        self.list.undo_wanted.connect(self._on_undo)
        self.list.customContextMenuRequested.connect(self._on_menu)
        self.search.textChanged.connect(self._on_search)
        self.show_all.triggered.connect(self.search.clear)
        self.search.returnPressed.connect(self._enter_list)
        self.search.installEventFilter(self)
        self.list.selectionModel().currentChanged.connect(lambda *_: self._enable())
        for changed in (self.model.rowsInserted, self.model.rowsRemoved, self.model.modelReset):
            changed.connect(lambda *_: self._show_rows())
        theme().changed.connect(self._on_theme_change)

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        """Let the arrow keys lead from the search to what was found."""
        is_key = watched is self.search and event.type() is QEvent.Type.KeyPress
        if is_key and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Down:
            self._enter_list()
            return True
        return False

    def _enter_list(self) -> None:
        if self.model.rowCount():
            if self.selected() is None:
                self._select(0)
            self.list.setFocus()

    def _on_search(self, text: str) -> None:
        self.show_all.setVisible(bool(text))
        self.model.set_search(text)
        self._show_rows()

    def _on_theme_change(self) -> None:
        # All rows are measured anew: the size of the text may be another.
        self.list.doItemsLayout()

    def _select(self, row: int) -> None:
        if row >= 0:
            self.list.setCurrentIndex(self.model.index(row))
            self.list.scrollTo(self.model.index(row))

    def _show_rows(self) -> None:
        has_rows = self.model.rowCount() > 0
        if not has_rows:
            self.empty.setText(self._why_empty())
        self._pages.setCurrentWidget(self.list if has_rows else self.empty)
        has_any = has_rows or bool(self._history.entries())
        self.search.setEnabled(has_any or bool(self.search.text()))
        self.act.clear.setEnabled(has_any)
        if not has_any and self.question.asks == "clear":
            self.question.hide()
        self._enable()

    def _enable(self) -> None:
        self.act.enable_for(self.selected())

    def _ask_undo(self) -> None:
        assert self._deleted is not None
        title = self._deleted.title or self.tr("The recording")
        self.question.ask(
            "undo", self.tr("Deleted: {0}").format(title), self.tr("Undo"), self._on_undo, self.tr("Dismiss")
        )

    def _end_undo(self) -> None:
        self._undo_goes.stop()
        self._deleted = None
        if self.question.asks == "undo":
            self.question.hide()

    def _ask_clear(self) -> None:
        size = self.locale().formattedDataSize(
            self._history.size_bytes, 1, QLocale.DataSizeFormat.DataSizeSIFormat
        )
        text = self.tr("Delete all recordings and their texts, {0}? This cannot be undone.").format(size)
        self.question.ask(
            "clear", text, self.tr("Delete all"), self._clear, self.tr("Keep them"), is_dangerous=True
        )

    def _why_empty(self) -> str:
        if self.model.search.strip():
            return self.tr("Nothing in the history has these words. Try fewer of them.")
        if not self._history.keep:
            return self.tr("The history is switched off; the settings can switch it on.")
        return self.tr("What was read aloud is kept here. Write something and press Speak.")

    def _retranslate(self) -> None:
        self.title.setText(self.tr("History"))
        self.setAccessibleName(self.tr("History"))
        self.search.setPlaceholderText(self.tr("Search"))
        self.search.setAccessibleName(self.tr("Search the history"))
        self.show_all.setText(self.tr("Show all"))
        self.show_all.setToolTip(self.tr("Show all"))
        self.list.setAccessibleName(self.tr("Past readings"))
        self.act.retranslate()
        if self.question.asks == "undo":
            self._ask_undo()
        elif self.question.asks == "clear":
            self._ask_clear()
        self._show_rows()
        self.model.tell_ages()
