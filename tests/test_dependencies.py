"""Every package that the product imports is one that it asks for, not one that came with another."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomllib")

ROOT = Path(__file__).parents[1]
OURS = {"app", "decoder", "server", "assets"}


def imported(path: Path) -> Iterator[str]:
    """Yield the top-level names that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def asked_by(folder: Path) -> set[str]:
    """Return what the project in ``folder`` asks for, optional packages included."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project.get("optional-dependencies", {}).values()]
    return {plain(re.split(r"[^\w.-]", wanted)[0]) for group in groups for wanted in group}


def test_what_is_imported_is_asked_for() -> None:
    ours = asked_by(ROOT)
    plugin = ROOT / "server" / "omni_plugin"
    whose = packages_distributions()
    missing: dict[str, set[str]] = {}
    for folder in sorted(OURS):
        for path in sorted((ROOT / folder).rglob("*.py")):
            # The plug-in is a project of its own, in an environment of its own.
            asked = asked_by(plugin) if path.is_relative_to(plugin) else ours
            for name in set(imported(path)) - OURS - set(sys.stdlib_module_names):
                if not asked & {plain(each) for each in whose.get(name, [name])}:
                    missing.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    assert not missing
