from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.desktop.link_view import LinkKind, LinkView
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT
from app.gui.widgets.connection_chip import ConnectionChip
from tests.app.gui.widgets.conftest import Clock


@pytest.fixture
def chip(qtbot: QtBot, clock: Clock) -> ConnectionChip:
    chip = ConnectionChip(clock=clock)
    qtbot.addWidget(chip)
    return chip


def offered(chip: ConnectionChip) -> dict[str, QAction]:
    return {action.text(): action for action in chip.menu().actions() if action.isVisible() and action.text()}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (LinkKind.ASLEEP, "Lab: connects when you speak"),
        (LinkKind.CONNECTING, "Lab: connecting…"),
        (LinkKind.CONNECTED, "Lab: connected"),
        (LinkKind.PREPARING, "Lab: preparing the decoder…"),
        (LinkKind.CODEC, "Lab: ready (codec tokens)"),
        (LinkKind.PCM, "Lab: ready (PCM)"),
        (LinkKind.NO_DECODER, "Lab: no decoder"),
        (LinkKind.OFFLINE, "Lab: offline"),
        (LinkKind.REFUSED, "Lab: refused"),
    ],
)
def test_every_state_has_words_and_a_reason(chip: ConnectionChip, kind: LinkKind, text: str) -> None:
    chip.show_link(LinkView(kind, "Lab", "because of that"))
    assert chip.text() == text
    assert chip.accessibleName() == f"Server {text}"
    sentence, *reasons = chip.accessibleDescription().split("\n\n")
    assert sentence.endswith(".")
    # Where all is as it should be, no reason is given.
    assert reasons == ([] if kind is LinkKind.CODEC else ["because of that"])
    assert chip.toolTip() == chip.accessibleDescription()


def test_there_are_words_for_every_kind(chip: ConnectionChip) -> None:
    seen = set()
    for kind in LinkKind:
        chip.show_link(LinkView(kind, ""))
        seen.add(chip.text())
    assert len(seen) == len(LinkKind)


def test_offline_counts_down_to_the_next_try(chip: ConnectionChip, clock: Clock, qtbot: QtBot) -> None:
    chip.show_link(LinkView(LinkKind.OFFLINE, "Lab", "nothing listens", clock.now_s + 4))
    assert chip.text() == "Lab: offline, next try in 4 s"
    clock.now_s += 2.5
    qtbot.waitUntil(lambda: chip.text() == "Lab: offline, next try in 2 s", timeout=2000)
    chip.show_link(LinkView(LinkKind.CONNECTING, "Lab"))
    assert chip.text() == "Lab: connecting…"
    assert not chip._tick.isActive()


def test_one_can_try_now_where_that_makes_a_difference(chip: ConnectionChip, qtbot: QtBot) -> None:
    chip.show_link(LinkView(LinkKind.CODEC, "Lab"))
    assert "Try now" not in offered(chip)
    chip.show_link(LinkView(LinkKind.OFFLINE, "Lab", "", 104.0))
    with qtbot.waitSignal(chip.try_now, timeout=1000):
        offered(chip)["Try now"].trigger()


def test_the_settings_are_in_its_menu(chip: ConnectionChip, qtbot: QtBot) -> None:
    with qtbot.waitSignal(chip.open_settings, timeout=1000):
        offered(chip)["Server settings…"].trigger()


def test_servers_can_be_chosen_and_the_one_in_use_is_ticked(chip: ConnectionChip, qtbot: QtBot) -> None:
    chip.show_profiles(["Demo", "Lab", "Studio & Co"], "Lab")
    assert [text for text, action in offered(chip).items() if action.isChecked()] == ["Lab"]
    with qtbot.waitSignal(chip.profile_chosen, timeout=1000) as chosen:
        offered(chip)["Studio && Co"].trigger()
    assert chosen.args == ["Studio & Co"]
    chip.show_profiles(["Demo"], "Demo")
    assert "Lab" not in offered(chip)
    assert list(offered(chip)) == ["Try now", "Demo", "Server settings…"]


def test_the_keyboard_opens_its_menu(chip: ConnectionChip, qtbot: QtBot) -> None:
    chip.show()
    qtbot.waitExposed(chip)
    chip.setFocus()
    assert chip.focusPolicy() is Qt.FocusPolicy.StrongFocus
    opened: list[bool] = []

    def close() -> None:
        opened.append(True)
        chip.menu().close()

    chip.menu().aboutToShow.connect(close, Qt.ConnectionType.QueuedConnection)
    qtbot.keyClick(chip, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: bool(opened), timeout=2000)


def test_an_ampersand_in_a_name_is_no_shortcut_and_a_long_name_is_short(chip: ConnectionChip) -> None:
    chip.show_link(LinkView(LinkKind.CODEC, "R&D"))
    assert chip.text() == "R&&D: ready (codec tokens)"
    assert chip.accessibleName() == "Server R&D: ready (codec tokens)"
    chip.show_link(LinkView(LinkKind.CODEC, "a" * 80))
    assert chip.text() == f"{'a' * 23}…: ready (codec tokens)"


def test_its_dot_follows_state_and_theme(qapp: QApplication, look: Theme, chip: ConnectionChip) -> None:
    def dot() -> str:
        image = chip.icon().pixmap(chip.iconSize()).toImage()
        side = image.height()
        return image.pixelColor(side // 2, side // 2).name()

    chip.show_link(LinkView(LinkKind.CODEC, "Lab"))
    assert dot() == LIGHT.good
    chip.show_link(LinkView(LinkKind.OFFLINE, "Lab"))
    assert dot() == LIGHT.danger
    look.apply(qapp, "dark")
    assert dot() == DARK.danger
    # A ring where there is no link: the middle is empty.
    chip.show_link(LinkView(LinkKind.ASLEEP, "Lab"))
    side = chip.icon().pixmap(chip.iconSize()).toImage()
    assert side.pixelColor(side.height() // 2, side.height() // 2).alpha() == 0


def test_its_texts_change_with_the_language(chip: ConnectionChip) -> None:
    for action in chip.menu().actions():
        action.setText("")
    QApplication.sendEvent(chip, QEvent(QEvent.Type.LanguageChange))
    assert "Server settings…" in offered(chip)
