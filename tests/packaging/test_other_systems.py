"""Windows, macOS and the workflow for all systems, as far as this shows where none of them runs."""

from __future__ import annotations

import ast
import importlib.util
import plistlib
import py_compile
import re
import struct
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml
from PySide6.QtGui import QImage

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
VERSION = distribution("nearfield").version
WORKFLOW = ROOT / ".github/workflows/bundles.yml"
TEXTS = [
    path
    for folder in ("windows", "macos")
    for path in sorted((PACKAGING / folder).iterdir())
    if path.is_file() and path.suffix != ".pyc"
]


def module(name: str, folder: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, PACKAGING / folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def icons() -> ModuleType:
    return module("icons", "pyinstaller")


@pytest.fixture
def plist() -> dict[str, Any]:
    told: dict[str, Any] = module("info_plist", "macos").info_plist("nearfield", VERSION)
    return told


# -- the spec ----------------------------------------------------------------------------------------------


def test_the_spec_compiles(tmp_path: Path) -> None:
    py_compile.compile(
        str(PACKAGING / "pyinstaller/nearfield.spec"), cfile=str(tmp_path / "spec.pyc"), doraise=True
    )


def test_the_spec_names_files_that_are_there() -> None:
    spec = (PACKAGING / "pyinstaller/nearfield.spec").read_text("utf-8")
    named = re.findall(r'REPO / "([^"]+)"', spec)
    assert "packaging/macos/entitlements.plist" in named
    assert [name for name in named if not (ROOT / name).exists()] == []


class Asked(SimpleNamespace):
    """Stands for what PyInstaller makes; keeps what it was asked for. It finds nothing to take in."""

    def __init__(self, *parts: object, **named: Any) -> None:
        super().__init__(parts=parts, named=named, pure=[], binaries=[], datas=[], scripts=[])


def read_spec(system: str, monkeypatch: pytest.MonkeyPatch, build: Path) -> dict[str, list[Asked]]:
    """Read the spec as PyInstaller does on ``system``; returns what it asked for, by kind."""
    asked: dict[str, list[Asked]] = {}

    def keep(kind: str) -> Callable[..., Asked]:
        def make(*parts: object, **named: Any) -> Asked:
            asked.setdefault(kind, []).append(Asked(*parts, **named))
            return asked[kind][-1]

        return make

    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("NEARFIELD_BUILD", str(build))
    hooks = ModuleType("PyInstaller.utils.hooks")
    hooks.collect_submodules = lambda name, **more: [name]  # type: ignore[attr-defined]
    for name, fake in (
        ("PyInstaller", ModuleType("PyInstaller")),
        ("PyInstaller.utils", ModuleType("PyInstaller.utils")),
        ("PyInstaller.utils.hooks", hooks),
    ):
        monkeypatch.setitem(sys.modules, name, fake)
    spec = PACKAGING / "pyinstaller/nearfield.spec"
    kinds = ("Analysis", "PYZ", "EXE", "COLLECT", "BUNDLE")
    names = {"SPECPATH": str(spec.parent), **{kind: keep(kind) for kind in kinds}}
    exec(compile(spec.read_text("utf-8"), str(spec), "exec"), names)
    return asked


@pytest.mark.parametrize("system", ["linux", "win32", "darwin"])
def test_the_spec_asks_for_what_each_system_has(
    system: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = read_spec(system, monkeypatch, tmp_path)
    window, terminal = asked["EXE"]
    assert (window.named["name"], window.named["console"]) == ("nearfield", False)
    assert (terminal.named["name"], terminal.named["console"]) == ("nearfield-cli", True)
    analysis = asked["Analysis"][0].named
    stores = {name for name in analysis["hiddenimports"] if name.startswith("keyring.backends.")}
    store = {"linux": "SecretService", "win32": "Windows", "darwin": "macOS"}[system]
    assert f"keyring.backends.{store}" in stores
    assert ("click._winconsole" in analysis["excludes"]) is (system != "win32")
    assert ("icon" in window.named and "version" in window.named) is (system == "win32")
    assert ("entitlements_file" in window.named) is (system == "darwin")
    assert len(asked.get("BUNDLE", ())) == (system == "darwin")
    if system == "win32":
        assert f"'{VERSION}'" in (tmp_path / "version.txt").read_text("utf-8")
    if system == "darwin":
        (application,) = asked["BUNDLE"]
        assert application.named["name"] == "nearfield.app"
        assert application.named["version"] == VERSION
        assert application.named["info_plist"]["CFBundleExecutable"] == window.named["name"]
        assert application.parts == tuple(asked["COLLECT"])


def test_nothing_has_a_version_of_its_own() -> None:
    for path in (*TEXTS, WORKFLOW, PACKAGING / "pyinstaller/icons.py"):
        assert VERSION not in path.read_text("utf-8"), path


# -- Windows -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "numbers"), [("0.1.0", (0, 1, 0, 0)), ("1.2.3.4.5", (1, 2, 3, 4)), ("2.0rc1", (2, 0, 0, 0))]
)
def test_the_version_resource_is_the_projects(version: str, numbers: tuple[int, ...]) -> None:
    about = distribution("nearfield").metadata
    text = module("version_resource", "windows").version_resource(
        "nearfield", version, 'Who\'s "they"', about["License-Expression"], "nearfield.exe"
    )
    strings = {}
    fixed = None
    for call in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            if call.func.id == "StringStruct":
                key, value = map(ast.literal_eval, call.args)
                strings[key] = value
            elif call.func.id == "FixedFileInfo":
                fixed = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
    assert fixed is not None
    assert fixed["filevers"] == fixed["prodvers"] == numbers
    assert strings["FileVersion"] == strings["ProductVersion"] == version
    assert strings["ProductName"] == "Nearfield"
    assert strings["LegalCopyright"] == "Apache-2.0"
    assert strings["CompanyName"] == 'Who\'s "they"'


def test_the_icon_of_windows_has_a_picture_of_every_size(icons: ModuleType, qapp: object) -> None:
    data = icons.ico(icons.draw_png)
    assert struct.unpack_from("<HHH", data) == (0, 1, len(icons.ICO_SIZES))
    end = 6 + 16 * len(icons.ICO_SIZES)
    for number, size in enumerate(icons.ICO_SIZES):
        width, height, _, _, planes, bits, length, at = struct.unpack_from("<BBBBHHII", data, 6 + 16 * number)
        assert (width or 256, height or 256, planes, bits, at) == (size, size, 1, 32, end)
        check_picture(data[at : at + length], size)
        end = at + length
    assert end == len(data)


# -- macOS -------------------------------------------------------------------------------------------------


def test_the_icon_of_macos_has_a_picture_of_every_size(icons: ModuleType, qapp: object) -> None:
    data = icons.icns(icons.draw_png)
    assert data[:4] == b"icns"
    assert struct.unpack_from(">I", data, 4) == (len(data),)
    at, kinds = 8, {}
    while at < len(data):
        kind, (length,) = data[at : at + 4], struct.unpack_from(">I", data, at + 4)
        kinds[kind] = data[at + 8 : at + length]
        at += length
    assert at == len(data)
    assert list(kinds) == list(icons.ICNS_SIZES)
    for kind, size in icons.ICNS_SIZES.items():
        check_picture(kinds[kind], size)


def check_picture(png: bytes, size: int) -> None:
    """A PNG of that size, drawn in the middle, clear in the corner."""
    picture = QImage.fromData(png)
    assert (picture.width(), picture.height()) == (size, size)
    assert picture.pixelColor(0, 0).alpha() < 128
    assert picture.pixelColor(size // 2, size // 8).alpha() == 255


def test_the_application_is_the_projects_and_asks_for_no_microphone(plist: dict[str, Any]) -> None:
    assert plist["CFBundleExecutable"] == distribution("nearfield").metadata["Name"]
    assert plist["CFBundleName"] == plist["CFBundleDisplayName"] == "Nearfield"
    assert plist["CFBundleShortVersionString"] == plist["CFBundleVersion"] == VERSION
    assert plist["LSBackgroundOnly"] is False
    assert "@" not in str(plist)
    asked = [key for key in plist if key.endswith("UsageDescription")]
    assert asked == ["NSLocalNetworkUsageDescription"]
    assert "Microphone" not in " ".join(plist)
    metadata = (PACKAGING / "linux/nearfield.metainfo.xml").read_text("utf-8")
    assert f"<id>{plist['CFBundleIdentifier']}</id>" in metadata, "one program, one name"


def test_macos_wants_numbers_and_dots_alone() -> None:
    told = module("info_plist", "macos").info_plist("nearfield", "1.2.0rc1.dev5")
    assert told["CFBundleVersion"] == "1.2.0"


def test_the_entitlements_are_two_and_none_is_a_device() -> None:
    entitled = plistlib.loads((PACKAGING / "macos/entitlements.plist").read_bytes())
    assert set(entitled) == {
        "com.apple.security.cs.allow-unsigned-executable-memory",
        "com.apple.security.cs.disable-library-validation",
    }


# -- the workflow ------------------------------------------------------------------------------------------


@pytest.fixture
def workflow() -> dict[Any, Any]:
    read: dict[Any, Any] = yaml.safe_load(WORKFLOW.read_text("utf-8"))
    return read


def test_the_workflow_builds_tries_and_keeps_it_on_three_systems(workflow: dict[Any, Any]) -> None:
    assert {job["runs-on"].partition("-")[0] for job in workflow["jobs"].values()} == {
        "ubuntu",
        "windows",
        "macos",
    }
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        commands = "\n".join(step.get("run", "") for step in job["steps"]).replace("\\", "/")
        scripts = re.findall(r"packaging/[\w/]+\.(?:sh|ps1)", commands)
        assert len([name for name in scripts if "build" in name]) == 1
        assert len([name for name in scripts if "smoke" in name]) == 1
        assert [name for name in scripts if not (ROOT / name).is_file()] == []
        kept = [step["with"]["path"] for step in job["steps"] if "upload" in step.get("uses", "")]
        assert any("sha256" in path.lower() and "sbom" in path for path in kept)


def test_actions_are_pinned_to_a_major_version(workflow: dict[Any, Any]) -> None:
    used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used
    assert [use for use in used if not re.fullmatch(r"actions/[\w-]+@v\d+", use)] == []


def test_the_python_of_the_workflow_is_one_that_the_project_takes(workflow: dict[Any, Any]) -> None:
    assert workflow["env"]["PYTHON"] in ("3.10", "3.11", "3.12", "3.13")


def test_what_was_not_run_says_so() -> None:
    for path in (WORKFLOW, *(path for path in TEXTS if path.suffix in (".sh", ".ps1"))):
        assert "Not run so far" in path.read_text("utf-8"), path
    for folder in ("windows", "macos"):
        assert "**Nothing here was run**" in (PACKAGING / folder / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["LGPL-3", "GPL-3", "MPL-2.0", "Apache-2.0"])
def test_common_licences_are_at_hand_where_there_is_no_debian(name: str) -> None:
    kept = (PACKAGING / "pyinstaller/licences" / name).read_text("utf-8")
    assert len(kept) > 5000
    if (of_debian := Path("/usr/share/common-licenses", name)).is_file() and sys.platform == "linux":
        assert kept == of_debian.read_text("utf-8")
