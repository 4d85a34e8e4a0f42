from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.language import LANGUAGES, Language, choose_language
from app.gui.main_window import MainWindow
from app.gui.tasks import Tasks
from app.gui.window_state import WindowState


@pytest.mark.parametrize(
    ("desktop", "shown"),
    [
        (["zh-Hans-CN", "zh-CN", "en"], "zh_CN"),
        (["zh_SG"], "zh_CN"),
        (["zh-Hant-TW", "zh-TW"], "en"),
        (["zh_HK", "zh_CN"], "zh_CN"),
        (["de-DE", "zh-CN"], "zh_CN"),
        (["de-DE"], "en"),
        (["en-GB", "zh-CN"], "en"),
        ([], "en"),
    ],
)
def test_the_desktops_first_language_that_there_is(desktop: list[str], shown: str) -> None:
    assert choose_language("", desktop) == shown


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_chosen_language_wins(code: str) -> None:
    assert choose_language(code, ["de", "zh_CN", "en"]) == code


_TS = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN">
<context><name>Actions</name>
<message><source>&amp;Speak</source><translation>朗读(&amp;S)</translation></message>
</context></TS>
"""


def test_the_language_changes_while_the_window_is_open(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    (tmp_path / "nearfield_zh_CN.ts").write_text(_TS, "utf-8")
    release = Path(sys.executable).with_name("pyside6-lrelease")
    subprocess.run([release, "-silent", tmp_path / "nearfield_zh_CN.ts"], check=True, timeout=60)
    window = MainWindow(WindowState(tmp_path / "window.ini"), Tasks())
    qtbot.addWidget(window)
    language = Language(qapp, tmp_path)

    def speak() -> str:
        QApplication.sendPostedEvents()
        return window.transport.speak.text()

    def cancel() -> str:
        return QCoreApplication.translate("QPlatformTheme", "Cancel")

    assert (speak(), cancel()) == ("Speak", "Cancel")
    language.show("zh_CN")
    assert (language.code, cancel()) == ("zh_CN", "取消")
    assert speak().startswith("朗读")
    language.show("en")
    assert (speak(), cancel()) == ("Speak", "Cancel")


def test_a_translation_that_is_missing_leaves_english(
    qapp: QApplication, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    language = Language(qapp, tmp_path)
    language.show("zh_CN")
    assert "no translation nearfield_zh_CN" in caplog.text
    assert QCoreApplication.translate("Actions", "&Speak") == "&Speak"
    language.show("en")
