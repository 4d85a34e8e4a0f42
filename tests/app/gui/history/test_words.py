from __future__ import annotations

import dataclasses
import datetime

import pytest
from PySide6.QtCore import QDate, QLocale, QTime

from app.desktop.history import History
from app.gui.history.words import age, facts
from decoder.wire.events import Outcome
from tests.app.gui.history.conftest import NOON, Days, make


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome.COMPLETE, "0:02 · vivian · TTFA 182 ms"),
        (Outcome.CANCELLED, "0:02 · stopped · vivian · TTFA 182 ms"),
        (Outcome.FAILED, "0:02 · failed · vivian · TTFA 182 ms"),
        (Outcome.CUT_OFF, "0:02 · incomplete · vivian · TTFA 182 ms"),
        (None, "0:02 · interrupted · vivian · TTFA 182 ms"),
    ],
)
def test_facts_are_in_one_line(history: History, days: Days, outcome: Outcome | None, said: str) -> None:
    make(history, days, "Words.", duration_s=2)
    (entry,) = history.entries()
    assert facts(dataclasses.replace(entry, outcome=outcome)) == said


def test_what_is_not_known_is_left_out(history: History, days: Days) -> None:
    make(history, days, "Words.", voice="")
    (entry,) = history.entries()
    assert facts(dataclasses.replace(entry, ttfa_s=None)) == "0:00"


@pytest.mark.parametrize(
    ("ago", "said"),
    [
        (datetime.timedelta(seconds=3), "just now"),
        (datetime.timedelta(seconds=60), "1 min ago"),
        (datetime.timedelta(minutes=59, seconds=59), "59 min ago"),
    ],
)
def test_ages_within_the_hour_are_in_minutes(ago: datetime.timedelta, said: str) -> None:
    assert age(NOON - ago, NOON) == said


def test_older_ones_have_a_time_then_a_day() -> None:
    late = NOON.astimezone().replace(hour=22, minute=0)
    early = late.replace(hour=3, minute=5)
    assert age(early, late) == QLocale().toString(QTime(3, 5), QLocale.FormatType.ShortFormat)
    assert age(late - datetime.timedelta(days=1), late) == "yesterday"
    then = late - datetime.timedelta(days=3)
    assert age(then, late) == QLocale().toString(
        QDate(then.year, then.month, then.day), QLocale.FormatType.ShortFormat
    )


def test_a_clock_that_was_set_back_does_no_harm() -> None:
    assert age(NOON + datetime.timedelta(days=400), NOON) != ""
