from __future__ import annotations

import threading

import pytest

from app.audio.bounded import StuckError, call_within


def test_result_and_error_come_through() -> None:
    assert call_within(5, "adding", lambda: 1 + 1) == 2
    with pytest.raises(ZeroDivisionError):
        call_within(5, "dividing", lambda: 1 / 0)


def test_call_that_blocks_is_given_up() -> None:
    release = threading.Event()
    with pytest.raises(StuckError, match="waiting took longer than"):
        call_within(0.01, "waiting", release.wait)
    release.set()
