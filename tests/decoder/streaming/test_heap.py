"""Freed memory goes back to the system where the C library can."""

from __future__ import annotations

import sys

import pytest

from decoder.streaming.heap import trim_heap


def test_it_says_whether_it_could(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere than on Linux nothing is tried."""
    assert trim_heap() in (True, False)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not trim_heap()
