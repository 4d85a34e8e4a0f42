"""Cloning through the dialog, with the real client and a real server."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.config import VoiceConfig
from app.desktop.voices import services_of
from app.gui.tasks import Tasks
from app.gui.voice.clone_dialog import CloneDialog
from app.gui.voice.panel import VoicePanel
from tests.helpers.qt_loop import Run, run_in_qt
from tests.helpers.recordings import wav_bytes, wav_file
from tests.helpers.voice_server import VoiceHost, form, voice_host
from tests.helpers.waiting import eventually

__all__ = ["run_in_qt"]


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


class Opened:
    """A panel and its dialog, at a server."""

    def __init__(self, qtbot: QtBot, host: VoiceHost) -> None:
        self.tasks = Tasks()
        self.panel = VoicePanel(self.tasks)
        qtbot.addWidget(self.panel)
        self.panel.show()
        self.changes: list[dict[str, object]] = []
        self.panel.changed.connect(self.changes.append)
        self.panel.use(services_of(host.address()))

    async def open(self) -> CloneDialog:
        await eventually(lambda: self.panel.voices is not None)
        self.panel.clone()
        [dialog] = self.panel.findChildren(CloneDialog)
        return dialog


def fill(dialog: CloneDialog, path: Path, name: str = "Maria", text: str = "hello") -> None:
    dialog.picker.picked.emit(str(path))
    dialog.name.setText(name)
    dialog.text.setPlainText(text)
    dialog.consent.box.click()


def texts(widget: QWidget) -> str:
    return "\n".join(label.text() for label in widget.findChildren(QLabel) if label.isVisible())


Scenario = Callable[[CloneDialog, VoiceHost, Opened], Any]


@pytest.fixture
def play(qtbot: QtBot, run_in_qt: Run) -> Callable[..., None]:
    """Play a scenario with an open dialog."""

    def run(scenario: Scenario, **settings: Any) -> None:
        async def whole() -> None:
            async with voice_host(**settings) as host:
                opened = Opened(qtbot, host)
                try:
                    await scenario(await opened.open(), host, opened)
                finally:
                    await opened.tasks.aclose()

        run_in_qt(whole())

    return run


def test_a_voice_is_cloned_and_can_be_used(play: Callable[..., None], tmp_path: Path) -> None:
    async def scenario(dialog: CloneDialog, host: VoiceHost, opened: Opened) -> None:
        path = wav_file(tmp_path / "a.wav", 2.0)
        fill(dialog, path)
        assert "2.0 s of sound" in texts(dialog)
        dialog.upload.click()
        await eventually(lambda: "maria" in dialog.uploaded.rows)
        assert "“Maria” is on the server now." in texts(dialog)
        sent = form(next(heard for heard in host.heard if heard.method == "POST"))
        assert sent["audio_sample"] == path.read_bytes()
        assert (sent["name"], sent["ref_text"]) == (b"Maria", b"hello")
        assert sent["consent"].startswith(b"self-stated-20")
        assert dialog.name.text() == ""
        assert not dialog.consent.isChecked()
        dialog.uploaded.rows["maria"].use.click()
        assert opened.changes == [{"voice.name": "maria", "voice.task": "Base"}]

    play(scenario)


def test_nothing_is_uploaded_without_recording_name_and_consent(
    play: Callable[..., None], tmp_path: Path
) -> None:
    async def scenario(dialog: CloneDialog, host: VoiceHost, _: Opened) -> None:
        assert not dialog.upload.isEnabled()
        fill(dialog, wav_file(tmp_path / "a.wav", 2.0))
        assert dialog.upload.isEnabled()
        dialog.name.setText("ANNA")
        assert "already has a voice of that name" in texts(dialog)
        assert not dialog.upload.isEnabled()
        dialog.name.setText("Maria")
        dialog.consent.box.click()
        assert not dialog.upload.isEnabled()
        dialog.consent.box.click()
        dialog.name.setText("a")  # what the file proposed, which the next file changes
        dialog.picker.picked.emit(str(wav_file(tmp_path / "b.wav", 3.0)))
        assert dialog.name.text() == "b"
        assert not dialog.consent.isChecked(), "consent was for the recording before"
        assert [heard.method for heard in host.heard] == ["GET"]

    play(scenario, uploaded=[{"name": "Anna"}])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (wav_bytes(0.5), "too short"),
        (wav_bytes(31.0, rate_hz=8_000), "30 seconds"),
        (b"ID3 and so on", "no WAV file"),
        (None, "cannot be read"),
    ],
)
def test_a_recording_that_cannot_be_used_is_told_in_place(
    play: Callable[..., None], tmp_path: Path, content: bytes | None, words: str
) -> None:
    async def scenario(dialog: CloneDialog, _: VoiceHost, __: Opened) -> None:
        path = tmp_path / "a.wav"
        if content is not None:
            path.write_bytes(content)
        fill(dialog, path)
        assert words in texts(dialog)
        assert words in dialog.picker.accessibleDescription()
        assert not dialog.upload.isEnabled()

    play(scenario)


def test_the_file_proposes_a_name_until_a_person_gives_one(play: Callable[..., None], tmp_path: Path) -> None:
    async def scenario(dialog: CloneDialog, _: VoiceHost, __: Opened) -> None:
        for name in ("first", "second"):
            dialog.picker.picked.emit(str(wav_file(tmp_path / f"{name}.wav", 2.0)))
            assert dialog.name.text() == name
        dialog.name.setText("Mine")
        dialog.picker.picked.emit(str(wav_file(tmp_path / "third.wav", 2.0)))
        assert dialog.name.text() == "Mine"

    play(scenario)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((400, b'{"error": {"message": "Could not decode audio file"}}'), "Could not decode audio file"),
        ((405, b""), "lets no voices be added"),
        ((413, b""), "too large"),
        ((401, b""), "API key"),
        ((500, b""), "HTTP 500"),
        ((200, b'{"error": {"message": "The model does not support Speech API"}}'), "does not support"),
        ((200, b"<html>"), "no JSON object"),
    ],
)
def test_a_no_of_the_server_is_told_and_what_was_filled_in_stays(
    play: Callable[..., None], tmp_path: Path, answer: tuple[int, bytes], words: str
) -> None:
    async def scenario(dialog: CloneDialog, _: VoiceHost, __: Opened) -> None:
        fill(dialog, wav_file(tmp_path / "a.wav", 2.0))
        dialog.upload.click()
        await eventually(lambda: words in texts(dialog))
        assert dialog.name.text() == "Maria"
        assert dialog.upload.isVisible()
        assert dialog.upload.isEnabled()

    play(scenario, answer=answer, only="POST")


def test_an_upload_shows_its_progress_and_can_be_cancelled(play: Callable[..., None], tmp_path: Path) -> None:
    async def scenario(dialog: CloneDialog, host: VoiceHost, _: Opened) -> None:
        fill(dialog, wav_file(tmp_path / "a.wav", 20.0))
        host.holds = asyncio.Event()
        host.asked.clear()
        dialog.upload.click()
        await eventually(lambda: dialog.progress.value() == dialog.progress.maximum())
        assert "looks at the recording" in texts(dialog)
        assert dialog.progress.isVisible()
        assert not dialog.name.isEnabled()
        dialog.cancel.click()
        await eventually(lambda: dialog.upload.isVisible())
        assert "Called off" in texts(dialog)
        assert dialog.name.text() == "Maria"
        host.holds.set()

    play(scenario)


def test_closing_calls_an_upload_off(play: Callable[..., None], tmp_path: Path) -> None:
    async def scenario(dialog: CloneDialog, host: VoiceHost, _: Opened) -> None:
        fill(dialog, wav_file(tmp_path / "a.wav", 2.0))
        host.holds = asyncio.Event()
        host.asked.clear()
        dialog.upload.click()
        await host.asked.wait()
        dialog.close()
        host.holds.set()
        await eventually(lambda: dialog.upload.isVisibleTo(dialog))
        assert not dialog.isVisible()

    play(scenario)


def test_a_window_that_closes_ends_an_upload_and_asks_nothing_more(
    play: Callable[..., None], tmp_path: Path
) -> None:
    async def scenario(dialog: CloneDialog, host: VoiceHost, opened: Opened) -> None:
        fill(dialog, wav_file(tmp_path / "a.wav", 2.0))
        host.holds = asyncio.Event()
        dialog.upload.click()
        await eventually(lambda: [heard.method for heard in host.heard] == ["GET", "POST"])
        changed: list[bool] = []
        dialog.changed.connect(lambda: changed.append(True))
        await opened.tasks.aclose()
        assert dialog.upload.isVisible()
        assert changed == []
        host.holds.set()

    play(scenario)


def test_deleting_asks_first_and_the_list_is_the_servers(play: Callable[..., None]) -> None:
    async def scenario(dialog: CloneDialog, host: VoiceHost, opened: Opened) -> None:
        opened.panel.show_voice(VoiceConfig("anna", task="Base"))
        row = dialog.uploaded.rows["anna"]
        row.delete.click()
        assert "Delete “Anna” from the server for everybody?" in texts(dialog)
        row.keep.click()
        assert "for everybody" not in texts(dialog)
        assert len(host.uploaded) == 2
        row.delete.click()
        row.confirm.click()
        await eventually(lambda: set(dialog.uploaded.rows) == {"bob"})
        assert [voice["name"] for voice in host.uploaded] == ["Bob"]
        assert "does not have this voice" in opened.panel.fault

    play(scenario, uploaded=[{"name": "Anna"}, {"name": "Bob"}])


def test_a_deletion_that_fails_is_told_in_its_row(play: Callable[..., None]) -> None:
    async def scenario(dialog: CloneDialog, _: VoiceHost, __: Opened) -> None:
        row = dialog.uploaded.rows["anna"]
        row.delete.click()
        row.confirm.click()
        assert not row.isEnabled()
        await eventually(lambda: "HTTP 403" in texts(row))
        assert row.isEnabled()

    play(scenario, uploaded=[{"name": "Anna"}], answer=(403, b""), only="DELETE")


def test_an_empty_list_says_what_to_do(play: Callable[..., None]) -> None:
    async def scenario(dialog: CloneDialog, _: VoiceHost, __: Opened) -> None:
        assert "Choose a recording above" in texts(dialog)

    play(scenario)


def test_another_server_has_other_voices(play: Callable[..., None]) -> None:
    async def scenario(dialog: CloneDialog, _: VoiceHost, opened: Opened) -> None:
        opened.panel.use(None)
        assert not dialog.isVisible()
        assert dialog.uploaded.rows == {}
        opened.panel.clone()
        assert not dialog.isVisible()

    play(scenario, uploaded=[{"name": "Anna"}])


def test_a_file_can_be_dropped(play: Callable[..., None], tmp_path: Path) -> None:
    async def scenario(dialog: CloneDialog, _: VoiceHost, __: Opened) -> None:
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(wav_file(tmp_path / "dropped.wav", 2.0)))])
        way = Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        with warnings.catch_warnings():
            # The one that newer versions of Qt would rather have, older ones do not have.
            warnings.simplefilter("ignore", DeprecationWarning)
            entering = QDragEnterEvent(QPoint(5, 5), *way)
        QApplication.sendEvent(dialog.picker, entering)
        assert "Let go" in texts(dialog)
        QApplication.sendEvent(dialog.picker, QDropEvent(QPointF(5, 5), *way))
        assert "Let go" not in texts(dialog)
        assert dialog.name.text() == "dropped"

    play(scenario)


def test_choosing_a_file_does_not_wait_in_a_loop_of_its_own(play: Callable[..., None]) -> None:
    async def scenario(dialog: CloneDialog, _: VoiceHost, __: Opened) -> None:
        dialog.picker.button.click()
        [chooser] = dialog.picker.findChildren(QFileDialog)
        assert chooser.isVisible()
        chooser.reject()

    play(scenario)


def test_everything_that_takes_the_focus_has_a_name(play: Callable[..., None]) -> None:
    async def scenario(dialog: CloneDialog, _: VoiceHost, __: Opened) -> None:
        dialog.uploaded.rows["anna"].delete.click()
        nameless = [
            widget
            for widget in dialog.findChildren(QWidget)
            if widget.isVisible()
            and widget.focusPolicy() != Qt.FocusPolicy.NoFocus
            and not widget.accessibleName()
            and not getattr(widget, "text", str)()
        ]
        assert nameless == []
        assert not dialog.isModal()

    play(scenario, uploaded=[{"name": "Anna"}])


def test_the_language_changes_while_it_is_open(play: Callable[..., None], qapp: QApplication) -> None:
    from tests.app.gui.voice.test_panel import Reversed

    async def scenario(dialog: CloneDialog, _: VoiceHost, __: Opened) -> None:
        other = Reversed()
        qapp.installTranslator(other)
        QCoreApplication.sendPostedEvents()
        try:
            plain = [
                line for line in texts(dialog).splitlines() if not line.startswith("[") and line != "Anna"
            ]
            assert plain == []
            assert dialog.windowTitle() == "[Cloned voices]"
            assert dialog.uploaded.rows["anna"].use.accessibleName() == "[Speak with Anna]"
        finally:
            qapp.removeTranslator(other)
            QCoreApplication.sendPostedEvents()

    play(scenario, uploaded=[{"name": "Anna"}])
