"""One version, told to people and to programs."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest

from app.cli import main


def test_the_version_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"nearfield {version('nearfield')}\n"


def test_the_version_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert about["version"] == version("nearfield")
    assert about["frozen"] is False
    assert set(about) == {"name", "version", "python", "system", "machine", "frozen"}
