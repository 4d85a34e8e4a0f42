from __future__ import annotations

import time

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QImage, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.style import tokens
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT
from app.gui.widgets.waveform import KEY_S, PAGE_S, REPAINT_S, WaveformStrip

WIDTH = 408
"""400 pixels of sound and an edge on both sides."""


class CountingStrip(WaveformStrip):
    """Counts how often it is painted."""

    paints = 0

    def paintEvent(self, event: QPaintEvent) -> None:
        self.paints += 1
        super().paintEvent(event)


@pytest.fixture
def strip(qtbot: QtBot) -> WaveformStrip:
    """A whole reading of 40 seconds, heard up to 0:12."""
    strip = WaveformStrip()
    qtbot.addWidget(strip)
    strip.set_peaks(np.full(40 * 50, 0.7, dtype=np.float32))
    strip.set_total(40.0, True)
    strip.set_heard(12.0)
    strip.resize(WIDTH, 72)
    strip.show()
    qtbot.waitExposed(strip)
    strip.setFocus()
    return strip


def at(part: float) -> QPoint:
    return QPoint(tokens.XS + round(part * (WIDTH - 2 * tokens.XS)), 30)


def column(strip: WaveformStrip, part: float) -> set[str]:
    """Return the colours in the bar nearest to a place."""
    image: QImage = strip.grab().toImage()
    x = at(part).x()
    return {image.pixelColor(i, y).name() for i in range(x - 3, x + 4) for y in range(8, 45)}


def test_a_click_asks_to_go_on_from_there(qtbot: QtBot, strip: WaveformStrip) -> None:
    with qtbot.waitSignal(strip.seek_requested, timeout=1000) as seek:
        qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=at(0.5))
    assert seek.args == [pytest.approx(20.0, abs=0.2)]


def test_a_drag_tells_where_it_is_and_asks_once_at_its_end(qtbot: QtBot, strip: WaveformStrip) -> None:
    scrubbed: list[float] = []
    sought: list[float] = []
    strip.scrubbed.connect(scrubbed.append)
    strip.seek_requested.connect(sought.append)
    qtbot.mousePress(strip, Qt.MouseButton.LeftButton, pos=at(0.25))
    for part in (0.5, 0.75):
        qtbot.mouseMove(strip, at(part))
    assert sought == []
    qtbot.mouseRelease(strip, Qt.MouseButton.LeftButton, pos=at(0.75))
    assert scrubbed == pytest.approx([10.0, 20.0, 30.0], abs=0.2)
    assert sought == pytest.approx([30.0], abs=0.2)


def test_escape_lets_go_without_seeking(qtbot: QtBot, strip: WaveformStrip) -> None:
    with qtbot.assertNotEmitted(strip.seek_requested):
        qtbot.mousePress(strip, Qt.MouseButton.LeftButton, pos=at(0.25))
        qtbot.keyClick(strip, Qt.Key.Key_Escape)
        qtbot.mouseRelease(strip, Qt.MouseButton.LeftButton, pos=at(0.25))


def test_what_is_not_there_yet_cannot_be_reached(qtbot: QtBot, strip: WaveformStrip) -> None:
    strip.set_total(10.0, False)
    with qtbot.waitSignal(strip.seek_requested, timeout=1000) as seek:
        qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=at(0.95))
    assert seek.args == [10.0]


def test_outside_of_the_strip_are_its_ends(qtbot: QtBot, strip: WaveformStrip) -> None:
    sought: list[float] = []
    strip.seek_requested.connect(sought.append)
    for x in (-50, WIDTH + 50):
        qtbot.mousePress(strip, Qt.MouseButton.LeftButton, pos=at(0.5))
        qtbot.mouseMove(strip, QPoint(x, 30))
        qtbot.mouseRelease(strip, Qt.MouseButton.LeftButton, pos=QPoint(x, 30))
    assert sought == [0.0, 40.0]


@pytest.mark.parametrize(
    ("key", "goal_s"),
    [
        (Qt.Key.Key_Left, 12.0 - KEY_S),
        (Qt.Key.Key_Right, 12.0 + KEY_S),
        (Qt.Key.Key_PageUp, 40.0),
        (Qt.Key.Key_PageDown, 0.0),
        (Qt.Key.Key_Home, 0.0),
        (Qt.Key.Key_End, 40.0),
    ],
)
def test_the_keyboard_alone_can_seek(qtbot: QtBot, strip: WaveformStrip, key: Qt.Key, goal_s: float) -> None:
    assert PAGE_S > 28
    with qtbot.waitSignal(strip.seek_requested, timeout=1000) as seek:
        qtbot.keyClick(strip, key)
    assert seek.args == [goal_s]


def test_keys_in_a_row_add_up_before_the_player_has_answered(qtbot: QtBot, strip: WaveformStrip) -> None:
    sought: list[float] = []
    strip.seek_requested.connect(sought.append)
    for _ in range(3):
        qtbot.keyClick(strip, Qt.Key.Key_Right)
    assert sought == [17.0, 22.0, 27.0]


