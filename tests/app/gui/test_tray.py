from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QMessageBox, QSystemTrayIcon
from pytestqt.qtbot import QtBot

from app.desktop.player_state import Phase, PlayerState
from app.desktop.settings import Settings
from app.gui.actions import Actions
from app.gui.closing import Closing
from app.gui.tray import Tray


@pytest.fixture
def window(qtbot: QtBot) -> QMainWindow:
    window = QMainWindow()
    qtbot.addWidget(window)
    return window


@pytest.fixture
def actions(window: QMainWindow) -> Actions:
    return Actions(window)


@pytest.fixture
def tray(window: QMainWindow, actions: Actions) -> Iterator[Tray]:
    tray = Tray(actions, window)
    yield tray
    tray.close()


def test_the_menu_has_the_windows_own_actions(tray: Tray, actions: Actions) -> None:
    names = [action.objectName() for action in tray.menu.actions() if not action.isSeparator()]
    assert names == ["show_window", "speak_clipboard", "pause", "stop", "quit"]
    assert actions["stop"] in tray.menu.actions()


def test_a_click_shows_the_window(tray: Tray, actions: Actions, qtbot: QtBot) -> None:
    with qtbot.waitSignal(actions["show_window"].triggered):
        tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.Trigger)
    with qtbot.assertNotEmitted(actions["show_window"].triggered):
        tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.Context)


def test_the_state_is_in_the_icon_and_the_tooltip(tray: Tray) -> None:
    assert tray.icon.toolTip() == "Nearfield"
    keys, tips = [], []
    for phase in (Phase.IDLE, Phase.PLAYING, Phase.PAUSED):
        tray.show_state(PlayerState(phase, reading=1, text="Some\n text " * 40))
        keys.append(tray.icon.icon().cacheKey())
        tips.append(tray.icon.toolTip())
    assert len(set(keys)) == len(set(tips)) == 3
    assert "Some text Some" in tips[1]
    assert all(len(tip) < 100 and "\n" not in tip for tip in tips)


def test_the_icon_is_made_anew_only_where_it_changes(tray: Tray) -> None:
    tray.show_state(PlayerState(Phase.PLAYING, text="a"))
    key = tray.icon.icon().cacheKey()
    tray.show_state(PlayerState(Phase.STALLED, text="a", heard_s=1.0))
    assert tray.icon.icon().cacheKey() == key


# -- closing -----------------------------------------------------------------------------------------------


class Closed:
    """A window that is to be closed, with or without a tray, and whether that ended the program."""

    def __init__(self, window: QMainWindow, path: Path, app: QApplication) -> None:
        self.window = window
        self.settings = Settings(path, environment={})
        self.has_tray = True
        self.ends = 0
        self.closing = Closing(window, self.settings, lambda: self.has_tray, app)
        self.closing.ending.connect(self._count)
        window.show()

    def _count(self) -> None:
        self.ends += 1

    def question(self) -> QMessageBox | None:
        boxes = [box for box in self.window.findChildren(QMessageBox) if box.isVisible()]
        assert len(boxes) <= 1
        return boxes[0] if boxes else None

    def answer(self, text: str) -> None:
        box = self.question()
        assert box is not None
        next(button for button in box.buttons() if text in button.text()).click()


@pytest.fixture
def closed(window: QMainWindow, tmp_path: Path, qapp: QApplication) -> Iterator[Closed]:
    closed = Closed(window, tmp_path / "config.yaml", qapp)
    yield closed
    qapp.removeEventFilter(closed.closing)


def test_without_a_tray_closing_ends(closed: Closed) -> None:
    closed.has_tray = False
    closed.closing.close_window()
    closed.closing.close_window()
    assert closed.ends == 1
    assert closed.question() is None


def test_it_is_asked_once_and_remembered(closed: Closed) -> None:
    closed.closing.close_window()
    closed.closing.close_window()
    box = closed.question()
    assert box is not None
    assert not box.isModal()
    closed.answer("Keep")
    assert not closed.window.isVisible()
    assert closed.settings.effective.window.on_close == "tray"
    closed.window.show()
    closed.closing.close_window()
    assert closed.question() is None
    assert not closed.window.isVisible()
    assert closed.ends == 0


def test_quit_is_remembered_as_well(closed: Closed) -> None:
    closed.closing.close_window()
    closed.answer("Quit")
    assert closed.ends == 1
    assert closed.settings.effective.window.on_close == "quit"


def test_no_answer_changes_nothing(closed: Closed) -> None:
    closed.closing.close_window()
    closed.answer("Cancel")
    assert closed.window.isVisible()
    assert closed.settings.effective.window.on_close == "ask"
    closed.closing.close_window()
    assert closed.question() is not None


def test_a_tray_that_is_gone_does_not_swallow_the_window(closed: Closed) -> None:
    closed.settings.update(**{"window.on_close": "tray"})
    closed.has_tray = False
    closed.closing.close_window()
    assert closed.ends == 1


def test_the_desktops_wish_to_quit_is_taken_in_order(closed: Closed, qapp: QApplication) -> None:
    QCoreApplication.sendEvent(qapp, QEvent(QEvent.Type.Quit))
    assert closed.ends == 1
    assert closed.question() is None
