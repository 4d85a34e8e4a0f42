"""The voice panel: what it shows for each task, what it tells, and what it says of the server's voices."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, Qt, QTranslator
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.config import VoiceConfig
from app.desktop.voices import VoiceServices, services_of
from app.gui.tasks import Tasks
from app.gui.voice.panel import VoicePanel
from app.session.address import server_address
from app.session.voices import UploadedVoice, VoiceList
from decoder.wire.rules import LANGUAGES, TASK_TYPES
from server.emulator import Emulator, SyntheticTalker
from tests.helpers.qt_loop import Run, run_in_qt
from tests.helpers.recordings import wav_file
from tests.helpers.servers import certificate
from tests.helpers.voice_server import voice_host
from tests.helpers.waiting import eventually

__all__ = ["run_in_qt"]

VOICES = VoiceList(("serena", "uncle_fu", "vivian"), (UploadedVoice("Anna", has_text=True),))


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


class Told:
    """A panel as a window has it: what it tells is saved, and comes back."""

    def __init__(self, qtbot: QtBot) -> None:
        self.tasks = Tasks()
        self.panel = VoicePanel(self.tasks)
        qtbot.addWidget(self.panel)
        self.changes: list[dict[str, object]] = []
        self.faults: list[str] = []
        self.panel.changed.connect(self.changes.append)
        self.panel.fault_changed.connect(self.faults.append)
        self.panel.show()

    def choose(self, name: str, data: object) -> None:
        box = self.box(name)
        at = box.findData(data)
        assert at >= 0, f"{name} has no {data!r}"
        box.setCurrentIndex(at)
        box.activated.emit(at)

    def box(self, name: str) -> QComboBox:
        return self.find(QComboBox, name)

    def find(self, kind: type, name: str) -> QWidget:  # type: ignore[type-arg]
        found = [w for w in self.panel.findChildren(kind) if w.accessibleName() == name or text_of(w) == name]
        assert len(found) == 1, f"{name}: {len(found)}"
        return found[0]  # type: ignore[no-any-return]

    def shown(self) -> set[str]:
        return {
            w.accessibleName() or text_of(w)
            for kind in (QComboBox, QLineEdit, QPlainTextEdit, QAbstractButton)
            for w in self.panel.findChildren(kind)
            if w.isVisible() and w.focusPolicy() != Qt.FocusPolicy.NoFocus and not in_box(w)
        }


def text_of(widget: QWidget) -> str:
    return widget.text() if isinstance(widget, QAbstractButton) else ""


def in_box(widget: QWidget) -> bool:
    return isinstance(widget.parentWidget(), QComboBox)


def texts(panel: QWidget) -> str:
    return "\n".join(label.text() for label in panel.findChildren(QLabel) if label.isVisible())


@pytest.fixture
def told(qtbot: QtBot) -> Told:
    return Told(qtbot)


# -- fields of each task --------------------------------------------------------------------------------

KIND, LANGUAGE, ADVANCED = "Kind of voice", "Language that is spoken", "Advanced settings of the voice"
UPLOADED, RECORDED = "A voice uploaded to the server", "A recording on this computer"


@pytest.mark.parametrize(
    ("voice", "fields"),
    [
        (VoiceConfig(), {"Speaker", "Style in words, optional"}),
        (VoiceConfig(task="VoiceDesign"), {"Description of the voice"}),
        (VoiceConfig(task="Base"), {UPLOADED, RECORDED, "Uploaded voice"}),
        (
            VoiceConfig(task="Base", ref_audio="https://h/a.wav"),
            {
                UPLOADED, RECORDED, "Recording: a.wav. Choose another", "What is said in the recording",
                "Timbre only, without a text", "I confirm this",
            },
        ),
        (
            VoiceConfig(task="Base", ref_audio="https://h/a.wav", x_vector_only=True),
            {
                UPLOADED, RECORDED, "Recording: a.wav. Choose another", "Timbre only, without a text",
                "I confirm this",
            },
        ),
    ],
)  # fmt: skip
def test_each_task_shows_only_its_fields(told: Told, voice: VoiceConfig, fields: set[str]) -> None:
    told.panel.set_voices(VOICES, "")
    told.panel.show_voice(voice)
    assert told.shown() == {KIND, LANGUAGE, ADVANCED} | fields


def test_every_task_and_language_of_the_protocol_can_be_chosen(told: Told) -> None:
    assert [told.box(KIND).itemData(at) for at in range(told.box(KIND).count())] == list(TASK_TYPES)
    languages = told.box(LANGUAGE)
    assert [languages.itemData(at) for at in range(languages.count())] == ["", *LANGUAGES[1:]]


def test_the_seed_is_under_advanced_and_empty_means_random(told: Told) -> None:
    told.panel.show_voice(VoiceConfig(seed=7))
    told.find(QAbstractButton, ADVANCED).click()  # type: ignore[attr-defined]
    seed = told.find(QLineEdit, "Seed: the same number gives the same reading")
    assert isinstance(seed, QLineEdit)
    assert seed.isVisible()
    assert seed.text() == "7"
    seed.clear()
    QTest.keyClicks(seed, "4x2")
    told.panel.flush()
    assert told.changes == [{"voice.seed": 42}]
    seed.selectAll()
    QTest.keyClick(seed, Qt.Key.Key_Delete)
    QTest.keyClick(seed, Qt.Key.Key_Return)
    assert told.changes[-1] == {"voice.seed": None}


# -- what is told ---------------------------------------------------------------------------------------


def test_showing_what_is_saved_tells_nothing(told: Told) -> None:
    told.panel.set_voices(VOICES, "")
    for voice in (
        VoiceConfig("vivian", "German", "CustomVoice", "gently", 3),
        VoiceConfig(task="VoiceDesign", instructions="old"),
        VoiceConfig("anna", task="Base"),
        VoiceConfig(language="Auto"),
    ):
        told.panel.show_voice(voice)
        told.panel.flush()
    assert told.changes == []


def test_a_choice_is_told_at_once(told: Told) -> None:
    told.panel.set_voices(VOICES, "")
    told.choose("Speaker", "uncle_fu")
    told.choose(LANGUAGE, "Japanese")
    assert told.changes == [{"voice.name": "uncle_fu"}, {"voice.language": "Japanese"}]


def test_what_is_typed_is_told_after_a_pause_or_before_something_is_spoken(told: Told, qtbot: QtBot) -> None:
    edit = told.find(QPlainTextEdit, "Style in words, optional")
    QTest.keyClicks(edit, "gently")
    assert told.changes == []
    told.panel.flush()
    assert told.changes == [{"voice.instructions": "gently"}]
    with qtbot.waitSignal(told.panel.changed, timeout=5_000):
        QTest.keyClicks(edit, " now")
    assert told.changes[-1] == {"voice.instructions": "gently now"}


def test_the_count_goes_to_500_and_beyond_that_nothing_is_told(told: Told) -> None:
    edit = told.find(QPlainTextEdit, "Style in words, optional")
    assert isinstance(edit, QPlainTextEdit)
    edit.setPlainText("x" * 501)
    told.panel.flush()
    assert "501 of 500" in texts(told.panel)
    assert "500 characters" in told.panel.fault
    assert "500 characters" in edit.accessibleDescription()
    assert told.changes == []
    edit.setPlainText("x" * 500)
    told.panel.flush()
    assert told.panel.fault == ""
    assert told.changes == [{"voice.instructions": "x" * 500}]


def test_a_described_voice_is_told_once_it_is_described(told: Told) -> None:
    told.choose(KIND, "VoiceDesign")
    assert told.changes == []
    assert told.faults == ["Describe the voice that shall be made."]
    QTest.keyClicks(told.find(QPlainTextEdit, "Description of the voice"), "a sailor")
    told.panel.flush()
    assert told.changes == [{"voice.task": "VoiceDesign", "voice.instructions": "a sailor"}]
    assert told.faults[-1] == ""


def test_typing_keeps_the_cursor_while_the_setting_comes_back(told: Told) -> None:
    told.panel.changed.connect(
        lambda c: told.panel.show_voice(VoiceConfig(instructions=c["voice.instructions"]))
    )
    edit = told.find(QPlainTextEdit, "Style in words, optional")
    assert isinstance(edit, QPlainTextEdit)
    edit.setPlainText("one three")
    cursor = edit.textCursor()
    cursor.setPosition(4)
    edit.setTextCursor(cursor)
    QTest.keyClicks(edit, "two ")
    told.panel.flush()
    assert edit.textCursor().position() == 8
    assert told.changes[-1] == {"voice.instructions": "one two three"}


def test_a_recording_is_told_only_with_its_text_and_the_speakers_consent(told: Told, tmp_path: Path) -> None:
    told.panel.set_voices(VOICES, "")
    told.choose(KIND, "Base")
    told.find(QAbstractButton, RECORDED).click()  # type: ignore[attr-defined]
    assert told.panel.fault == "Choose a recording of 1 to 30 seconds."
    told.panel._form.recording.picked.emit(str(wav_file(tmp_path / "short.wav", 0.2)))
    assert "too short" in told.panel.fault
    path = str(wav_file(tmp_path / "good.wav", 2.0))
    told.panel._form.recording.picked.emit(path)
    QTest.keyClicks(told.find(QPlainTextEdit, "What is said in the recording"), "hello")
    told.panel.flush()
    assert "consent" in told.panel.fault
    assert told.changes == []
    told.find(QAbstractButton, "I confirm this").click()  # type: ignore[attr-defined]
    assert told.changes == [{"voice.task": "Base", "voice.ref_audio": path, "voice.ref_text": "hello"}]


# -- the server's voices --------------------------------------------------------------------------------


def rows(box: QComboBox) -> list[tuple[str, object]]:
    return [(box.itemText(at), box.itemData(at)) for at in range(box.count())]


def test_the_voices_stand_in_groups(told: Told) -> None:
    told.panel.set_voices(VOICES, "")
    box = told.box("Speaker")
    assert rows(box) == [
        ("The server's default", ""),
        ("Speakers", None), ("Serena", "serena"), ("Uncle Fu", "uncle_fu"), ("Vivian", "vivian"),
        ("Uploaded", None), ("Anna", "anna"),
    ]  # fmt: skip
    model = box.model()
    assert not model.flags(model.index(1, 0)) & Qt.ItemFlag.ItemIsEnabled
    told.choose("Speaker", "anna")
    assert told.changes == [{"voice.task": "Base", "voice.name": "anna"}]
    assert rows(told.box("Uploaded voice")) == [("Anna", "anna")]


@pytest.mark.parametrize("name", ["vivian", " Vivian "])
def test_a_saved_name_is_found_however_it_is_written(told: Told, name: str) -> None:
    told.panel.set_voices(VOICES, "")
    told.panel.show_voice(VoiceConfig(name))
    assert told.box("Speaker").currentText() == "Vivian"


def test_a_saved_voice_that_the_server_lacks_falls_back_in_plain_sight(told: Told) -> None:
    told.panel.show_voice(VoiceConfig("gone"))
    told.panel.set_voices(VOICES, "")
    assert told.box("Speaker").currentText() == "The server's default"
    assert "This server has no voice “gone”" in texts(told.panel)
    assert told.changes == []
    told.panel.set_voices(VoiceList(("gone",)), "")
    assert "no voice" not in texts(told.panel)
    assert told.box("Speaker").currentText() == "Gone"


def test_a_clone_that_the_server_lacks_is_a_fault(told: Told) -> None:
    told.panel.show_voice(VoiceConfig("gone", task="Base"))
    told.panel.set_voices(VOICES, "")
    assert "does not have this voice" in told.panel.fault


def test_without_a_list_a_name_can_be_written(told: Told) -> None:
    told.panel.set_voices(None, "the server has no such list")
    assert "the server has no such list" in texts(told.panel)
    line = told.box("Speaker").lineEdit()
    assert line is not None
    QTest.keyClicks(line, "Eric")
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert told.changes == [{"voice.name": "Eric"}]


def test_the_demo_says_that_it_has_one_voice(told: Told) -> None:
    told.panel.set_demo(True)
    assert "The demo has one voice" in texts(told.panel)
    assert told.shown() == set()
    assert told.panel.fault == ""
    told.panel.set_demo(False)
    assert KIND in told.shown()


def test_the_list_comes_from_the_emulator_and_again_when_it_is_asked_for(
    qtbot: QtBot, run_in_qt: Run
) -> None:
    async def scenario() -> None:
        told = Told(qtbot)
        async with Emulator(SyntheticTalker()) as emulator:
            told.panel.use(services_of(server_address(emulator.url)))
            assert "Asking the server" in texts(told.panel)
            assert not told.box("Speaker").isEnabled()
            await eventually(lambda: told.panel.voices is not None)
            assert told.box("Speaker").findData("vivian") > 0
            assert "Asking" not in texts(told.panel)
            assert told.box("Speaker").isEnabled()
            shown = []
            told.panel.voices_changed.connect(lambda: shown.append(told.panel.voices))
            told.find(QAbstractButton, "Ask the server for its voices again").click()  # type: ignore[attr-defined]
            assert told.box("Speaker").findData("vivian") > 0  # meanwhile
            await eventually(lambda: len(shown) == 1)
        told.panel.reload()
        await eventually(lambda: told.panel.voices is None)
        assert "cannot reach" in texts(told.panel)
        await told.tasks.aclose()

    run_in_qt(scenario())


def test_the_answer_of_a_server_that_was_left_is_not_shown(qtbot: QtBot, run_in_qt: Run) -> None:
    async def scenario() -> None:
        told = Told(qtbot)
        gate = asyncio.Event()

        async def slow() -> VoiceList:
            await gate.wait()
            return VoiceList(("old",))

        async def quick() -> VoiceList:
            return VoiceList(("new",))

        async def nothing(*_: object) -> None:
            raise AssertionError("nobody uploads or deletes here")

        told.panel.use(VoiceServices(slow, nothing, nothing))
        told.panel.use(VoiceServices(quick, nothing, nothing))
        await eventually(lambda: told.panel.voices is not None)
        gate.set()
        await told.tasks.aclose()
        assert told.panel.voices == VoiceList(("new",))

    run_in_qt(scenario())


def test_the_list_comes_over_tls_in_the_loop_of_the_window(
    qtbot: QtBot, run_in_qt: Run, tmp_path: Path
) -> None:
    made = certificate(tmp_path)
    if made is None:
        pytest.skip("there is no openssl command to make a certificate with")
    pem, context = made

    async def scenario() -> None:
        told = Told(qtbot)
        async with voice_host(context, api_key="sesame") as host:
            told.panel.use(services_of(host.address(ca_file=str(pem), api_key="sesame")))
            await eventually(lambda: told.panel.voices is not None)
            told.panel.use(services_of(host.address(api_key="sesame")))
            await eventually(lambda: "certificate is not trusted" in texts(told.panel))
        await told.tasks.aclose()

    run_in_qt(scenario())


def test_a_server_without_a_list_is_told_in_words(qtbot: QtBot, run_in_qt: Run) -> None:
    async def scenario() -> None:
        told = Told(qtbot)
        async with voice_host(answer=(404, b"")) as host:
            told.panel.use(services_of(host.address()))
            await eventually(lambda: "HTTP 404" in texts(told.panel))
        await told.tasks.aclose()

    run_in_qt(scenario())


# -- everybody ------------------------------------------------------------------------------------------


def test_everything_that_takes_the_focus_has_a_name(told: Told) -> None:
    told.panel.set_voices(VOICES, "")
    told.find(QAbstractButton, ADVANCED).click()  # type: ignore[attr-defined]
    for voice in (
        VoiceConfig(),
        VoiceConfig(task="VoiceDesign"),
        VoiceConfig(task="Base", ref_audio="https://h/a.wav"),
    ):
        told.panel.show_voice(voice)
        nameless = [
            widget
            for widget in told.panel.findChildren(QWidget)
            if widget.isVisible()
            and widget.focusPolicy() != Qt.FocusPolicy.NoFocus
            and not in_box(widget)
            and not (widget.accessibleName() or text_of(widget))
        ]
        assert nameless == []


def test_the_wheel_belongs_to_the_page_until_a_box_has_the_focus(told: Told) -> None:
    box = told.box(LANGUAGE)
    wheel = QWheelEvent(
        QPointF(5, 5), QPointF(5, 5), QPoint(0, -120), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    told.panel.setFocus()
    QApplication.sendEvent(box, wheel)
    assert box.currentIndex() == 0
    assert not wheel.isAccepted()


class Reversed(QTranslator):
    """Another language: every text in brackets."""

    def translate(self, context: str, source: str, disambiguation: str = "", n: int = -1) -> str:
        return f"[{source}]"

    def isEmpty(self) -> bool:
        return False


def test_the_language_changes_while_it_is_shown(told: Told, qapp: QApplication) -> None:
    told.panel.set_voices(VOICES, "")
    told.panel.show_voice(VoiceConfig("vivian", "German", "CustomVoice", "gently"))
    other = Reversed()
    qapp.installTranslator(other)
    QCoreApplication.sendPostedEvents(None, QEvent.Type.LanguageChange)
    try:
        assert told.box("[Kind of voice]").currentText() == "[A speaker]"
        assert told.box("[Language that is spoken]").currentText() == "[German]"
        assert told.box("[Speaker]").itemText(0) == "[The server's default]"
        assert told.box("[Speaker]").currentText() == "Vivian"
        unbracketed = [
            line
            for line in texts(told.panel).splitlines()
            if not (line.startswith("[") and line.endswith("]"))
        ]
        assert unbracketed == ["[6 of 500]"] or unbracketed == []
        assert told.changes == []
    finally:
        qapp.removeTranslator(other)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LanguageChange)
    assert told.box(KIND).currentText() == "A speaker"
