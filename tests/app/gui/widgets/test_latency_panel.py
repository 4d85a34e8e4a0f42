from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QBoxLayout, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.desktop.latency import Hop, Numbers
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT
from app.gui.widgets import latency_words
from app.gui.widgets.latency_panel import RENDER_S, LatencyPanel
from app.metrics.report import LatencyParts
from tests.app.gui.widgets.conftest import Clock

NUMBERS = Numbers(
    ttfa_s=0.171,
    parts=LatencyParts(0.081, 0.0, 0.014, 0.0, 0.056, 0.02),
    before_sent_s=0.004,
    leading_silence_s=0.012,
    rtf=0.095,
    frames=18,
    audio_s=1.44,
    buffered_s=0.56,
    underruns=0,
    gap_s=0.0,
    device_underflows=0,
    wire_bytes=1_200,
    pcm_bytes=69_120,
)


@pytest.fixture
def panel(qtbot: QtBot, clock: Clock) -> LatencyPanel:
    panel = LatencyPanel(clock=clock)
    qtbot.addWidget(panel)
    return panel


def texts(panel: QWidget) -> list[str]:
    return [label.text() for label in panel.findChildren(QLabel)]


def named(panel: QWidget) -> list[str]:
    return [label.accessibleName() for label in panel.findChildren(QLabel) if label.accessibleName()]


def colours(widget: QWidget) -> set[str]:
    image: QImage = widget.grab().toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


def test_before_anything_was_spoken_it_says_what_to_do(panel: LatencyPanel) -> None:
    assert "Speak something: how long it takes to be heard is shown here." in texts(panel)
    copy = panel.findChild(QPushButton)
    assert copy is not None
    assert not copy.isEnabled()


def test_it_shows_the_numbers_and_names_the_slowest_hop(panel: LatencyPanel) -> None:
    panel.show_numbers(NUMBERS)
    shown = texts(panel)
    for text in ("171", "81 ms", "56 ms", "0.10", "18", "0.56 s", "0.8 kB/s", "48.0 kB/s"):
        assert text in shown
    assert "The server takes the longest: 81 ms of 171 ms." in shown


def test_a_screen_reader_hears_each_number_with_its_name(panel: LatencyPanel) -> None:
    panel.show_numbers(NUMBERS)
    for name in (
        "Time to first audio: 171 ms", "Server: 81 ms", "Ring: 56 ms", "RTF: 0.10", "Underruns: 0",
        "Frames: 18", "Buffer: 0.56 s", "Received: 0.8 kB/s", "As PCM: 48.0 kB/s",
    ):  # fmt: skip
        assert name in named(panel)


def test_every_number_says_what_it_means(panel: LatencyPanel) -> None:
    for hop in Hop:
        assert latency_words.meaning(hop) in [w.toolTip() for w in panel.findChildren(QLabel)]
    headline = [w for w in panel.findChildren(QLabel) if w.text() in ("Time to first audio", "–", "ms")][:3]
    assert all("the text is sent" in label.toolTip() for label in headline)
    figures = [w for w in panel.children() if type(w).__name__ == "Figure"]
    assert len(figures) == 6
    assert all(isinstance(w, QWidget) and w.toolTip() for w in figures)


@pytest.mark.parametrize("hop", [Hop.SERVER, Hop.HOLD, Hop.DECODE, Hop.RING, Hop.DEVICE])
def test_whichever_hop_is_the_slowest_there_are_words_for_it(hop: Hop) -> None:
    parts = replace(LatencyParts(0.1, 0.1, 0.1, 0.0, 0.1, 0.1), **{f"{hop.value}_s": 0.6})
    words = latency_words.slowest_in_words(replace(NUMBERS, parts=parts, ttfa_s=1.0))
    assert words.endswith("takes the longest: 600 ms of 1000 ms.")


def test_if_the_server_decodes_there_is_no_real_time_factor(panel: LatencyPanel) -> None:
    panel.show_numbers(replace(NUMBERS, rtf=None, frames=0))
    assert "RTF: by server" in named(panel)


def test_an_underrun_stands_out(panel: LatencyPanel) -> None:
    panel.show_numbers(replace(NUMBERS, underruns=2, gap_s=0.34))
    panel._render()
    label = next(w for w in panel.findChildren(QLabel) if w.text() == "2 (340 ms)")
    assert label.property("role") == "alarm"
    assert label.palette().color(label.foregroundRole()).name() == LIGHT.danger