def test_other_keys_are_left_to_the_window(qtbot: QtBot, strip: WaveformStrip) -> None:
    with qtbot.assertNotEmitted(strip.seek_requested):
        qtbot.keyClick(strip, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
        qtbot.keyClick(strip, Qt.Key.Key_Escape)
        qtbot.keyClick(strip, Qt.Key.Key_A)


def test_the_wheel_scrolls_what_is_around_and_never_seeks(qtbot: QtBot, strip: WaveformStrip) -> None:
    event = QWheelEvent(
        QPointF(10, 10), QPointF(10, 10), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    with qtbot.assertNotEmitted(strip.seek_requested):
        QApplication.sendEvent(strip, event)
    assert not event.isAccepted()


def test_without_a_reading_nothing_can_be_sought(qtbot: QtBot, strip: WaveformStrip) -> None:
    strip.clear()
    with qtbot.assertNotEmitted(strip.seek_requested), qtbot.assertNotEmitted(strip.scrubbed):
        qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=at(0.5))
        qtbot.keyClick(strip, Qt.Key.Key_End)


def test_to_a_screen_reader_it_is_a_slider_with_a_name_a_value_and_words(strip: WaveformStrip) -> None:
    interface = QAccessible.queryAccessibleInterface(strip)
    assert interface.role() is QAccessible.Role.Slider
    assert interface.text(QAccessible.Text.Name) == "Place in the reading"
    assert interface.text(QAccessible.Text.Description) == "0:12 of 0:40"
    value = interface.valueInterface()
    assert (value.currentValue(), value.minimumValue(), value.maximumValue()) == (12, 0, 40)


def test_a_screen_reader_is_told_now_and_then_and_at_once_after_a_jump(
    qtbot: QtBot, strip: WaveformStrip
) -> None:
    told: list[int] = []
    strip.valueChanged.connect(told.append)
    for tenth in range(121, 221):
        strip.set_heard(tenth / 10)
    assert told == [17, 22]
    strip.set_heard(35.0)
    assert told == [17, 22, 35]
    qtbot.keyClick(strip, Qt.Key.Key_Left)
    assert told == [17, 22, 35, 30]


def test_a_clear_strip_tells_so(strip: WaveformStrip) -> None:
    strip.clear()
    interface = QAccessible.queryAccessibleInterface(strip)
    assert interface.text(QAccessible.Text.Description) == "0:00 of 0:00"
    assert interface.valueInterface().maximumValue() == 0


def test_what_was_heard_what_is_ready_and_what_is_to_come_look_different(strip: WaveformStrip) -> None:
    strip.set_total(30.0, False)
    strip.set_peaks(np.full(30 * 50, 0.7, dtype=np.float32))
    assert LIGHT.wave_played in column(strip, 0.1)
    assert LIGHT.wave_buffered in column(strip, 0.6)
    to_come = column(strip, 0.97)
    assert LIGHT.wave_played not in to_come
    assert LIGHT.wave_buffered not in to_come
    assert LIGHT.track in to_come


def test_a_held_playhead_is_drawn_where_it_is_held(qtbot: QtBot, strip: WaveformStrip) -> None:
    assert LIGHT.wave_buffered in column(strip, 0.5)
    qtbot.mousePress(strip, Qt.MouseButton.LeftButton, pos=at(0.8))
    assert LIGHT.wave_buffered not in column(strip, 0.5)
    # The player goes on meanwhile and does not pull it away.
    strip.set_heard(13.0)
    assert LIGHT.wave_buffered not in column(strip, 0.5)


def test_it_follows_the_theme(qapp: QApplication, look: Theme, strip: WaveformStrip) -> None:
    assert LIGHT.wave_played in column(strip, 0.1)
    look.apply(qapp, "dark")
    assert DARK.wave_played in column(strip, 0.1)
    assert LIGHT.wave_played not in column(strip, 0.1)


def test_a_flood_of_news_is_painted_a_few_times(qtbot: QtBot) -> None:
    strip = CountingStrip()
    qtbot.addWidget(strip)
    strip.resize(WIDTH, 72)
    strip.show()
    qtbot.waitExposed(strip)
    strip.set_total(40.0, True)
    qtbot.waitUntil(lambda: not strip._repaint._timer.isActive())
    before, began_s = strip.paints, time.perf_counter()
    for i in range(1, 500):
        strip.set_heard(i / 100)
        QApplication.processEvents()
        if not i % 100:
            strip.set_peaks(np.full(i, 0.5, dtype=np.float32))
    # As many as the time that this took has room for, and one at each end; Qt's timers may be 5 % early.
    room = (time.perf_counter() - began_s) / (0.95 * REPAINT_S)
    assert 1 <= strip.paints - before <= room + 2
    with qtbot.waitSignal(strip._repaint.due, timeout=1000):
        strip.set_heard(20.0)
        strip.set_heard(21.0)


def test_its_texts_change_with_the_language(qtbot: QtBot, strip: WaveformStrip) -> None:
    strip.setAccessibleName("")
    QApplication.sendEvent(strip, QEvent(QEvent.Type.LanguageChange))
    assert strip.accessibleName() == "Place in the reading"


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_times_and_bars_have_room_at_every_size(
    qapp: QApplication, look: Theme, qtbot: QtBot, scale: float
) -> None:
    look.apply(qapp, "light", text_scale=scale)
    strip = WaveformStrip()
    qtbot.addWidget(strip)
    line = strip._line_height()
    assert line >= look.font(tokens.CAPTION).pointSizeF()
    assert strip.minimumSizeHint().height() - line >= 32
    assert strip.sizeHint().height() - line >= 48
