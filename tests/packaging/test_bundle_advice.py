"""What is said where a package is missing: another thing in a bundle, to which none can be added."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.gui.startup import why_no_window
from assets.bundle import NOT_WHOLE, advice, is_bundle
from decoder.errors import BenchError
from decoder.streaming.bench.plot import check_plot
from server.emulator.demo_voice import VoiceMissing

PIP = ("pip install", "bootstrap.sh")


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)


def test_here_is_no_bundle() -> None:
    assert not is_bundle()
    assert advice("here", "there") == "here"
    assert "pip install" in str(VoiceMissing("piper-tts"))


@pytest.mark.usefixtures("frozen")
def test_in_a_bundle_nobody_is_sent_to_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert advice("here") == NOT_WHOLE
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BenchError) as drawing:
        check_plot(tmp_path / "x.png")
    lacking = {"has_package": lambda _: True, "has_library": lambda _: False}
    texts = (
        str(VoiceMissing("piper-tts")),
        str(drawing.value),
        why_no_window({"DISPLAY": ":0"}, system="linux", has_package=lambda _: False),
        why_no_window({"DISPLAY": ":0"}, system="linux", **lacking),
    )
    for text in texts:
        assert not [word for word in PIP if word in text], text
        assert "\n" not in text
    assert "no bundle has" in texts[0]
    assert "no bundle has" in texts[1]
    assert NOT_WHOLE in texts[2]
    assert "sudo apt-get install" in texts[3]


def test_it_is_decided_in_one_place() -> None:
    root = Path(__file__).resolve().parents[2]
    ours = [
        path for folder in ("app", "decoder", "server", "assets") for path in (root / folder).rglob("*.py")
    ]
    assert [path.name for path in ours if 'sys, "frozen"' in path.read_text("utf-8")] == ["bundle.py"]
