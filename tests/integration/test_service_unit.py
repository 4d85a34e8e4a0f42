"""The unit as systemd itself reads it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "packaging" / "systemd" / "nearfield.service"
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd is not installed: apt install systemd"
)


def verify(unit: Path, home: Path) -> str:
    """Return what systemd has against ``unit``, for a user whose ``nearfield`` is installed."""
    program = home / ".local" / "bin" / "nearfield"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": str(home)},
    )
    complaints = done.stdout + done.stderr
    return complaints or ("" if done.returncode == 0 else f"exit code {done.returncode}")


@needs_systemd
def test_systemd_has_nothing_against_the_unit(tmp_path: Path) -> None:
    assert verify(UNIT, tmp_path) == ""


@needs_systemd
@pytest.mark.parametrize("line", ["WatchdogSeconds=30", "Type=notified", "SystemCallFilter=@systems"])
def test_a_mistake_in_it_would_be_noticed(tmp_path: Path, line: str) -> None:
    wrong = tmp_path / "nearfield.service"
    wrong.write_text(UNIT.read_text().replace("[Install]", f"{line}\n\n[Install]", 1))
    complaints = verify(wrong, tmp_path)
    assert any(word in complaints for word in line.split("=")), complaints
