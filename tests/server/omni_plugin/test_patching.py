"""A module is changed when it is imported, not before, and nobody else's import is."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from server.omni_plugin.nearfield_omni.patching import when_imported

NAME = "a_module_to_patch"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module that can be imported and was not yet."""
    (tmp_path / f"{NAME}.py").write_text("def greet():\n    return 'stock'\n")
    (tmp_path / "another_module.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    finders = list(sys.meta_path)
    yield NAME
    sys.meta_path[:] = finders
    for name in (NAME, "another_module"):
        sys.modules.pop(name, None)


def patch(module: ModuleType) -> None:
    vars(module)["greet"] = lambda: "patched"


def test_it_is_patched_right_after_its_import(module: str) -> None:
    when_imported(module, patch)
    assert module not in sys.modules
    importlib.import_module("another_module")
    assert importlib.import_module(module).greet() == "patched"


def test_it_is_patched_now_if_it_is_there_already(module: str) -> None:
    made = importlib.import_module(module)
    when_imported(module, patch)
    assert made.greet() == "patched"


def test_nothing_stays_behind_in_the_import_system(module: str) -> None:
    finders = list(sys.meta_path)
    when_imported(module, patch)
    made = importlib.import_module(module)
    assert sys.meta_path == finders
    assert made.__spec__ is not None
    assert made.__spec__.loader is made.__loader__
    assert "return 'stock'" in inspect.getsource(made)
    assert importlib.reload(made).greet() == "stock"


def test_a_module_that_is_not_there_is_not_found_as_before(module: str) -> None:
    when_imported("no_such_module_at_all", patch)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_module_at_all")


def test_what_the_module_raises_is_raised(module: str, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.py").write_text("raise ValueError('as it always did')\n")
    when_imported(module, patch)
    with pytest.raises(ValueError, match="as it always did"):
        importlib.import_module(module)
