from __future__ import annotations

import gc

import pytest
from PySide6.QtCore import QPersistentModelIndex, Qt
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.desktop.history import History
from app.gui.history.model import ENTRY, HEARD, HistoryModel
from tests.app.gui.history.conftest import Days, make


@pytest.fixture
def model(history: History, days: Days, qtmodeltester: ModelTester) -> HistoryModel:
    for text in ("The cat sat.", "The dog ran.", "A bird sang."):
        make(history, days, text)
    return HistoryModel(history, clock=days)


def texts(model: HistoryModel) -> list[str]:
    return [model.data(model.index(row), ENTRY).text for row in range(model.rowCount())]


def test_it_is_a_proper_model(model: HistoryModel, qtmodeltester: ModelTester) -> None:
    qtmodeltester.check(model)


def test_newest_comes_first(model: HistoryModel) -> None:
    assert texts(model) == ["A bird sang.", "The dog ran.", "The cat sat."]
    assert model.data(model.index(0)) == "A bird sang."


def test_it_follows_the_history(model: HistoryModel, history: History, days: Days) -> None:
    entry_id = make(history, days, "New.")
    assert texts(model)[0] == "New."
    history.delete(entry_id)
    assert texts(model)[0] == "A bird sang."
    history.undo_delete()
    assert texts(model)[0] == "New."
    history.clear()
    assert texts(model) == []


def test_rows_that_stay_keep_their_place(
    model: HistoryModel, history: History, days: Days, qtbot: QtBot
) -> None:
    dog = QPersistentModelIndex(model.index(1))
    with qtbot.waitSignal(model.rowsInserted, check_params_cb=lambda _, first, last: first == last == 0):
        make(history, days, "New.")
    assert dog.row() == 2
    bird = model.entry(model.index(1))
    assert bird is not None
    with qtbot.waitSignal(model.rowsRemoved, check_params_cb=lambda _, first, last: first == last == 1):
        history.delete(bird.id)
    assert dog.row() == 1
    model.set_search("dog")
    assert dog.row() == 0


def test_search_shows_what_was_found_and_follows_too(
    model: HistoryModel, history: History, days: Days
) -> None:
    model.set_search("THE")
    assert texts(model) == ["The dog ran.", "The cat sat."]
    make(history, days, "Something else.")
    make(history, days, "The end.")
    assert texts(model) == ["The end.", "The dog ran.", "The cat sat."]
    model.set_search("")
    assert len(texts(model)) == 5


def test_the_heard_entry_is_marked(model: HistoryModel, qtbot: QtBot) -> None:
    entry = model.entry(model.index(1))
    assert entry is not None
    with qtbot.waitSignal(model.dataChanged):
        model.set_heard(entry.id)
    assert [model.data(model.index(row), HEARD) for row in range(3)] == [False, True, False]
    with qtbot.assertNotEmitted(model.dataChanged):
        model.set_heard(entry.id)
    model.set_heard("")
    assert not any(model.data(model.index(row), HEARD) for row in range(3))


def test_a_screen_reader_is_told_everything(model: HistoryModel) -> None:
    said = model.data(model.index(0), Qt.ItemDataRole.AccessibleTextRole)
    assert said == "A bird sang., 0:00, vivian, TTFA 182 ms, 1 min ago"


def test_the_tooltip_has_more_of_a_long_text_but_not_all(
    model: HistoryModel, history: History, days: Days
) -> None:
    make(history, days, "word " * 1000)
    tip = model.data(model.index(0), Qt.ItemDataRole.ToolTipRole)
    assert 500 < len(tip) < 700
    assert tip.endswith("…")


def test_a_model_that_is_gone_follows_nothing(history: History, days: Days) -> None:
    model = HistoryModel(history, clock=days)
    model.deleteLater()
    del model
    gc.collect()
    make(history, days, "New.")


def test_a_search_that_changes_nearly_everything_starts_anew(
    history: History, days: Days, qtbot: QtBot
) -> None:
    for number in range(240):
        make(history, days, f"number {number} is {'odd' if number % 2 else 'even'}")
    model = HistoryModel(history, clock=days)
    with qtbot.waitSignal(model.modelReset), qtbot.assertNotEmitted(model.rowsRemoved):
        model.set_search("even")
    assert len(texts(model)) == 120
