"""Who is told what happens."""

from __future__ import annotations

import pytest

from app.engine.events import EngineEvent, Notice, Severity
from app.engine.listeners import Listeners

HELLO = Notice(Severity.INFO, "hello")


def test_everybody_is_told_in_order() -> None:
    listeners, told = Listeners(), list[tuple[int, EngineEvent]]()
    listeners.add(lambda event: told.append((1, event)))
    listeners.add(lambda event: told.append((2, event)))
    listeners.tell(HELLO)
    assert told == [(1, HELLO), (2, HELLO)]


def test_one_that_raises_is_logged_and_the_others_are_told(caplog: pytest.LogCaptureFixture) -> None:
    def bad(event: EngineEvent) -> None:
        raise ValueError("gone")

    listeners, told = Listeners(), list[EngineEvent]()
    listeners.add(bad)
    listeners.add(told.append)
    listeners.tell(HELLO)
    assert told == [HELLO]
    assert "gone" in caplog.text


def test_one_that_is_added_meanwhile_is_told_from_the_next_event_on() -> None:
    listeners, told = Listeners(), list[EngineEvent]()
    listeners.add(lambda event: listeners.add(told.append))
    listeners.tell(HELLO)
    assert told == []
