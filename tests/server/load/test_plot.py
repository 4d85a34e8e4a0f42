"""The picture of a measurement."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoder.errors import BenchError
from server.load.plot import plot
from server.load.report import report
from tests.server.load.test_report import SPOKEN, run_of, session


@pytest.mark.parametrize("sessions", [[session(0, SPOKEN), session(1, SPOKEN)], [session(0)]])
def test_it_is_drawn_also_of_sessions_that_never_spoke(sessions: list, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the optional extra bench is not installed")
    plot(report(run_of(*sessions), "ws://x"), tmp_path / "load.png")
    assert (tmp_path / "load.png").read_bytes().startswith(b"\x89PNG")


def test_a_file_that_cannot_be_written_is_an_error_in_words(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the optional extra bench is not installed")
    with pytest.raises(BenchError, match="cannot be written"):
        plot(report(run_of(session(0, SPOKEN)), "ws://x"), tmp_path / "no" / "load.png")
