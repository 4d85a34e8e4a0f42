"""The window against a player without sound: every intent, every phase, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.audio.output import OutputInfo
from app.desktop.player_state import Phase, PlayerState, Sentence
from app.desktop.settings import Settings
from app.engine.events import DecoderState, Notice, OutputChanged, Severity
from app.errors import OutputError
from app.gui.bridge import Bridge
from app.gui.intents import Intents
from app.gui.main_window import LEAST, PANELS, MainWindow
from app.gui.style.theme import theme
from app.gui.tasks import Tasks
from app.gui.window_state import WindowState
from decoder.wire.events import Outcome
from tests.helpers.fake_player import FakePlayer
from tests.helpers.qt_loop import Run, run_in_qt
from tests.helpers.waiting import eventually

__all__ = ["run_in_qt"]

TEXT = "The first one. The second one. The third one."
THREE = (Sentence(0, 14, 0.0), Sentence(15, 30, 4.0), Sentence(31, 45, 8.0))
SPEAKING = {
    "phase": Phase.PLAYING,
    "reading": 1,
    "text": TEXT,
    "heard_s": 5.0,
    "decoded_s": 9.0,
    "sentences": THREE,
    "sentence": 1,
}


@dataclass
class Desk:
    """A window and what it is connected with."""

    window: MainWindow
    player: FakePlayer
    bridge: Bridge
    settings: Settings
    tasks: Tasks
    volumes: list[float]
    saved: list[PlayerState]
    devices: list[str]

    def act(self, name: str) -> QAction:
        return self.window.act[name]


@pytest.fixture
def desk(qtbot: QtBot, tmp_path: Path) -> Iterator[Desk]:
    theme().apply(QApplication.instance())  # type: ignore[arg-type]
    tasks = Tasks()
    window = MainWindow(WindowState(tmp_path / "window.ini"), tasks)
    qtbot.addWidget(window)
    player = FakePlayer()
    settings = Settings(tmp_path / "config.yaml", environment={})
    bridge = Bridge(player, lambda: "Demo", window)
    volumes: list[float] = []
    saved: list[PlayerState] = []
    devices = ["ALSA: one", "ALSA: two & three"]

    def list_devices() -> list[str]:
        if not devices:
            raise OutputError("PortAudio does not answer")
        return devices

    intents = Intents(
        window,
        player,
        bridge,
        settings,
        tasks,
        set_volume=volumes.append,
        save_audio=saved.append,
        list_devices=list_devices,
    )
    with qtbot.waitExposed(window):
        window.show()
    window.activateWindow()
    yield Desk(window, player, bridge, settings, tasks, volumes, saved, devices)
    intents.close()


# -- intents -----------------------------------------------------------------------------------------------


def test_speak_hands_on_the_text_of_the_editor(desk: Desk) -> None:
    desk.window.editor.set_text(TEXT)
    desk.act("speak").trigger()
    assert desk.player.asked == [("speak", TEXT)]


def test_nothing_to_say_is_for_the_player_to_tell(desk: Desk) -> None:
    """G1: the window has no opinion of texts."""
    desk.act("speak").trigger()
    assert desk.player.asked == [("speak", "")]
    assert desk.player.state.phase is Phase.IDLE


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_ctrl_enter_speaks_from_within_the_editor(desk: Desk, qtbot: QtBot, key: Qt.Key) -> None:
    desk.window.editor.set_text(TEXT)
    desk.window.editor.setFocus()
    qtbot.keyClick(desk.window.editor, key, Qt.KeyboardModifier.ControlModifier)
    assert desk.player.asked == [("speak", TEXT)]
    assert desk.window.editor.text() == TEXT


def test_speak_selection(desk: Desk) -> None:
    desk.window.editor.set_text(TEXT)
    assert not desk.act("speak_selection").isEnabled()
    cursor = desk.window.editor.textCursor()
    cursor.setPosition(15)
    cursor.setPosition(30, cursor.MoveMode.KeepAnchor)
    desk.window.editor.setTextCursor(cursor)
    assert desk.act("speak_selection").isEnabled()
    desk.act("speak_selection").trigger()
    assert desk.player.asked == [("speak", "The second one.")]


def test_speak_clipboard_and_an_empty_one(desk: Desk) -> None:
    QGuiApplication.clipboard().setText("from elsewhere")
    desk.act("speak_clipboard").trigger()
    assert desk.player.asked == [("speak", "from elsewhere")]
    QGuiApplication.clipboard().clear()
    desk.act("speak_clipboard").trigger()
    assert desk.player.asked == [("speak", "from elsewhere")]
    assert "clipboard" in desk.window.notices.shown[-1].text


def test_pause_and_resume_are_one_action_with_two_names(desk: Desk) -> None:
    desk.player.show(**SPEAKING)
    assert "Pause" in desk.window.transport.pause.accessibleName()
    desk.act("pause").trigger()
    assert "Resume" in desk.window.transport.pause.accessibleName()
    desk.act("pause").trigger()
    assert desk.player.asked == [("pause",), ("resume",)]


def test_escape_stops_from_within_the_editor(desk: Desk, qtbot: QtBot) -> None:
    desk.player.show(**SPEAKING)
    desk.window.editor.setFocus()
    qtbot.keyClick(desk.window.editor, Qt.Key.Key_Escape)
    assert desk.player.asked == [("stop",)]
    assert not desk.act("stop").isEnabled()


def test_sentences_back_and_forward(desk: Desk) -> None:
    desk.player.show(**SPEAKING)
    desk.act("back").trigger()
    desk.act("forward").trigger()
    assert desk.player.asked == [("seek_sentence", 0), ("seek_sentence", 2)]
    desk.player.show(sentence=2, heard_s=8.5)
    desk.bridge.state_changed.emit(desk.player.state)
    assert not desk.act("forward").isEnabled()


def test_a_chosen_sentence_and_a_place_in_the_waveform_are_sought(desk: Desk) -> None:
    desk.window.editor.sentence_chosen.emit(2)
    desk.window.waveform.seek_requested.emit(3.25)
    assert desk.player.asked == [("seek_sentence", 2), ("seek", 3.25)]


def test_saving_hands_on_what_is_shown(desk: Desk) -> None:
    assert not desk.act("save_audio").isEnabled()
    desk.player.show(**SPEAKING, is_whole=True, recording="20260101-000000-0123456789ab")
    desk.act("save_audio").trigger()
    assert [state.recording for state in desk.saved] == ["20260101-000000-0123456789ab"]


def test_the_volume_is_heard_at_once_and_kept_when_let_go(desk: Desk) -> None:
    slider = desk.window.transport.volume
    slider.setSliderDown(True)
    slider.setValue(40)
    assert desk.volumes == [0.4]
    assert desk.settings.effective.audio.volume == 1.0
    slider.setSliderDown(False)
    assert desk.settings.effective.audio.volume == 0.4
    assert Settings(desk.settings.path, environment={}).effective.audio.volume == 0.4


def test_mute_and_back_to_where_it_was(desk: Desk) -> None:
    desk.window.transport.volume.setValue(70)
    desk.window.transport.mute.click()
    assert desk.settings.effective.audio.volume == 0.0
    assert desk.window.transport.mute.accessibleName() == "Unmute"
    desk.window.transport.mute.click()
    assert desk.settings.effective.audio.volume == 0.7


def test_the_devices_are_looked_for_beside_the_loop_and_one_is_chosen(desk: Desk, run_in_qt: Run) -> None:
    menu = desk.window.transport.devices.menu()
    assert menu is not None

    def texts() -> list[str]:
        return [action.text() for action in menu.actions()]

    async def choose() -> None:
        menu.aboutToShow.emit()
        assert texts()[-1] == "Looking for devices…"
        await eventually(lambda: len(texts()) == 3 and "Looking" not in texts()[-1])
        assert texts() == ["System default", "ALSA: one", "ALSA: two && three"]
        menu.actions()[2].trigger()

    run_in_qt(choose())
    assert desk.settings.effective.audio.device == "ALSA: two & three"


def test_devices_that_cannot_be_listed_are_a_notice(desk: Desk, run_in_qt: Run) -> None:
    """A15, A19: a sound system that hangs or is not there takes nothing else with it."""
    desk.devices.clear()

    async def look() -> None:
        desk.window.transport.devices_wanted.emit()
        await eventually(lambda: desk.window.notices.shown)

    run_in_qt(look())
    assert "PortAudio" in desk.window.notices.shown[-1].text


def test_the_theme_is_a_setting(desk: Desk) -> None:
    desk.act("theme_dark").trigger()
    assert desk.settings.effective.appearance.theme == "dark"
    desk.settings.update(**{"appearance.theme": "light"})
    assert desk.act("theme_light").isChecked()


def test_the_edit_menu_works_on_what_has_the_keyboard(desk: Desk) -> None:
    desk.window.editor.set_text("abc")
    desk.window.editor.setFocus()
    desk.act("select_all").trigger()
    desk.act("cut").trigger()
    assert desk.window.editor.text() == ""
    desk.act("paste").trigger()
    assert desk.window.editor.text() == "abc"
    desk.act("clear").trigger()
    assert desk.window.editor.text() == ""
    desk.act("undo").trigger()
    assert desk.window.editor.text() == "abc"


# -- what is shown -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase_is_said_in_words_and_offers_what_it_can(desk: Desk, phase: Phase) -> None:
    desk.player.show(**{**SPEAKING, "phase": phase})
    is_speaking = phase is not Phase.IDLE
    assert desk.act("stop").isEnabled() is is_speaking
    assert desk.act("pause").isEnabled() is is_speaking
    assert desk.act("speak").isEnabled()
    assert desk.window.status.words.text()
    assert (TEXT in desk.window.windowTitle()) is is_speaking
    assert desk.window.windowTitle().endswith("Nearfield")


def test_phases_have_words_of_their_own(desk: Desk) -> None:
    said = set()
    for phase in Phase:
        desk.player.show(**{**SPEAKING, "phase": phase})
        said.add(desk.window.status.words.text())
    assert len(said) == len(Phase)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_ending_is_said_with_its_reason(desk: Desk, outcome: Outcome) -> None:
    desk.player.show(phase=Phase.IDLE, reading=1, text=TEXT, outcome=outcome, reason="the link broke")
    # Who stops it knows why.
    is_explained = outcome is not Outcome.CANCELLED
    assert desk.window.status.words.text().endswith(": the link broke") is is_explained


def test_a_very_long_text_makes_a_short_title(desk: Desk) -> None:
    desk.player.show(**{**SPEAKING, "text": "word\n" * 20_000})
    assert len(desk.window.windowTitle()) < 90
    assert "\n" not in desk.window.windowTitle()


def test_what_the_engine_tells_is_seen(desk: Desk) -> None:
    desk.bridge.on_event(Notice(Severity.WARNING, "the device was unplugged"))
    assert desk.window.notices.shown[-1].text == "the device was unplugged"
    desk.bridge.on_event(DecoderState(False, "preparing"))
    assert "Preparing" in desk.window.status.words.text()
    desk.bridge.on_event(DecoderState(True, "ready"))
    assert "Preparing" not in desk.window.status.words.text()
    assert "Demo" in desk.window.chip.text()
    desk.bridge.on_event(OutputChanged(OutputInfo("USB headset", 48000, 2, 0.1, audible=True), "opened"))
    assert "USB headset" in desk.window.transport.devices.toolTip()
    desk.bridge.on_event(OutputChanged(None, "unplugged"))
    assert "No sound device" in desk.window.transport.devices.toolTip()
    told = len(desk.window.notices.shown)
    desk.bridge.on_event(OutputChanged(OutputInfo("USB headset", 48000, 2, 0.1, audible=True), "opened"))
    assert [n.text for n in desk.window.notices.shown[told:]] == ["The sound is back, at USB headset."]


def test_a_decoder_that_cannot_be_used_is_not_prepared_for_ever(desk: Desk) -> None:
    desk.bridge.on_event(DecoderState(False, "no such checkpoint", is_broken=True))
    assert "Preparing" not in desk.window.status.words.text()


# -- the window itself -------------------------------------------------------------------------------------


def test_closing_is_asked_for_and_not_done(desk: Desk, qtbot: QtBot) -> None:
    with qtbot.waitSignal(desk.window.close_asked):
        desk.window.close()
    assert desk.window.isVisible()


def test_panels_fold_away_when_it_is_narrow_and_come_back(desk: Desk) -> None:
    def opened() -> list[str]:
        return [name for name in PANELS if desk.act(name).isChecked()]

    assert opened() == ["latency"]
    desk.act("voice").setChecked(True)
    desk.window.resize(LEAST)
    assert desk.window.size() == LEAST
    assert opened() == []
    desk.act("voice").setChecked(True)
    desk.act("history").setChecked(True)
    assert opened() == ["history"]
    desk.window.resize(1200, 700)
    assert opened() == ["voice", "latency"]


def test_the_smallest_window_has_room_for_all_that_it_shows(desk: Desk) -> None:
    desk.window.resize(LEAST)
    for name in ("", "voice", "latency"):
        if name:
            desk.act(name).setChecked(True)
        QApplication.processEvents()
        assert desk.window.size() == LEAST
        window = desk.window.rect()
        for widget in (desk.window.editor, desk.window.waveform, *buttons(desk.window)):
            if widget.isVisible():
                corner = widget.mapTo(desk.window, widget.rect().bottomRight())
                assert window.contains(corner), (name, widget.accessibleName(), corner)
        assert desk.window.editor.height() >= 80


def buttons(window: MainWindow) -> list[QWidget]:
    bar = window.transport
    return [bar.speak, bar.pause, bar.stop, bar.save, bar.mute, bar.volume, bar.devices, window.chip]


def test_where_it_was_is_kept(desk: Desk, qtbot: QtBot, tmp_path: Path) -> None:
    desk.act("latency").setChecked(False)
    desk.act("voice").setChecked(True)
    desk.act("history").setChecked(True)
    desk.window.resize(780, 560)  # the screen of the tests is small
    assert not desk.act("history").isChecked()
    desk.window.keep_state()
    again = MainWindow(WindowState(tmp_path / "window.ini"), desk.tasks)
    qtbot.addWidget(again)
    assert (again.width(), again.height()) == (780, 560)
    assert [name for name in PANELS if again.act[name].isChecked()] == ["history", "voice"]
    assert not again.is_first_start


def test_what_is_kept_may_be_garbage(qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "window.ini").write_text(
        "[window]\ngeometry=@ByteArray(nonsense)\ndivision=7\npanels=nobody\n"
    )
    window = MainWindow(WindowState(tmp_path / "window.ini"), Tasks())
    qtbot.addWidget(window)
    assert window.minimumSize() == LEAST


def test_the_first_start_has_a_text_worth_hearing(qtbot: QtBot, tmp_path: Path) -> None:
    window = MainWindow(WindowState(tmp_path / "window.ini"), Tasks())
    qtbot.addWidget(window)
    assert window.is_first_start
    window.welcome()
    assert "Ctrl+Enter" in window.editor.text()


# -- keyboard and screen readers ---------------------------------------------------------------------------


def focusable(window: QWidget) -> set[QWidget]:
    """Every widget in the window that takes the keyboard now."""
    return {
        widget
        for widget in window.findChildren(QWidget)
        if widget.isVisible()
        and widget.isEnabled()
        and widget.window() is window
        and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and widget.focusProxy() is None
    }


@pytest.mark.parametrize("panels", [("voice", "latency"), ("history",), ()])
def test_tab_alone_reaches_everything(desk: Desk, qtbot: QtBot, panels: tuple[str, ...]) -> None:
    for name in PANELS:
        desk.act(name).setChecked(name in panels)
    desk.player.show(**SPEAKING, is_whole=True)
    desk.window.show_measured(desk.player.state, np.full(450, 0.5, np.float32))
    desk.bridge.on_event(Notice(Severity.ERROR, "something to dismiss"))
    QApplication.processEvents()
    desk.window.editor.setFocus()
    reached: set[QWidget] = set()
    for _ in range(200):
        focused = QApplication.focusWidget()
        assert focused is not None
        if focused in reached and focused is desk.window.editor:
            break
        reached.add(focused)
        qtbot.keyClick(focused, Qt.Key.Key_Tab)
    missed = focusable(desk.window) - reached
    # Of radio buttons, Tab reaches the chosen one; the arrows do the rest.
    missed = {w for w in missed if not (isinstance(w, QAbstractButton) and w.autoExclusive())}
    assert not missed, [(type(w).__name__, w.accessibleName()) for w in missed]


def test_shift_tab_goes_the_same_way_back(desk: Desk, qtbot: QtBot) -> None:
    desk.window.editor.setFocus()
    qtbot.keyClick(desk.window.editor, Qt.Key.Key_Tab)
    there = QApplication.focusWidget()
    assert there is not desk.window.editor
    qtbot.keyClick(there, Qt.Key.Key_Backtab)
    assert QApplication.focusWidget() is desk.window.editor


def test_everything_that_takes_the_keyboard_has_a_name(desk: Desk) -> None:
    for name in PANELS:
        desk.act(name).setChecked(True)
    desk.player.show(**SPEAKING, is_whole=True)
    nameless = [
        widget
        for widget in focusable(desk.window)
        if not widget.accessibleName() and not (isinstance(widget, QAbstractButton) and widget.text())
    ]
    assert not nameless, [(type(w).__name__, w.objectName(), w.parent()) for w in nameless]


def test_no_two_actions_have_the_same_keys(desk: Desk) -> None:
    taken: dict[str, str] = {}
    for action in desk.window.act.all():
        for keys in action.shortcuts():
            text = keys.toString(QKeySequence.SequenceFormat.PortableText)
            assert taken.setdefault(text, action.objectName()) == action.objectName(), text


def test_every_action_is_in_a_menu_and_mnemonics_differ_within_each(desk: Desk) -> None:
    listed = set()
    for top in desk.window.menuBar().actions():
        menu = top.menu()
        mnemonics: list[str] = []
        pending = list(menu.actions())
        while pending:
            action = pending.pop()
            if action.menu() is not None:
                pending += action.menu().actions()
            elif not action.isSeparator():
                listed.add(action.objectName())
                if not action.objectName().startswith("theme_"):
                    _, _, rest = action.text().partition("&")
                    mnemonics.append(rest[:1].lower())
        assert len(set(mnemonics)) == len(mnemonics), (top.text(), mnemonics)
    assert listed == {action.objectName() for action in desk.window.act.all()} - {"show_window"}


def test_a_change_of_language_renames_everything_and_keeps_the_state(desk: Desk) -> None:
    desk.player.show(**SPEAKING)
    desk.act("pause").trigger()
    QApplication.sendEvent(desk.window, QEvent(QEvent.Type.LanguageChange))
    assert "Resume" in desk.act("pause").text()
    assert desk.window.windowTitle() == f"{TEXT} — Nearfield"


@pytest.mark.parametrize("name", ["words.txt", "words.md"])
def test_a_file_may_be_dropped_anywhere(desk: Desk, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("Words.")
    files, words = QMimeData(), QMimeData()
    files.setUrls([QUrl.fromLocalFile(str(tmp_path / name))])
    words.setText("words")
    copy, none = Qt.DropAction.CopyAction, Qt.KeyboardModifier.NoModifier
    left = Qt.MouseButton.LeftButton
    for mime, is_taken in ((files, True), (words, False)):
        entering = QDragEnterEvent(QPoint(5, 5), copy, mime, left, none)
        entering.ignore()
        QApplication.sendEvent(desk.window, entering)
        assert entering.isAccepted() is is_taken
    QApplication.sendEvent(desk.window, QDropEvent(QPointF(5, 5), copy, files, left, none))
    assert desk.window.editor.text() == "Words."
