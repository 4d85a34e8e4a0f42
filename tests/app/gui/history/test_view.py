from __future__ import annotations

from pathlib import Path

import pytest
import soundfile
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.desktop.history import History
from app.desktop.player_state import Phase, PlayerState
from app.engine.events import Severity
from app.gui.history.model import HEARD
from app.gui.history.view import HistoryView
from app.gui.style.theme import theme
from app.gui.tasks import Tasks
from tests.app.gui.history.conftest import Days, make
from tests.helpers.qt_loop import Run, run_in_qt

__all__ = ["run_in_qt"]


class Rig:
    """A view with three entries, and what it asked for."""

    def __init__(self, history: History, days: Days, qtbot: QtBot, texts: tuple[str, ...]) -> None:
        self.ids = [make(history, days, text) for text in texts]
        self.history = history
        self.tasks = Tasks()
        self.window = QWidget()
        column = QVBoxLayout(self.window)
        self.view = HistoryView(history, self.tasks, clock=days)
        column.addWidget(self.view)
        self.replayed: list[str] = []
        self.chosen: list[str] = []
        self.notices: list[tuple[Severity, str]] = []
        self.view.replay.connect(self.replayed.append)
        self.view.text_chosen.connect(self.chosen.append)
        self.view.notice.connect(lambda severity, text: self.notices.append((severity, text)))
        qtbot.addWidget(self.window)
        self.window.resize(340, 600)
        with qtbot.waitActive(self.window):
            self.window.show()

    def select(self, row: int) -> None:
        self.view.list.setCurrentIndex(self.view.model.index(row))
        self.view.list.setFocus()

    @property
    def texts(self) -> list[str]:
        model = self.view.model
        return [e.text for row in range(model.rowCount()) if (e := model.entry(model.index(row)))]


@pytest.fixture
def rig(history: History, days: Days, qtbot: QtBot) -> Rig:
    return Rig(history, days, qtbot, ("The cat sat.", "The dog ran.", "A bird sang."))


@pytest.fixture
def empty_rig(history: History, days: Days, qtbot: QtBot) -> Rig:
    return Rig(history, days, qtbot, ())


# -- replay, text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_enter_hears_it_again(rig: Rig, qtbot: QtBot, key: Qt.Key) -> None:
    rig.select(1)
    qtbot.keyClick(rig.view.list, key)
    assert rig.replayed == [rig.ids[1]]


def test_a_double_click_hears_it_again(rig: Rig, qtbot: QtBot) -> None:
    point = rig.view.list.visualRect(rig.view.model.index(2)).center()
    viewport = rig.view.list.viewport()
    qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=point)
    qtbot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=point)
    assert rig.replayed == [rig.ids[0]]


