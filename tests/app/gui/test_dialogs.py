from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

import assets
from app.gui.keys_dialog import COMMAND, KeysDialog
from app.gui.main_window import MainWindow
from app.gui.open_text import OpenText
from app.gui.tasks import Tasks
from app.gui.window_state import WindowState


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path) -> MainWindow:
    window = MainWindow(WindowState(tmp_path / "window.ini"), Tasks())
    qtbot.addWidget(window)
    window.show()
    return window


def test_the_keys_dialog_lists_every_key_and_stops_nothing(window: MainWindow, qtbot: QtBot) -> None:
    dialog = KeysDialog(window.act, window)
    dialog.show()
    assert not dialog.isModal()
    texts = {label.text() for label in dialog.findChildren(QLabel)}
    listed = window.act.keys()
    assert len(listed) > 10
    for name, keys in listed:
        assert {name, keys} <= texts
    assert any(COMMAND in text for text in texts)
    rows = len(dialog.findChildren(QLabel))
    QApplication.sendEvent(dialog, QEvent(QEvent.Type.LanguageChange))
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert len(dialog.findChildren(QLabel)) == rows
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_a_text_is_opened_without_holding_anything_up(window: MainWindow, tmp_path: Path) -> None:
    opening = OpenText(window)
    window.act["open_text"].trigger()
    dialog = opening.dialog
    assert dialog is not None
    assert dialog.isVisible()
    assert not dialog.isModal()
    window.act["open_text"].trigger()
    assert opening.dialog is dialog
    (tmp_path / "a.txt").write_text("Read me.")
    dialog.fileSelected.emit(str(tmp_path / "a.txt"))
    dialog.reject()
    assert window.editor.text() == "Read me."
    assert opening.dialog is None


def test_the_desktop_entry_starts_what_there_is() -> None:
    entry = assets.folder("desktop", "nearfield.desktop").read_text("utf-8")
    lines = dict(line.split("=", 1) for line in entry.splitlines() if "=" in line)
    commands = [line.partition("=")[2] for line in entry.splitlines() if line.startswith("Exec=")]
    assert commands == ["nearfield", COMMAND]
    assert assets.folder("icons", f"{lines['Icon']}.svg").is_file()
