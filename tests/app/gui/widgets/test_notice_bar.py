from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QToolButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.desktop.notices import INFO_S
from app.engine.events import Severity
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT
from app.gui.widgets.notice_bar import NoticeBar
from tests.app.gui.widgets.conftest import Clock

LONG = "this machine decodes slower than real time (RTF 1.24): speech starts later, and it may pause " * 2


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    window = QWidget()
    qtbot.addWidget(window)
    QVBoxLayout(window)
    window.resize(600, 400)
    return window


@pytest.fixture
def bar(window: QWidget, clock: Clock, qtbot: QtBot) -> NoticeBar:
    bar = NoticeBar(clock=clock)
    layout = window.layout()
    assert layout is not None
    layout.addWidget(bar)
    layout.addWidget(QPlainTextEdit())
    window.show()
    qtbot.waitExposed(window)
    return bar


def texts(bar: NoticeBar) -> list[str]:
    return [label.text() for label in bar.findChildren(QLabel) if label.text()]


def test_without_a_notice_it_takes_no_room(bar: NoticeBar) -> None:
    assert not bar.isVisible()
    bar.add(Severity.INFO, "hello")
    assert bar.isVisible()
    bar.clear()
    assert not bar.isVisible()


def test_a_notice_is_shown_with_its_kind_and_can_be_dismissed(bar: NoticeBar, qtbot: QtBot) -> None:
    bar.add(Severity.ERROR, "the disk is full")
    assert texts(bar) == ["the disk is full"]
    assert "Error" in [label.accessibleName() for label in bar.findChildren(QLabel)]
    button = bar.findChild(QToolButton)
    assert button is not None
    assert button.accessibleName() == "Dismiss: the disk is full"
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert bar.shown == ()
    assert not bar.isVisible()


def test_the_keyboard_alone_dismisses_it(bar: NoticeBar, qtbot: QtBot) -> None:
    bar.add(Severity.ERROR, "the disk is full")
    button = bar.findChild(QToolButton)
    assert button is not None
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert bar.shown == ()


def test_the_same_text_is_counted(bar: NoticeBar) -> None:
    for _ in range(3):
        bar.add(Severity.WARNING, "late")
    assert texts(bar) == ["late (3 times)"]


def test_an_info_goes_by_itself_and_an_error_stays(bar: NoticeBar, clock: Clock, qtbot: QtBot) -> None:
    bar.add(Severity.ERROR, "error")
    bar.add(Severity.INFO, "info")
    assert bar._timer.interval() == INFO_S * 1000
    clock.now_s += INFO_S
    bar.expire()
    assert [shown.text for shown in bar.shown] == ["error"]
    assert not bar._timer.isActive()


def test_the_timer_takes_it_away(bar: NoticeBar, clock: Clock, qtbot: QtBot) -> None:
    bar.add(Severity.INFO, "info")
    clock.now_s += INFO_S - 0.01
    bar._wait()
    clock.now_s += 0.01
    qtbot.waitUntil(lambda: bar.shown == (), timeout=2000)


def test_what_is_under_the_pointer_is_kept(bar: NoticeBar, clock: Clock) -> None:
    bar.add(Severity.INFO, "info")
    QApplication.sendEvent(bar, QEnterEvent(QPointF(), QPointF(), QPointF()))
    clock.now_s += 10 * INFO_S
    bar.expire()
    assert [shown.text for shown in bar.shown] == ["info"]
    assert not bar._timer.isActive()
    QApplication.sendEvent(bar, QEvent(QEvent.Type.Leave))
    assert bar._timer.isActive()
    bar.expire()
    assert bar.shown == ()


def test_markup_in_a_text_is_text(bar: NoticeBar) -> None:
    bar.add(Severity.WARNING, "<b>not bold</b>")
    label = next(label for label in bar.findChildren(QLabel) if label.text())
    assert label.textFormat() is Qt.TextFormat.PlainText


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_long_text_wraps_and_is_all_there(
    qapp: QApplication, look: Theme, window: QWidget, bar: NoticeBar, scale: float
) -> None:
    look.apply(qapp, "light", text_scale=scale)
    bar.add(Severity.WARNING, LONG)
    window.resize(500, 520)
    QApplication.processEvents()
    label = next(label for label in bar.findChildren(QLabel) if label.text())
    assert label.height() >= label.heightForWidth(label.width()) > 2 * label.fontMetrics().height()


def test_it_follows_the_theme(qapp: QApplication, look: Theme, bar: NoticeBar) -> None:
    bar.add(Severity.ERROR, "error")

    def ground() -> str:
        return bar.grab().toImage().pixelColor(bar.width() // 2, 4).name()

    assert ground() == LIGHT.danger_soft
    look.apply(qapp, "dark")
    assert ground() == DARK.danger_soft


def test_its_texts_change_with_the_language(bar: NoticeBar) -> None:
    bar.add(Severity.ERROR, "error")
    button = bar.findChild(QToolButton)
    assert button is not None
    button.setToolTip("")
    for card in bar._cards.values():
        QApplication.sendEvent(card, QEvent(QEvent.Type.LanguageChange))
    assert button.toolTip() == "Dismiss"
