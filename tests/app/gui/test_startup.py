from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from app.gui.startup import why_no_window

ALL = frozenset({"PySide6", "qasync"})


def why(
    environment: dict[str, str],
    *,
    system: str = "linux",
    packages: Iterable[str] = ALL,
    lacking: Iterable[str] = (),
    answers: bool = True,
) -> str:
    """What stands in the way on a machine with these packages, without these libraries."""
    return why_no_window(
        environment,
        system=system,
        has_package=frozenset(packages).__contains__,
        has_library=lambda name: name not in frozenset(lacking),
        has_x11=lambda display: answers,
    )


def test_a_missing_package_is_named_with_how_to_install_it() -> None:
    text = why({"DISPLAY": ":0"}, packages={"qasync"})
    assert "PySide6" in text
    assert "pip install 'nearfield[gui]'" in text
    assert "bootstrap.sh --gui" in text
    assert "nearfield say" in text
    assert "\n" not in text


def test_without_a_display_it_says_so() -> None:
    text = why({})
    assert "DISPLAY and WAYLAND_DISPLAY are not set" in text
    assert "--no-gui" in text


@pytest.mark.parametrize(
    ("library", "package"),
    [("libxcb-cursor.so.0", "libxcb-cursor0"), ("libEGL.so.1", "libegl1")],
)
def test_a_missing_library_is_told_as_the_package_to_install(library: str, package: str) -> None:
    text = why({"DISPLAY": ":0"}, lacking={library})
    assert f"sudo apt-get install {package} " in text


def test_the_libraries_of_x11_are_not_missed_where_it_is_not_used(tmp_path: Path) -> None:
    assert why({"QT_QPA_PLATFORM": "offscreen"}, lacking={"libxcb-cursor.so.0"}) == ""
    assert why({"QT_QPA_PLATFORM": "vnc:size=800x600"}, lacking={"libxcb-cursor.so.0"}) == ""


def test_a_display_that_nobody_answers_at_is_named() -> None:
    assert "DISPLAY=:7" in why({"DISPLAY": ":7"}, answers=False)
    assert "wayland-9" in why({"WAYLAND_DISPLAY": "wayland-9", "XDG_RUNTIME_DIR": "/nowhere"})


def test_a_compositor_that_listens_is_enough(tmp_path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "w"))
        here = {"WAYLAND_DISPLAY": "w", "XDG_RUNTIME_DIR": str(tmp_path)}
        assert why(here) == ""
        assert why({**here, "DISPLAY": ":7"}, answers=False) == ""
        assert why({**here, "DISPLAY": ":7"}, lacking={"libxcb-icccm.so.4"}) == ""


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_other_systems_bring_their_own_libraries(system: str) -> None:
    assert why({}, system=system, lacking={"libxcb.so.1", "libEGL.so.1"}) == ""


def test_bootstrap_installs_what_is_looked_for() -> None:
    from app.gui import startup

    script = Path(startup.__file__).parents[2].joinpath("packaging/bootstrap.sh").read_text("utf-8")
    tables = (startup._LIBRARIES, startup._X11_LIBRARIES, startup._WAYLAND_LIBRARIES)
    packages = {package for table in tables for package in table.values()}
    listed = set(script.partition("window_libraries=(")[2].partition(")")[0].split())
    assert packages <= listed


def command(arguments: list[str], tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the real command without a display, and with nothing of one's own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NEARFIELD_"))}
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        clean.pop(name, None)
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**clean, "HOME": str(tmp_path), **environment},
    )


def test_a_start_without_a_display_is_one_line_and_exit_2_not_an_abort(tmp_path: Path) -> None:
    """D7: Qt itself would end the process with a signal."""
    result = command([], tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("nearfield: ")
    assert result.stderr.count("\n") == 1


def test_an_x_server_that_is_not_there_is_not_an_abort_either(tmp_path: Path) -> None:
    result = command([], tmp_path, DISPLAY=":987")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1


def test_without_pyside_the_window_is_refused_with_a_hint(tmp_path: Path) -> None:
    code = (
        "import importlib.util as u, sys\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'PySide6' else find(name, *rest)\n"
        "from app.cli import main\n"
        "sys.exit(main([]))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert "pip install 'nearfield[gui]'" in result.stderr
    assert result.stderr.count("\n") == 1
