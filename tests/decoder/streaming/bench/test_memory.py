"""Memory of this process, as Linux tells it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from decoder.streaming.bench import memory as module
from decoder.streaming.bench.memory import Memory, memory, parse_status, reset_peak


def test_both_numbers_are_read() -> None:
    text = "Name:\tpython\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nThreads:\t1\n"
    assert parse_status(text) == Memory(resident_bytes=1024 * 1024, peak_bytes=2048 * 1024)


def test_what_is_not_told_is_unknown() -> None:
    assert parse_status("Name:\tpython\n") == Memory(None, None)


def test_a_system_without_proc_still_tells_the_peak(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "_STATUS", tmp_path / "status")
    monkeypatch.setattr(module, "_CLEAR_REFS", tmp_path / "none" / "clear_refs")
    found = memory()
    assert found.resident_bytes is None
    assert found.peak_bytes is None or found.peak_bytes > 1 << 20
    assert not reset_peak()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_what_is_touched_is_resident() -> None:
    before = memory().resident_bytes
    block = np.ones(64 << 20, np.uint8)
    after = memory().resident_bytes
    assert before is not None
    assert after is not None
    assert after - before > block.nbytes // 2
