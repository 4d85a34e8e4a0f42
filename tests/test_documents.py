"""The documents are finished, and what they link to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "packaging/README.md",
    "packaging/container/README.md",
    "packaging/jetson/README.md",
    "packaging/macos/README.md",
    "packaging/pyinstaller/README.md",
    "packaging/speech-dispatcher/README.md",
    "packaging/systemd/README.md",
    "packaging/windows/README.md",
    "server/emulator/demo_voice/README.md",
]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_nothing_is_left_to_fill_in_and_no_link_is_dead(name: str) -> None:
    path = ROOT / name
    text = path.read_text("utf-8")
    assert "@@" not in text
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert not [link for link in links if "://" not in link and not (path.parent / link).exists()]


def test_the_two_commands_of_the_readme_are_what_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "packaging/bootstrap.sh --test && .venv/bin/pytest\n" in readme
    assert "packaging/bootstrap.sh --test\n" in ci
    assert ci.endswith(".venv/bin/pytest\n")
