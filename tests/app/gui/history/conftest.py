from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from app.desktop.history import History
from app.gui.style.theme import theme
from decoder.wire.events import Outcome

NOON = datetime.datetime(2026, 3, 4, 12, 0, tzinfo=datetime.timezone.utc)


class Days:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime.datetime:
        return self.now


@pytest.fixture
def days() -> Days:
    return Days()


@pytest.fixture
def history(tmp_path: Path, days: Days) -> History:
    return History(tmp_path / "history", 10**9, clock=days)


@pytest.fixture(autouse=True)
def _plain_look(qapp: QApplication) -> None:
    theme().apply(qapp, "light")


def make(
    history: History,
    days: Days,
    text: str,
    voice: str = "vivian",
    duration_s: float = 0.1,
    outcome: Outcome = Outcome.COMPLETE,
) -> str:
    """Record something, and let a minute go by."""
    recording = history.begin(text, voice)
    recording.write(np.zeros(round(duration_s * 24_000), np.float32))
    recording.finish(0.182, outcome)
    recording.close()
    days.now += datetime.timedelta(minutes=1)
    return recording.id
