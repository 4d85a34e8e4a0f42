"""The whole doctor in this process: what is looked at, in which case, and where it is written."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from app.errors import ReportError
from app.headless.doctor.run import DoctorOptions, run
from app.headless.doctor.settings import Asked
from tests.helpers.fake_sounddevice import FakeSounddevice


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeSounddevice:
    """A device that takes a block when it is opened and then no more: the shortest way to a finding."""
    fake = FakeSounddevice()
    fake.only()
    return fake.install(monkeypatch)


def doctor(options: DoctorOptions) -> tuple[int, str, str]:
    out, notes = StringIO(), StringIO()
    code = run(options, Console(file=out, width=200), Console(file=notes, width=200))
    return code, out.getvalue(), notes.getvalue()


def checks(text: str) -> dict[str, str]:
    return {check["check"]: check["verdict"] for check in json.loads(text)["checks"]}


def test_with_the_demo_everything_is_looked_at(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    asked = Asked(environ={"NEARFIELD_API_KEY": "hidden-key"})
    code, out, notes = doctor(DoctorOptions(asked, demo=True, speak=True, as_json=True, report=report))
    assert checks(out) == {
        "versions": "ok",
        "configuration": "ok",
        "sound": "problem",
        "server": "ok",
        "speech": "ok",
        "checkpoint": "ok",
        "decoder": "ok",
    }
    assert code == 1
    assert "wrote" in notes
    text = report.read_text()
    assert "hidden-key" not in text + out
    assert str(Path.home()) + "/" not in text
    assert "## decoder: ok" in text


def test_a_configuration_that_cannot_be_used_leaves_what_needs_none(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("audio: {volume: loud}")
    code, out, _ = doctor(DoctorOptions(Asked(file, environ={}), as_json=True))
    assert checks(out) == {"versions": "ok", "configuration": "problem", "sound": "problem"}
    assert code == 2


def test_a_server_that_is_not_there_is_not_spoken_to(tmp_path: Path) -> None:
    asked = Asked(
        flags={"server.url": "ws://127.0.0.1:9", "decoder.checkpoint": "assets/demo_voice"}, environ={}
    )
    code, out, _ = doctor(DoctorOptions(asked, speak=True))
    assert code == 1
    assert "brought no sound" not in out
    assert "not healthy: look at sound and server first" in out


def test_a_report_that_cannot_be_written_is_told_before_anything_takes_time(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere" / "report.md"):
        with pytest.raises(ReportError, match="name a file in a folder of yours") as caught:
            doctor(DoctorOptions(report=path))
        assert caught.value.exit_code == 2
