from __future__ import annotations

from pytestqt.qtbot import QtBot

from app.gui.widgets.throttle import Throttle


def test_the_first_wish_is_granted_at_once_and_the_rest_together(qtbot: QtBot) -> None:
    throttle = Throttle(0.05)
    granted: list[int] = []
    throttle.due.connect(lambda: granted.append(1))
    throttle.want()
    assert len(granted) == 1
    for _ in range(1000):
        throttle.want()
    assert len(granted) == 1
    with qtbot.waitSignal(throttle.due, timeout=2000):
        pass
    assert len(granted) == 2


def test_without_another_wish_nothing_is_granted(qtbot: QtBot) -> None:
    throttle = Throttle(0.02)
    throttle.want()
    with qtbot.assertNotEmitted(throttle.due, wait=100):
        pass
