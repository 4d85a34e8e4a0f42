"""How an entry of the history is put in words."""

from __future__ import annotations

import datetime

from PySide6.QtCore import QCoreApplication, QDate, QLocale, QTime

from app.desktop.figures import as_clock, as_milliseconds
from app.desktop.history import Entry
from decoder.wire.events import Outcome


def facts(entry: Entry) -> str:
    """Say how long it is, how it ended if not well, whose voice it is, and how soon it was heard."""
    parts = [as_clock(round(entry.duration_s)), ending(entry), entry.voice, latency(entry)]
    return " · ".join(part for part in parts if part)


def latency(entry: Entry) -> str:
    """Say how soon the first sound was heard; nothing if that is not known."""
    return (
        ""
        if entry.ttfa_s is None
        else QCoreApplication.translate("History", "TTFA {0}").format(as_milliseconds(entry.ttfa_s))
    )


def ending(entry: Entry) -> str:
    """Say how it ended; nothing if all was said."""
    match entry.outcome:
        case Outcome.COMPLETE:
            return ""
        case Outcome.CANCELLED:
            return QCoreApplication.translate("History", "stopped")
        case Outcome.FAILED:
            return QCoreApplication.translate("History", "failed")
        case None:
            return QCoreApplication.translate("History", "interrupted")
    return QCoreApplication.translate("History", "incomplete")


def age(made_at: datetime.datetime, now: datetime.datetime) -> str:
    """Say when something was made: minutes for the last hour, then the time, then the day."""
    here, today = made_at.astimezone(), now.astimezone().date()
    minutes = int((now - made_at).total_seconds() // 60)
    if 0 <= minutes < 1:
        return QCoreApplication.translate("History", "just now")
    if 1 <= minutes < 60:
        return QCoreApplication.translate("History", "{0} min ago").format(minutes)
    locale = QLocale()
    if here.date() == today:
        return locale.toString(QTime(here.hour, here.minute), QLocale.FormatType.ShortFormat)
    if here.date() == today - datetime.timedelta(days=1):
        return QCoreApplication.translate("History", "yesterday")
    return locale.toString(QDate(here.year, here.month, here.day), QLocale.FormatType.ShortFormat)


def spoken(entry: Entry, now: datetime.datetime) -> str:
    """Say all of it in one line, for a screen reader."""
    title = entry.title or QCoreApplication.translate("History", "no text")
    return ", ".join(part for part in (title, *facts(entry).split(" · "), age(entry.made_at, now)) if part)