def test_the_text_goes_to_the_editor_or_the_clipboard(rig: Rig, qtbot: QtBot) -> None:
    rig.select(0)
    rig.view.act.edit.trigger()
    assert rig.chosen == ["A bird sang."]
    qtbot.keyClick(rig.view.list, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "A bird sang."
    assert [severity for severity, _ in rig.notices] == [Severity.INFO]


def test_the_keys_of_the_list_win_over_those_of_the_window(rig: Rig, qtbot: QtBot) -> None:
    stolen: list[str] = []
    for key in (QKeySequence.StandardKey.Copy, QKeySequence.StandardKey.Undo):
        shortcut = QShortcut(QKeySequence(key), rig.window)
        shortcut.activated.connect(lambda: stolen.append("window"))
    rig.select(0)
    qtbot.keyClick(rig.view.list, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(rig.view.list, Qt.Key.Key_Delete)
    qtbot.keyClick(rig.view.list, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert stolen == []
    assert len(rig.texts) == 3
    rig.view.search.setFocus()


def test_an_entry_without_text_offers_none(empty_rig: Rig, history: History, days: Days) -> None:
    make(history, days, "")
    empty_rig.select(0)
    assert empty_rig.view.act.replay.isEnabled()
    assert not empty_rig.view.act.edit.isEnabled()
    assert not empty_rig.view.act.copy.isEnabled()


def test_the_heard_entry_is_marked(rig: Rig) -> None:
    rig.view.show_state(PlayerState(phase=Phase.PLAYING, recording=rig.ids[0]))
    model = rig.view.model
    assert [model.data(model.index(row), HEARD) for row in range(3)] == [False, False, True]
    rig.view.show_state(PlayerState(phase=Phase.IDLE, recording=rig.ids[0]))
    assert not any(model.data(model.index(row), HEARD) for row in range(3))


# -- deleting -----------------------------------------------------------------------------------------------


def test_delete_selects_the_next_and_can_be_undone(rig: Rig, qtbot: QtBot) -> None:
    rig.select(1)
    qtbot.keyClick(rig.view.list, Qt.Key.Key_Delete)
    assert rig.texts == ["A bird sang.", "The cat sat."]
    assert (entry := rig.view.selected()) is not None
    assert entry.text == "The cat sat."
    assert rig.view.question.isVisible()
    assert "The dog ran." in rig.view.question.text.text()
    qtbot.mouseClick(rig.view.question.yes, Qt.MouseButton.LeftButton)
    assert rig.texts == ["A bird sang.", "The dog ran.", "The cat sat."]
    assert (entry := rig.view.selected()) is not None
    assert entry.text == "The dog ran."
    assert not rig.view.question.isVisible()


def test_undo_works_by_key_one_after_the_other(rig: Rig, qtbot: QtBot) -> None:
    rig.select(0)
    for _ in range(2):
        qtbot.keyClick(rig.view.list, Qt.Key.Key_Delete)
    assert rig.texts == ["The cat sat."]
    for _ in range(3):
        qtbot.keyClick(rig.view.list, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert rig.texts == ["A bird sang.", "The dog ran.", "The cat sat."]


def test_deleting_the_last_entry_leaves_an_offer_to_undo(
    empty_rig: Rig, history: History, days: Days, qtbot: QtBot
) -> None:
    make(history, days, "Only one.")
    empty_rig.select(0)
    qtbot.keyClick(empty_rig.view.list, Qt.Key.Key_Delete)
    assert empty_rig.view.empty.isVisible()
    assert empty_rig.view.question.isVisible()
    empty_rig.view.question.yes.click()
    assert empty_rig.texts == ["Only one."]
    assert empty_rig.view.list.isVisible()


def test_the_offer_goes_by_itself_but_undo_does_not(rig: Rig, qtbot: QtBot) -> None:
    rig.select(0)
    qtbot.keyClick(rig.view.list, Qt.Key.Key_Delete)
    rig.view._undo_goes.timeout.emit()
    assert not rig.view.question.isVisible()
    qtbot.keyClick(rig.view.list, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert len(rig.texts) == 3


# -- clearing -----------------------------------------------------------------------------------------------


def test_clear_asks_first_and_blocks_nothing(rig: Rig, qtbot: QtBot) -> None:
    rig.view.act.clear.trigger()
    assert QApplication.activeModalWidget() is None
    assert rig.view.question.isVisible()
    assert rig.view.question.no.hasFocus()
    assert len(rig.texts) == 3
    rig.view.question.no.click()
    assert not rig.view.question.isVisible()
    assert len(rig.texts) == 3
    rig.view.act.clear.trigger()
    rig.view.question.yes.click()
    assert rig.texts == []
    assert rig.view.empty.isVisible()
    assert not rig.view.act.clear.isEnabled()


def test_clearing_forgets_the_offer_to_undo(rig: Rig, qtbot: QtBot) -> None:
    rig.select(0)
    qtbot.keyClick(rig.view.list, Qt.Key.Key_Delete)
    rig.view.act.clear.trigger()
    assert rig.view.question.asks == "clear"
    rig.view.question.no.click()
    assert rig.view.question.asks == ""


# -- searching ----------------------------------------------------------------------------------------------


def test_search_narrows_and_the_keys_lead_into_the_list(rig: Rig, qtbot: QtBot) -> None:
    rig.view.search.setFocus()
    qtbot.keyClicks(rig.view.search, "the")
    assert rig.texts == ["The dog ran.", "The cat sat."]
    qtbot.keyClick(rig.view.search, Qt.Key.Key_Down)
    assert rig.view.list.hasFocus()
    qtbot.keyClick(rig.view.list, Qt.Key.Key_Down)
    qtbot.keyClick(rig.view.list, Qt.Key.Key_Return)
    assert rig.replayed == [rig.ids[0]]
    rig.view.show_all.trigger()
    assert len(rig.texts) == 3


def test_a_search_without_a_find_says_so(rig: Rig, qtbot: QtBot) -> None:
    qtbot.keyClicks(rig.view.search, "elephant")
    assert rig.view.empty.isVisible()
    assert "these words" in rig.view.empty.text()
    assert not rig.view.act.replay.isEnabled()
    rig.view.search.clear()
    assert rig.view.list.isVisible()


def test_an_empty_history_says_what_to_do(empty_rig: Rig, history: History, days: Days) -> None:
    assert "press Speak" in empty_rig.view.empty.text()
    assert not empty_rig.view.search.isEnabled()
    make(history, days, "First.")
    assert empty_rig.view.list.isVisible()
    assert empty_rig.view.search.isEnabled()


def test_a_history_that_is_off_says_so(history: History, qtbot: QtBot) -> None:
    history.keep = False
    view = HistoryView(history, Tasks())
    qtbot.addWidget(view)
    assert "settings" in view.empty.text()


# -- saving -------------------------------------------------------------------------------------------------


def test_saving_asks_without_blocking_and_suggests_a_name(rig: Rig) -> None:
    entry = rig.history.find(rig.ids[1])
    assert entry is not None
    dialog = rig.view.saver.ask(entry.id, entry.text)
    assert dialog.isVisible()
    assert not dialog.isModal()
    assert Path(dialog.selectedFiles()[0]).name == "The dog ran.wav"
    assert [f.rpartition("(")[2] for f in dialog.nameFilters()][:3] == ["*.wav)", "*.flac)", "*.ogg)"]
    dialog.filterSelected.emit(dialog.nameFilters()[1])
    assert dialog.defaultSuffix() == "flac"
    dialog.reject()


@pytest.mark.parametrize(("name", "saved"), [("a.flac", "a.flac"), ("a.wav", "a.wav"), ("v1.5", "v1.5.wav")])
def test_a_recording_is_saved_while_the_window_lives_on(
    rig: Rig, tmp_path: Path, run_in_qt: Run, name: str, saved: str
) -> None:
    async def save() -> None:
        rig.view.saver.save(rig.ids[0], tmp_path / name)
        await settle(rig)

    run_in_qt(save())
    assert soundfile.info(tmp_path / saved).frames == 2400
    assert rig.notices == [(Severity.INFO, f"Saved as {tmp_path / saved}.")]


def test_a_failure_to_save_is_told(rig: Rig, tmp_path: Path, run_in_qt: Run) -> None:
    async def save() -> None:
        rig.view.saver.save(rig.ids[0], tmp_path / "nowhere" / "a.wav")
        await settle(rig)

    run_in_qt(save())
    ((severity, text),) = rig.notices
    assert severity is Severity.ERROR
    assert "nowhere" in text


async def settle(rig: Rig) -> None:
    """Wait for what the view has started."""
    import asyncio

    while rig.tasks._tasks:
        await asyncio.wait(set(rig.tasks._tasks))


# -- manners ------------------------------------------------------------------------------------------------


def test_the_context_menu_has_what_the_buttons_have(rig: Rig) -> None:
    rig.select(0)
    rig.view.list.customContextMenuRequested.emit(QPoint(5, 5))
    (menu,) = rig.view.findChildren(QMenu)
    act = rig.view.act
    assert [a for a in menu.actions() if not a.isSeparator()] == [
        act.replay,
        act.edit,
        act.copy,
        act.save,
        act.delete,
    ]
    menu.close()


def test_everything_that_takes_the_focus_has_a_name(rig: Rig) -> None:
    rig.view.act.clear.trigger()
    for widget in rig.view.findChildren(QWidget):
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisibleTo(rig.view):
            name = widget.accessibleName() or getattr(widget, "text", str)()
            assert name, widget


def test_tab_reaches_everything(rig: Rig, qtbot: QtBot) -> None:
    rig.select(0)
    rig.view.search.setFocus()
    seen = set()
    for _ in range(12):
        focused = QApplication.focusWidget()
        seen.add(focused)
        qtbot.keyClick(focused, Qt.Key.Key_Tab)
    assert {rig.view.search, rig.view.list} <= seen
    assert len(seen) == 8  # and six buttons


@pytest.mark.parametrize(("look", "scale"), [("light", 1.0), ("dark", 1.0), ("light", 2.0)])
def test_it_can_be_painted_in_every_look(
    empty_rig: Rig, history: History, days: Days, qapp: QApplication, look: str, scale: float
) -> None:
    for text in ("Short.", "", "long " * 500, "字" * 300, "مرحبا بالعالم " * 20, "🎉" * 100):
        make(history, days, text)
    theme().apply(qapp, look, scale)  # type: ignore[arg-type]
    for direction in (Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft):
        empty_rig.view.setLayoutDirection(direction)
        empty_rig.view.show_state(PlayerState(phase=Phase.PLAYING, recording=history.entries()[0].id))
        image = empty_rig.view.grab().toImage()
        colours = {image.pixel(x, y) for x in range(0, image.width(), 7) for y in range(0, image.height(), 3)}
        assert len(colours) > 5


def test_another_language_renames_everything(rig: Rig, qtbot: QtBot) -> None:
    rig.select(0)
    qtbot.keyClick(rig.view.list, Qt.Key.Key_Delete)
    for widget in (rig.view.title, rig.view.question.text):
        assert isinstance(widget, QLabel)
        widget.setText("")
    rig.view.search.setPlaceholderText("")
    QApplication.sendEvent(rig.view, QEvent(QEvent.Type.LanguageChange))
    assert rig.view.title.text() == "History"
    assert rig.view.search.placeholderText() == "Search"
    assert "A bird sang." in rig.view.question.text.text()
