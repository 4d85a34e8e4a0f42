from __future__ import annotations

import gc

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.gui.style import tokens
from app.gui.style.roles import set_role, tabular
from app.gui.style.theme import Theme, theme
from app.gui.style.tokens import DARK, LIGHT


def test_there_is_one_theme() -> None:
    assert theme() is theme()


@pytest.mark.parametrize(("choice", "colours"), [("light", LIGHT), ("dark", DARK)])
def test_a_choice_reaches_everything_that_is_painted(
    qapp: QApplication, look: Theme, choice: str, colours: tokens.Colours
) -> None:
    look.apply(qapp, choice)
    assert look.colours is colours
    assert qapp.palette().color(QPalette.ColorRole.Window).name() == colours.window
    assert qapp.palette().color(QPalette.ColorRole.Text).name() == colours.text
    assert colours.accent in qapp.styleSheet()


def test_system_is_what_the_desktop_has(
    qapp: QApplication, look: Theme, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    look.apply(qapp, "system")
    desktop = qapp.styleHints().colorScheme()
    assert look.colours is (DARK if desktop is Qt.ColorScheme.Dark else LIGHT)
    scheme = Qt.ColorScheme.Dark
    monkeypatch.setattr(type(qapp.styleHints()), "colorScheme", lambda _hints: scheme)
    with qtbot.waitSignal(look.changed, timeout=1000):
        qapp.styleHints().colorSchemeChanged.emit(scheme)
    assert look.colours is DARK
    scheme = Qt.ColorScheme.Light
    qapp.styleHints().colorSchemeChanged.emit(scheme)
    assert look.colours is LIGHT


def test_a_choice_does_not_follow_the_desktop(qapp: QApplication, look: Theme, qtbot: QtBot) -> None:
    look.apply(qapp, "dark")
    with qtbot.assertNotEmitted(look.changed):
        qapp.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Light)
    assert look.colours is DARK


def test_text_grows_from_the_desktops_size_however_often_it_is_set(qapp: QApplication, look: Theme) -> None:
    look.apply(qapp, "light", text_scale=1.0)
    plain = qapp.font().pointSizeF()
    for scale in (2.0, 2.0, 1.5):
        look.apply(qapp, "light", text_scale=scale)
        assert qapp.font().pointSizeF() == pytest.approx(plain * scale)
    assert look.points(tokens.TITLE) == pytest.approx(plain * 1.5 * tokens.TITLE)
    assert look.scaled(10) == 15
    look.apply(qapp, "light")
    assert qapp.font().pointSizeF() == pytest.approx(plain)


def test_roles_have_their_place_on_the_type_scale(qapp: QApplication, look: Theme, qtbot: QtBot) -> None:
    label = QLabel("171")
    qtbot.addWidget(label)
    sizes = {}
    for role in ("caption", "title", "display"):
        set_role(label, role)  # type: ignore[arg-type]
        label.ensurePolished()
        sizes[role] = label.font().pointSizeF()
    base = qapp.font().pointSizeF()
    assert sizes == pytest.approx(
        {"caption": base * tokens.CAPTION, "title": base * tokens.TITLE, "display": base * tokens.DISPLAY},
        rel=0.01,
    )


def test_figures_are_all_as_wide_as_each_other(look: Theme, qtbot: QtBot) -> None:
    label = QLabel("171")
    qtbot.addWidget(label)
    set_role(label, "display")
    label.show()
    assert label.font().featureTags() == tabular(label.font()).featureTags() != []
    metrics = label.fontMetrics()
    assert len({metrics.horizontalAdvance(figure) for figure in "0123456789"}) == 1


def test_less_motion_is_told(qapp: QApplication, look: Theme) -> None:
    look.apply(qapp, "light", reduced_motion=True)
    assert look.reduced_motion


def test_who_follows_the_theme_may_go(qapp: QApplication, look: Theme) -> None:
    label = QLabel()
    look.changed.connect(label.update)
    label.deleteLater()
    del label
    gc.collect()
    qapp.processEvents()
    look.apply(qapp, "dark")
    assert look.colours is DARK
