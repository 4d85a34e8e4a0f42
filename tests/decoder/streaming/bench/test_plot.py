"""The picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoder.errors import BenchError
from decoder.streaming.bench import plot as module
from decoder.streaming.bench.plot import check_plot, plot
from tests.decoder.streaming.bench.test_goals import EXACT, FAST, report


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("A.SVG", b"<?xml")])
def test_it_is_written_by_the_files_ending(name: str, start: bytes, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the optional extra bench is not installed")
    plot(report(EXACT, FAST), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("name", "fault"), [("a.gif", r"ends with \.png or \.svg"), ("no/a.png", "no folder")]
)
def test_what_cannot_be_written_is_known_beforehand(name: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=fault):
        check_plot(tmp_path / name)


def test_without_matplotlib_it_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BenchError, match=r"nearfield\[bench\]"):
        check_plot(tmp_path / "a.png")
