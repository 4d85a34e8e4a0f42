"""The dialog as a whole: every control and its setting, keyboard, names, languages, trouble with the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, Qt, QTranslator
from PySide6.QtGui import QAccessible, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDialogButtonBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSlider,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.config import load
from app.gui.settings.about_page import AboutPage, versions
from app.gui.settings.controls import Level, Number, OneOf, Paragraph, Text, Toggle
from app.gui.settings.dialog import PAGES
from app.gui.settings.page import Page
from app.gui.settings.rows import Bound
from app.gui.style.theme import theme
from tests.app.gui.settings.conftest import LAB, Desk, MakeDesk

CHANGES: list[tuple[str, str, str, Any, Any]] = [
    # page, row, key, another value, and one that is set from elsewhere
    ("voice", "task", "voice.task", "VoiceDesign", "Base"),
    ("voice", "speaker", "voice.name", "vivian", "uncle_fu"),
    ("voice", "language", "voice.language", "Chinese", "Auto"),
    ("voice", "instructions", "voice.instructions", "slowly", "fast\nand loud"),
    ("voice", "seed", "voice.seed", 7, 0),
    ("decoder", "device", "decoder.device", "cuda", "cuda:1"),
    ("decoder", "precision", "decoder.precision", "fast", "auto"),
    ("decoder", "threads", "decoder.threads", 2, 4),
    ("audio", "volume", "audio.volume", 0.4, 0.75),
    ("audio", "latency", "audio.latency_s", 0.25, 0.033),
    ("audio", "start_buffer", "audio.start_buffer_s", 0.4, 1.5),
    ("audio", "lead_in", "audio.lead_in_s", 0.3, 0.05),
    ("appearance", "theme", "appearance.theme", "dark", "light"),
    ("appearance", "text_scale", "appearance.text_scale", 1.5, 1.33),
    ("appearance", "language", "appearance.language", "zh_CN", "en"),
    ("appearance", "motion", "appearance.reduced_motion", True, False),
    ("window", "keep", "window.keep_history", False, True),
    ("window", "most", "window.history_mb", 1200, 50),
    ("window", "on_close", "window.on_close", "tray", "quit"),
    ("about", "updates", "window.check_for_updates", True, False),
]


def value_of(desk: Desk, key: str) -> Any:
    section, _, name = key.partition(".")
    return getattr(getattr(desk.settings.effective, section), name)


def all_pages(desk: Desk) -> list[Page]:
    return [desk.dialog.page(name) for name in PAGES]


def enter(row: Bound, value: Any) -> None:
    """Do what a person does to give a control another value."""
    match row:
        case OneOf():
            at = row.choice.findData(value)
            assert at >= 0, f"{row.key} does not offer {value!r}"
            row.choice.setCurrentIndex(at)
        case Toggle():
            row.box.click()
        case Number():
            row.spin.lineEdit().setText(row.spin.textFromValue(value * row._scale))
            QTest.keyClick(row.spin, Qt.Key.Key_Return)
        case Text():
            row.edit.setFocus()
            row.edit.selectAll()
            QTest.keyClicks(row.edit, str(value))
            QTest.keyClick(row.edit, Qt.Key.Key_Return)
        case Paragraph():
            row.lines.setPlainText(str(value))
            row.lines.left.emit()
        case Level():
            row.slider.setValue(round(value * 100))
        case _:
            raise AssertionError(row)


def shown(row: Bound) -> Any:
    """What a person sees in a control."""
    match row:
        case OneOf():
            return row.choice.currentData()
        case Toggle():
            return row.box.isChecked()
        case Number():
            return row.spin.value() / row._scale
        case Text():
            return int(row.edit.text()) if row.key == "voice.seed" else row.edit.text()
        case Paragraph():
            return row.lines.toPlainText()
        case Level():
            return row.slider.value() / 100
    raise AssertionError(row)


@pytest.mark.parametrize(("page", "name", "key", "other", "elsewhere"), CHANGES)
def test_a_control_changes_its_setting_and_follows_it(
    desk: Desk, page: str, name: str, key: str, other: Any, elsewhere: Any
) -> None:
    row: Bound = getattr(desk.dialog.page(page), name)
    desk.dialog.open_page(page)
    assert row.key == key
    enter(row, other)
    assert value_of(desk, key) == other
    section, _, field = key.partition(".")
    assert getattr(getattr(load(desk.path, {}), section), field) == other, "at once, and in the file"
    desk.settings.update(**{key: elsewhere})
    if isinstance(row, Text | Paragraph):
        desk.dialog.list.setFocus()
    assert shown(row) == pytest.approx(elsewhere) if isinstance(elsewhere, float) else shown(row) == elsewhere
    assert value_of(desk, key) == elsewhere, "showing it changes nothing"
    assert row.remark.text() == ""
    desk.settle()


def test_every_setting_that_a_person_would_change_has_a_control(desk: Desk) -> None:
    bound = {row.key for page in all_pages(desk) for row in page.findChildren(Bound)}
    assert {key for _, _, key, _, _ in CHANGES} | {"audio.device", "decoder.checkpoint"} == bound


def test_showing_writes_nothing(desk: Desk) -> None:
    for page in PAGES:
        desk.dialog.open_page(page)
        desk.settle()
    assert not desk.path.exists()


def test_what_cannot_be_is_told_beside_the_control_and_changes_nothing(desk: Desk) -> None:
    desk.dialog.open_page("voice")
    seed = desk.dialog.page("voice").seed  # type: ignore[attr-defined]
    enter(seed, "seven")
    assert value_of(desk, "voice.seed") is None
    assert "expected a whole number" in seed.remark.text()
    assert "expected a whole number" in seed.edit.accessibleDescription()
    enter(seed, "7")
    assert (value_of(desk, "voice.seed"), seed.remark.text()) == (7, "")
    enter(seed, "")
    seed.edit.clear()
    QTest.keyClick(seed.edit, Qt.Key.Key_Return)
    assert value_of(desk, "voice.seed") is None


def test_the_slider_writes_when_it_is_let_go_and_shows_on_the_way(desk: Desk) -> None:
    row = desk.dialog.page("audio").volume  # type: ignore[attr-defined]
    row.slider.setSliderDown(True)
    row.slider.setSliderPosition(30)
    row.slider.sliderMoved.emit(30)
    assert row.percent.text() == "30 %"
    assert not desk.path.exists()
    desk.settings.update(**{"voice.name": "x"})
    assert row.slider.sliderPosition() == 30, "news do not tear it out of one's hand"
    row.slider.setSliderDown(False)
    assert value_of(desk, "audio.volume") == 0.3


def test_what_is_being_typed_survives_news(desk: Desk, qtbot: QtBot) -> None:
    desk.dialog.open_page("voice")
    row = desk.dialog.page("voice").speaker  # type: ignore[attr-defined]
    qtbot.waitUntil(lambda: desk.dialog.isActiveWindow())
    row.edit.setFocus()
    QTest.keyClicks(row.edit, "viv")
    desk.settings.update(**{"audio.volume": 0.5})
    assert row.edit.text() == "viv"


# -- what was given at the start ---------------------------------------------------------------------------


def test_what_was_given_at_the_start_says_so_until_it_is_changed(make_desk: MakeDesk) -> None:
    desk = make_desk(environment={"NEARFIELD_AUDIO_LATENCY_S": "0.5"}, flags={"decoder.threads": 3})
    latency = desk.dialog.page("audio").latency  # type: ignore[attr-defined]
    threads = desk.dialog.page("decoder").threads  # type: ignore[attr-defined]
    assert "environment" in latency.remark.text()
    assert "command line" in threads.remark.text()
    assert "command line" in threads.spin.accessibleDescription()
    enter(threads, 2)
    assert value_of(desk, "decoder.threads") == 2
    assert threads.remark.text() == ""
    assert "environment" in latency.remark.text()


# -- trouble with the file ---------------------------------------------------------------------------------


def test_a_broken_file_and_one_that_cannot_be_written_are_told(make_desk: MakeDesk, tmp_path: Path) -> None:
    folder = tmp_path / "nearfield"
    folder.mkdir()
    (folder / "config.yaml").write_text("audio: [")
    desk = make_desk()
    assert "config.yaml.broken-1" in desk.dialog.problem.text()
    (folder / "config.yaml").mkdir()
    (folder / "config.yaml" / "in the way").write_text("")
    desk.settings.path = folder / "config.yaml" / "in the way" / "config.yaml"
    enter(desk.dialog.page("window").on_close, "quit")  # type: ignore[attr-defined]
    assert "cannot be saved" in desk.dialog.problem.text()
    assert value_of(desk, "window.on_close") == "quit"
    desk.settings.path = desk.path.with_name("other.yaml")
    enter(desk.dialog.page("window").on_close, "tray")  # type: ignore[attr-defined]
    assert desk.dialog.problem.text() == ""


# -- keyboard and names ------------------------------------------------------------------------------------


def test_it_is_not_modal_and_closes_with_escape(desk: Desk) -> None:
    desk.dialog.open_page()
    assert not desk.dialog.isModal()
    assert desk.dialog.windowModality() is Qt.WindowModality.NonModal
    QTest.keyClick(desk.dialog, Qt.Key.Key_Escape)
    assert not desk.dialog.isVisible()
    desk.settle()


def test_return_in_a_field_presses_no_button(desk: Desk) -> None:
    for page, name in (("voice", "speaker"), ("decoder", "threads"), ("decoder", "checkpoint")):
        desk.dialog.open_page(page)
        desk.settle()
        row: Bound = getattr(desk.dialog.page(page), name)
        QTest.keyClick(row.control, Qt.Key.Key_Return)
        desk.settle()
        assert desk.dialog.isVisible()
        assert desk.dialog.stack.currentWidget() is desk.dialog.page(page)
    desk.dialog.buttons.button(QDialogButtonBox.StandardButton.Close).setFocus()
    QTest.keyClick(desk.dialog.buttons.button(QDialogButtonBox.StandardButton.Close), Qt.Key.Key_Return)
    assert not desk.dialog.isVisible(), "the one with the focus is pressed"


def test_pages_are_reached_by_keyboard(desk: Desk, qtbot: QtBot) -> None:
    desk.dialog.open_page("server")
    qtbot.waitUntil(lambda: desk.dialog.isActiveWindow())
    seen = [desk.dialog.stack.currentWidget()]
    for _ in PAGES[1:]:
        QTest.keyClick(desk.dialog.list, Qt.Key.Key_Down)
        seen.append(desk.dialog.stack.currentWidget())
    assert seen == all_pages(desk)
    for sequence, at in (
        (QKeySequence.StandardKey.NextChild, 0),
        (QKeySequence.StandardKey.PreviousChild, 6),
    ):
        keys = QKeySequence(sequence)[0]
        QTest.keyClick(desk.dialog, keys.key(), keys.keyboardModifiers())
        assert desk.dialog.stack.currentWidget() is seen[at]
    desk.settle()


def in_box(widget: QWidget) -> bool:
    """The inside of a spin or combo box, which speaks for it."""
    return isinstance(widget.parentWidget(), QComboBox) or widget.objectName() == "qt_spinbox_lineedit"


def focusable(desk: Desk) -> Iterator[QWidget]:
    for widget in desk.dialog.findChildren(QWidget):
        if widget.isVisible() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus and not in_box(widget):
            yield widget


@pytest.mark.parametrize("page", PAGES)
def test_tab_reaches_everything_and_everything_has_a_name(desk: Desk, qtbot: QtBot, page: str) -> None:
    desk.do(desk.profiles.add(LAB))
    desk.do(desk.profiles.choose("Lab"))
    desk.dialog.open_page(page)
    desk.settle()
    qtbot.waitUntil(lambda: desk.dialog.isActiveWindow())
    wanted = {widget for widget in focusable(desk) if widget.isEnabled()}
    assert len(wanted) >= 3
    check_names(wanted)
    reached = set()
    for _ in range(3 * len(wanted)):
        reached.add(QApplication.focusWidget())
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert wanted <= reached, [describe(widget) for widget in wanted - reached]


def test_the_form_of_a_server_has_names_too(desk: Desk) -> None:
    desk.dialog.open_page("server")
    desk.dialog.page("server").new.click()  # type: ignore[attr-defined]
    desk.settle()
    wanted = set(focusable(desk))
    assert len(wanted) >= 10
    check_names(wanted)


def describe(widget: QWidget) -> str:
    return f"{type(widget).__name__} {widget.accessibleName()!r}"


def check_names(widgets: set[QWidget]) -> None:
    for widget in widgets:
        interface = QAccessible.queryAccessibleInterface(widget)
        assert interface is not None
        assert interface.text(QAccessible.Text.Name).strip(), describe(widget)


def test_a_small_window_with_large_text_keeps_the_page_in_view(desk: Desk, qapp: QApplication) -> None:
    try:
        theme().apply(qapp, "light", 2.0)
        desk.dialog.open_page("decoder")
        desk.dialog.resize(760, 520)
        assert (desk.dialog.width(), desk.dialog.height()) == (760, 520)
        assert desk.dialog.stack.width() > desk.dialog.width() * 0.75
        first = desk.dialog.list.item(0)
        assert (first.text(), first.toolTip()) == ("", "Server")
        assert first.data(Qt.ItemDataRole.AccessibleTextRole) == "Server"
        theme().apply(qapp, "light", 1.0)
        assert desk.dialog.list.item(0).text() == "Server"
    finally:
        theme().apply(qapp, "light", 1.0)
        desk.settle()


# -- another language --------------------------------------------------------------------------------------


class Marked(QTranslator):
    """A language in which every text is the English one between marks."""

    def translate(self, context: str, source: str, comment: str | None = None, n: int = -1) -> str:
        return f"«{source}»" if context in OURS else ""

    def isEmpty(self) -> bool:
        return False


OURS = {
    "SettingsDialog", "ServerPage", "ProfileForm", "VoicePage", "DecoderPage", "CheckpointRow", "DownloadRow",
    "AudioPage", "AppearancePage", "WindowPage", "AboutPage", "Row", "VoiceWords", "_Question",
}  # fmt: skip


@pytest.fixture
def marked(qapp: QApplication) -> Iterator[Callable[[], None]]:
    translator = Marked()

    def install() -> None:
        QCoreApplication.installTranslator(translator)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LanguageChange)
        qapp.processEvents()

    yield install
    QCoreApplication.removeTranslator(translator)
    qapp.processEvents()


def texts(desk: Desk) -> Iterator[str]:
    """Whatever a person reads, but what they typed themselves."""
    for widget in desk.dialog.findChildren(QWidget):
        match widget:
            case QLabel() | QAbstractButton():
                yield widget.text()
            case QComboBox():
                yield from (widget.itemText(at) for at in range(widget.count()))
        if not in_box(widget):
            yield widget.accessibleName()
            yield widget.toolTip()
    yield from (desk.dialog.list.item(at).text() for at in range(desk.dialog.list.count()))
    yield desk.dialog.windowTitle()


def test_all_texts_change_with_the_language_without_a_restart(
    make_desk: MakeDesk, marked: Callable[[], None]
) -> None:
    desk = make_desk(flags={"audio.latency_s": 0.5})
    desk.do(desk.profiles.add(LAB))
    for page in PAGES:
        desk.dialog.open_page(page)
        desk.settle()
    marked()
    data = {
        *(name for name, _ in versions()),
        *(number for _, number in versions()),
        "System", "English", "简体中文", "ALSA: pulse", "ALSA: HDMI", "100 %",
    }  # fmt: skip
    kept = {text for text in texts(desk) if text.strip() and "«" not in text} - data
    assert kept == set()
    for page in all_pages(desk):
        for widget in page.findChildren(QWidget):
            if isinstance(widget, QLineEdit | QPlainTextEdit | QSlider) and not in_box(widget):
                assert widget.accessibleName().startswith("«"), describe(widget)


# -- about -------------------------------------------------------------------------------------------------


def test_about_says_versions_without_importing_and_opens_folders(desk: Desk, qapp: QApplication) -> None:
    page: Any = desk.dialog.page("about")
    page.open_logs.click()
    page.open_file.click()
    assert desk.opened == [desk.services.log_folder, desk.path.parent]
    page.copy.click()
    copied = qapp.clipboard().text()
    assert copied.startswith("Nearfield ")
    for name in ("Python", "Qt", "torch"):
        assert f"\n{name} " in copied


# -- a newer version ---------------------------------------------------------------------------------------


def test_a_newer_version_is_shown_once_it_is_known(desk: Desk) -> None:
    known = ""
    services = replace(desk.services, newer_version=lambda: known)
    page = AboutPage(desk.settings, services)
    try:
        assert page.newer.isHidden()
        known = "9.8.7"
        page.open_page()
        assert not page.newer.isHidden()
        assert page.newer.text() == "Nearfield 9.8.7 can be had at https://pypi.org/project/nearfield/."
        assert "pypi.org" in page.updates.help.text()
    finally:
        shiboken6.delete(page)
