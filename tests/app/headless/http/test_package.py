"""What is loaded by whom, each in a fresh process."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("aiohttp", "prometheus_client", "soundfile")


def run(code: str) -> subprocess.CompletedProcess[str]:
    poison = "".join(f"sys.modules[{name!r}] = None\n" for name in HEAVY)
    whole = f"import sys\n{poison}{code}"
    return subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "modules", ["app.cli, app.headless.say", "app.headless.run", "app.headless.booths, app.headless.recital"]
)
def test_who_serves_no_http_loads_no_server(modules: str) -> None:
    ran = run(f"import {modules}")
    assert ran.returncode == 0, ran.stderr


def test_the_poison_works() -> None:
    assert "import of aiohttp halted" in run("import app.headless.http.server").stderr
