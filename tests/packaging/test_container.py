"""The container files: what a reviewer would look for, without an engine."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from app.config.loading import load

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "packaging/container"
DOCKERFILES = [*sorted(FOLDER.glob("Dockerfile.*")), ROOT / "packaging/jetson/Dockerfile"]


@pytest.fixture(scope="module")
def dockerfile() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dockerfile", FOLDER / "dockerfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Where dataclasses look for the types of their fields.
    sys.modules["dockerfile"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def ignored(dockerfile: ModuleType) -> Any:
    return dockerfile.Ignored((ROOT / ".dockerignore").read_text())


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_there_is_nothing_to_complain_about(path: Path, dockerfile: ModuleType, ignored: Any) -> None:
    assert dockerfile.complaints(path.read_text(), ignored) == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("FROM debian:latest", "say which version"),
        ("FROM debian", "say which version"),
        ("USER root", "not root's"),
        ("USER 0:0", "not root's"),
        ("CMD nearfield --no-gui", "as a list"),
        ("RUN apt-get update && apt-get install -y python3", "--no-install-recommends"),
        ("RUN apt-get install -y --no-install-recommends a && rm -rf /var/lib/apt/lists/*", "apt-get update"),
        ("RUN pip install nearfield", "--no-cache-dir"),
        ("RUN curl https://example.org/x | sh", "script from the network"),
        ("RUN if true; then", "the shell cannot read"),
        ("COPY nothing.txt /", "not there"),
        ("COPY tests /tests/", "kept out"),
        ("COPY LICENSE README.md /there", "slash"),
        ("COPY --from=elsewhere /a /b/", "unknown stage"),
        ("ENV API_KEY=abc", "a secret"),
        ("STOPSIGNAL SIGINT", "SIGTERM"),
    ],
)
def test_what_is_wrong_is_found(line: str, complaint: str, dockerfile: ModuleType, ignored: Any) -> None:
    good = (FOLDER / "Dockerfile.emulator").read_text()
    wrong = dockerfile.complaints(f"{good}\n{line}\n", ignored)
    assert any(complaint in text for text in wrong), wrong


def test_instructions_are_read(dockerfile: ModuleType) -> None:
    first = "FROM a:1 AS build\n# no\nRUN one \\\n    # nor this\n    && two\n"
    text = f"{first}FROM b:2\nCOPY --from=build /x /y/\n"
    stages = dockerfile.read_stages(text)
    assert [(stage.image, stage.name) for stage in stages] == [("a:1", "build"), ("b:2", "1")]
    assert stages[0].steps[0].text == "one && two"
    assert stages[1].steps[0].flags == {"from": "build"}
    with pytest.raises(dockerfile.DockerfileError, match="unknown instruction"):
        dockerfile.read_stages("FROM a:1\nADD b c\n")


@pytest.mark.parametrize(
    ("path", "stays_out"),
    [
        ("app/cli.py", False),
        ("packaging/constraints.txt", False),
        ("packaging/container/kiosk.yaml", False),
        ("packaging/bootstrap.sh", True),
        ("tests/conftest.py", True),
        (".git/config", True),
        (".venv/bin/python", True),
        ("app/__pycache__/cli.pyc", True),
        ("app/engine/__pycache__/build.cpython-311.pyc", True),
        ("config.yaml", True),
    ],
)
def test_only_what_an_image_is_made_from_goes_into_it(path: str, stays_out: bool, ignored: Any) -> None:
    assert ignored(path) is stays_out


def test_the_emulators_pins_are_all_that_it_imports() -> None:
    """So an image with nothing but these can run it."""
    pins = (FOLDER / "requirements-emulator.txt").read_text()
    allowed = set(re.findall(r"^([a-z]+)==", pins, re.MULTILINE)) | {"assets", "decoder", "server"}
    program = (
        "import sys; before = set(sys.modules)\n"
        "import server.emulator.__main__\n"
        "new = {n.partition('.')[0] for n in sys.modules if n not in before}\n"
        "print(*sorted(n for n in new if n not in sys.stdlib_module_names))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= allowed


def test_the_example_names_what_is_there() -> None:
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    for service in services.values():
        context = (FOLDER / service["build"]["context"]).resolve()
        assert context == ROOT
        assert (context / service["build"]["dockerfile"]).is_file()
        assert service["cap_drop"] == ["ALL"]
        assert service["read_only"] is True


def test_the_kiosks_own_settings_are_settings() -> None:
    assert load(FOLDER / "kiosk.yaml", {}).kiosk.sources == ("http",)
