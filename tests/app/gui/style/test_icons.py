from __future__ import annotations

import gc
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QIcon, QImage, QPixmap
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

import assets
from app.gui.style.icons import app_icon, icon, pixmap
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT

NAMES = sorted(path.stem for path in assets.folder("icons").glob("*.svg") if path.stem != "nearfield")
PROMISED = [
    "play", "pause", "stop", "save", "open", "folder", "copy", "clipboard", "history", "settings",
    "volume", "volume-mute", "device", "server", "search", "delete", "clear", "info",
    "warning", "error", "check", "close", "chevron-down", "chevron-right", "plus", "edit",
    "microphone", "quit", "window", "refresh", "download", "cancel", "user", "sliders",
]  # fmt: skip


def inks(image: QPixmap | QImage) -> set[str]:
    """Return the colours of what is fully opaque."""
    made = image.toImage() if isinstance(image, QPixmap) else image
    pixels = (made.pixelColor(x, y) for x in range(made.width()) for y in range(made.height()))
    return {colour.name() for colour in pixels if colour.alpha() == 255}


def test_all_that_the_window_needs_are_there() -> None:
    assert set(PROMISED) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_they_are_of_one_family(name: str) -> None:
    root = ElementTree.parse(assets.folder("icons", f"{name}.svg")).getroot()
    assert root.get("viewBox") == "0 0 24 24"
    assert root.get("stroke") == "currentColor"
    assert root.get("fill") == "none"
    assert (root.get("stroke-linecap"), root.get("stroke-linejoin")) == ("round", "round")
    assert root.get("stroke-width") == "1.75"
    assert not [e for e in root.iter() if {"fill", "stroke"} & set(e.keys()) and e is not root]


@pytest.mark.parametrize("name", NAMES)
def test_each_is_drawn_in_the_colour_of_text(look: Theme, name: str) -> None:
    image = icon(name).pixmap(48, 48)
    assert inks(image) == {LIGHT.text}


def test_they_follow_the_theme_without_being_set_again(qapp: QApplication, look: Theme, qtbot: QtBot) -> None:
    button = QPushButton()
    qtbot.addWidget(button)
    button.setIcon(icon("stop"))
    button.setIconSize(QSize(48, 48))
    button.show()
    assert LIGHT.text in inks(button.grab().toImage())
    look.apply(qapp, "dark")
    after = inks(button.grab().toImage())
    assert DARK.text in after
    assert LIGHT.text not in after


def test_what_cannot_be_used_is_faint_and_ink_can_be_chosen(qapp: QApplication, look: Theme) -> None:
    assert inks(icon("stop").pixmap(QSize(48, 48), QIcon.Mode.Disabled)) == {LIGHT.text_disabled}
    assert inks(icon("play", "accent_text").pixmap(48, 48)) == {LIGHT.accent_text}
    look.apply(qapp, "dark")
    assert inks(icon("error", "danger").pixmap(48, 48)) == {DARK.danger}


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
def test_they_are_sharp_on_every_screen(look: Theme, ratio: float) -> None:
    image = icon("play").pixmap(QSize(20, 20), ratio)
    assert image.devicePixelRatio() == ratio
    assert image.size() == QSize(round(20 * ratio), round(20 * ratio))
    drawn = pixmap("error", "danger", 20, ratio)
    assert (drawn.devicePixelRatio(), drawn.width()) == (ratio, round(20 * ratio))


def test_an_icon_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        icon("no-such-thing")


def test_icons_outlive_the_collector(look: Theme, qtbot: QtBot) -> None:
    button = QPushButton()
    qtbot.addWidget(button)
    button.setIcon(icon("play"))
    for _ in range(50):
        copy = QIcon(icon("play"))
        copy.addPixmap(QPixmap(4, 4))
        del copy
        gc.collect()
    assert inks(button.icon().pixmap(48, 48)) == {LIGHT.text}


def test_the_application_has_an_icon_of_every_size(look: Theme) -> None:
    sizes = {size.width() for size in app_icon().availableSizes()}
    assert {16, 32, 48, 256} <= sizes
    assert QColor(app_icon().pixmap(64, 64).toImage().pixelColor(32, 8)).alpha() == 255
