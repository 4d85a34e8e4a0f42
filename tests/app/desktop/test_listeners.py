"""Who is told of a change."""

from __future__ import annotations

import pytest

from app.desktop.listeners import Listeners


def test_everybody_is_told_in_order_until_they_end_it() -> None:
    listeners: Listeners[[int]] = Listeners("numbers")
    told: list[tuple[str, int]] = []
    end = listeners.add(lambda number: told.append(("first", number)))
    listeners.add(lambda number: told.append(("second", number)))
    listeners.tell(1)
    end()
    end()
    listeners.tell(2)
    assert told == [("first", 1), ("second", 1), ("second", 2)]


def test_one_that_raises_is_logged_without_what_it_was_told(caplog: pytest.LogCaptureFixture) -> None:
    listeners: Listeners[[str]] = Listeners("keys")
    told: list[str] = []

    def bad(key: str) -> None:
        raise ValueError("gone")

    listeners.add(bad)
    listeners.add(told.append)
    listeners.tell("hush")
    assert told == ["hush"]
    assert "keys" in caplog.text
    assert "gone" in caplog.text
    assert "hush" not in caplog.text
