"""What can be known of the Jetson's files without one: who is turned away, and that the pins fit."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "packaging/jetson"
PINS = (FOLDER / "requirements-aarch64.txt").read_text()
R36_4 = "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64\n"


@pytest.fixture(scope="module")
def closure() -> ModuleType:
    spec = importlib.util.spec_from_file_location("closure", FOLDER / "closure.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Machine:
    """Programs that answer like a Jetson's; the installer asks nothing else before ``--check`` is done."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.release = folder / "nv_tegra_release"
        self.release.write_text(R36_4)
        (folder / "bin").mkdir()
        self.program("uname", "echo aarch64")
        self.program("id", "echo 1000")
        self.program("python3", "exit 0")
        self.program("df", "echo Filesystem; echo dev 9 9 90000 1% /")

    def program(self, name: str, text: str) -> None:
        path = self._folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def check(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        env = {
            "HOME": str(self._folder),
            "PATH": f"{self._folder}/bin:/usr/bin:/bin",
            "NEARFIELD_L4T_RELEASE": str(self.release),
            **more,
        }
        command = [str(FOLDER / "install.sh"), *(arguments or ("--check",))]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_jetpack_6_is_welcome(machine: Machine) -> None:
    done = machine.check()
    assert done.returncode == 0, done.stderr
    assert "L4T R36.4.3" in done.stdout


@pytest.mark.parametrize(
    ("program", "answer", "said"),
    [
        ("uname", "echo x86_64", "this machine is x86_64"),
        ("id", "echo 0", "this is root"),
        ("df", "echo Filesystem; echo dev 9 9 900 1% /", "only 900 MB are free"),
        ("python3", '[ "$1" != --version ] || echo Python 3.12.3; exit 1', "python3 is"),
    ],
)
def test_other_machines_are_told_why_not(machine: Machine, program: str, answer: str, said: str) -> None:
    machine.program(program, answer)
    done = machine.check()
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert said in first
    assert second.startswith("install: ")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("# R35 (release), REVISION: 4.1, GCID: 1\n", "older than JetPack 6"),
        ("# R36 (release), REVISION: 3.0, GCID: 1\n", "JetPack 6.0"),
        ("# R38 (release), REVISION: 2.0, GCID: 1\n", "newer than JetPack 6"),
        ("something else\n", "begins with: something else"),
        ("", "begins with: "),
    ],
)
def test_other_releases_are_told_why_not(machine: Machine, line: str, said: str) -> None:
    machine.release.write_text(line)
    done = machine.check()
    assert done.returncode == 1
    assert said in done.stderr


def test_another_index_may_serve_an_older_release(machine: Machine) -> None:
    machine.release.write_text("# R36 (release), REVISION: 3.0, GCID: 1\n")
    assert machine.check(NEARFIELD_TORCH_INDEX="https://example.org/simple/").returncode == 0


def test_a_machine_without_l4t_is_no_jetson(machine: Machine) -> None:
    machine.release.unlink()
    done = machine.check()
    assert done.returncode == 1
    assert "bootstrap.sh --kiosk" in done.stderr


def test_an_unknown_option_is_an_error(machine: Machine) -> None:
    assert machine.check("--chekc").returncode == 2


def test_every_pin_is_one_and_torch_is_none() -> None:
    lines = [line for line in PINS.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[\w.]+", line) for line in lines)
    assert not any(line.startswith(("torch", "nvidia", "pyside6", "piper")) for line in lines)


def test_the_pins_are_what_the_project_asks_for(closure: ModuleType) -> None:
    """Only the first step, without looking into wheels; ``check_wheels.sh`` goes all the way."""
    pins = dict(line.split("==") for line in PINS.splitlines() if not line.startswith("#"))
    project = closure.tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["kiosk"]]
    found = {name: (version, []) for name, version in pins.items()}
    assert [line for line in closure.missing(asked, found) if "nothing needs it" not in line] == []


def test_what_is_missing_wrong_or_useless_is_found(closure: ModuleType) -> None:
    found = {
        "aiohttp": (
            "3.14.5",
            ['async-timeout>=4; python_version < "3.11"', 'x; python_version > "3.11"', "idna<3"],
        ),
        "idna": ("3.20", []),
        "left": ("1", []),
    }
    wrong = closure.missing(["aiohttp>=3.10", "torch>=2.5"], found)
    assert len(wrong) == 3
    assert any("aiohttp needs async-timeout" in line and "not there" in line for line in wrong)
    assert any("it is 3.20" in line for line in wrong)
    assert "left is there, and nothing needs it" in wrong


def test_the_script_and_the_image_take_torch_from_the_same_place() -> None:
    address = re.compile(r"https://pypi\.jetson-ai-lab\.io/\S+?/\+simple/")
    texts = [(FOLDER / name).read_text() for name in ("install.sh", "Dockerfile", "README.md")]
    assert len({found for text in texts for found in address.findall(text)}) == 1