def test_news_are_shown_ten_times_a_second_at_most_and_the_last_always(
    panel: LatencyPanel, qtbot: QtBot
) -> None:
    assert RENDER_S >= 0.1
    panel.show_numbers(NUMBERS)
    for frames in range(1000):
        panel.show_numbers(replace(NUMBERS, frames=frames))
    assert "Frames: 18" in named(panel)
    with qtbot.waitSignal(panel._throttle.due, timeout=2000):
        pass
    assert "Frames: 999" in named(panel)


def test_the_history_of_the_buffer_is_kept_while_a_reading_runs(panel: LatencyPanel, clock: Clock) -> None:
    for depth_s in (0.0, 0.5, 1.0):
        panel.show_numbers(replace(NUMBERS, buffered_s=depth_s))
        clock.now_s += 5
    assert [y for _, y in panel._history.points()] == [0.0, 0.5, 1.0]
    panel.show_numbers(None)
    assert not panel._history.points()


def test_copying_is_asked_for(panel: LatencyPanel, qtbot: QtBot) -> None:
    panel.show_numbers(NUMBERS)
    copy = panel.findChild(QPushButton)
    assert copy is not None
    with qtbot.waitSignal(panel.copy_requested, timeout=1000):
        qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)


def test_nothing_moves_when_numbers_change(panel: LatencyPanel, qtbot: QtBot) -> None:
    panel.resize(300, panel.sizeHint().height())
    panel.show()
    qtbot.waitExposed(panel)
    panel.show_numbers(NUMBERS)
    panel._render()
    QApplication.processEvents()

    def places() -> list[tuple[int, int, int, int]]:
        return [
            w.geometry().getRect()
            for w in panel.findChildren(QWidget)
            if not (isinstance(w, QLabel) and w.property("role") in ("display", "title"))
        ]

    before = places()
    slow = replace(
        NUMBERS,
        ttfa_s=9.171,
        parts=LatencyParts(9.0, 0.0, 0.014, 0.0, 0.137, 0.02),
        frames=12_345,
        buffered_s=12.5,
        underruns=9,
        gap_s=9.9,
    )
    panel.show_numbers(slow)
    panel._render()
    QApplication.processEvents()
    assert "9171" in texts(panel)
    assert places() == before


def test_its_parts_stand_side_by_side_where_there_is_room(panel: LatencyPanel) -> None:
    panel.show()
    panel.resize(300, 500)
    assert panel._parts.direction() is QBoxLayout.Direction.TopToBottom
    panel.resize(900, 300)
    assert panel._parts.direction() is QBoxLayout.Direction.LeftToRight


def test_it_follows_the_theme(qapp: QApplication, look: Theme, panel: LatencyPanel) -> None:
    panel.show_numbers(NUMBERS)
    panel.resize(320, 460)
    assert LIGHT.accent in colours(panel)
    look.apply(qapp, "dark")
    after = colours(panel)
    assert DARK.accent in after
    assert LIGHT.accent not in after


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_text_is_cut_off(
    qapp: QApplication, look: Theme, panel: LatencyPanel, qtbot: QtBot, scale: float, theme: str
) -> None:
    look.apply(qapp, theme, text_scale=scale)
    panel.show_numbers(replace(NUMBERS, underruns=12, gap_s=1.234))
    panel._render()
    panel.show()
    panel.resize(panel.minimumSizeHint())
    QApplication.processEvents()
    assert panel.width() <= 300 * scale
    for label in panel.findChildren(QLabel):
        needed = label.heightForWidth(label.width()) if label.wordWrap() else label.sizeHint().height()
        assert label.height() >= needed, label.text()
        assert label.wordWrap() or label.width() >= label.sizeHint().width(), label.text()


def test_its_texts_change_with_the_language(panel: LatencyPanel) -> None:
    panel.setAccessibleName("")
    for label in panel.findChildren(QLabel):
        label.setToolTip("")
    QApplication.sendEvent(panel, QEvent(QEvent.Type.LanguageChange))
    assert panel.accessibleName() == "Latency"
    assert "Time to first audio: – ms" in named(panel)
