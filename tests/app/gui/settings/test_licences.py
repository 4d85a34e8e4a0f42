"""What the window says about licences is what is installed with it, and what the README says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from app.gui.settings.licences import LICENCES

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomllib")

ROOT = Path(__file__).parents[4]
NAMES = {re.sub(r"[-_ ]", "-", name.partition(",")[0].partition(" (")[0]).lower() for name, _ in LICENCES}


def required() -> set[str]:
    """Return the packages that the window and the demo are made of."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["gui"], *extras["demo"]]
    names = (re.match(r"[\w-]+", line) for line in lines)
    return {name[0].replace("_", "-").lower().removesuffix("-essentials") for name in names if name}


def test_every_package_is_named_and_no_other() -> None:
    assert required() == NAMES


def test_the_readme_says_the_same() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    table = readme.partition("## What it depends on")[2].partition("\n## ")[0]
    for name, licence in LICENCES:
        short = name.partition(",")[0].partition(" (")[0]
        row = next((line for line in table.splitlines() if re.search(rf"\b{re.escape(short)}\b", line)), "")
        assert row, f"{name} is not in the README"
        assert all(part in row for part in licence.split(", ")), f"{name}: {licence}"
