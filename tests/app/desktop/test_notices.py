from __future__ import annotations

from app.desktop.notices import INFO_S, MOST, WARNING_S, NoticeStack
from app.engine.events import Severity


def texts(stack: NoticeStack) -> list[str]:
    return [shown.text for shown in stack.shown]


def test_an_error_stays_and_others_go_when_their_time_is_over() -> None:
    stack = NoticeStack()
    stack.add(Severity.INFO, "info", 100.0)
    stack.add(Severity.WARNING, "warning", 100.0)
    stack.add(Severity.ERROR, "error", 100.0)
    stack.expire(100.0 + INFO_S - 0.1)
    assert texts(stack) == ["info", "warning", "error"]
    assert stack.next_expiry_s() == 100.0 + INFO_S
    stack.expire(100.0 + INFO_S)
    assert texts(stack) == ["warning", "error"]
    stack.expire(100.0 + WARNING_S)
    assert texts(stack) == ["error"]
    assert stack.next_expiry_s() is None
    stack.expire(1e9)
    assert texts(stack) == ["error"]


def test_the_same_text_again_is_counted_and_stays_longer() -> None:
    stack = NoticeStack()
    first = stack.add(Severity.INFO, "again", 100.0)
    second = stack.add(Severity.INFO, "again", 105.0)
    assert (second.number, second.times, second.until_s) == (first.number, 2, 105.0 + INFO_S)
    assert texts(stack) == ["again"]
    assert stack.add(Severity.ERROR, "again", 106.0).times == 1


def test_what_was_dismissed_is_gone_and_may_be_dismissed_twice() -> None:
    stack = NoticeStack()
    shown = stack.add(Severity.ERROR, "error", 0.0)
    stack.dismiss(shown.number)
    stack.dismiss(shown.number)
    assert texts(stack) == []


def test_of_too_many_the_least_and_oldest_go_and_never_the_newest() -> None:
    stack = NoticeStack()
    stack.add(Severity.ERROR, "error 0", 0.0)
    stack.add(Severity.INFO, "info 0", 0.0)
    stack.add(Severity.WARNING, "warning 0", 0.0)
    stack.add(Severity.INFO, "info 1", 0.0)
    assert len(texts(stack)) == MOST
    stack.add(Severity.ERROR, "error 1", 0.0)
    assert texts(stack) == ["error 0", "warning 0", "info 1", "error 1"]
    stack.add(Severity.INFO, "info 2", 0.0)
    assert texts(stack) == ["error 0", "warning 0", "error 1", "info 2"]
    stack.add(Severity.ERROR, "error 2", 0.0)
    stack.add(Severity.ERROR, "error 3", 0.0)
    stack.add(Severity.INFO, "info 3", 0.0)
    assert texts(stack) == ["error 1", "error 2", "error 3", "info 3"]


def test_all_can_be_taken_away() -> None:
    stack = NoticeStack()
    stack.add(Severity.ERROR, "error", 0.0)
    stack.clear()
    assert stack.shown == ()
