"""``install.sh`` and ``uninstall.sh`` with a bundle that is a shell script: what lands where, what stays."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
ASSETS = PACKAGING.parent / "assets"
PROGRAM = '#!/bin/sh\necho "nearfield 1.2.3 $*"\n'


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "down loads" / "nearfield"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib/file").write_text("1")
    for name in ("nearfield", "nearfield-cli"):
        (folder / name).write_text(PROGRAM)
        (folder / name).chmod(0o755)
    for name in ("install.sh", "uninstall.sh"):
        shutil.copy(PACKAGING / name, folder)
    share = folder / "share"
    (share / "applications").mkdir(parents=True)
    shutil.copy(ASSETS / "desktop/nearfield.desktop", share / "applications")
    (share / "metainfo").mkdir()
    (share / "metainfo/local.nearfield.Nearfield.metainfo.xml").write_text("<component/>")
    (share / "icons/hicolor/48x48/apps").mkdir(parents=True)
    (share / "icons/hicolor/48x48/apps/nearfield.png").write_bytes(b"")
    return folder


@pytest.fixture(params=["home", "a home & 50 % $of it"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / str(request.param)
    folder.mkdir()
    return folder


def run(script: Path, home: Path) -> subprocess.CompletedProcess[str]:
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    return subprocess.run([str(script)], env=env, capture_output=True, text=True, check=False)


def files(home: Path) -> set[str]:
    return {str(p.relative_to(home)) for p in home.rglob("*") if not p.is_dir()}


def test_what_is_installed_starts_and_is_removed_again(bundle: Path, home: Path) -> None:
    (home / ".local/share/nearfield/history").mkdir(parents=True)
    (home / ".local/share/nearfield/history/kept").write_text("")
    done = run(bundle / "install.sh", home)
    assert done.returncode == 0, done.stderr
    assert "nearfield 1.2.3" in done.stdout
    link = home / ".local/bin/nearfield"
    assert (
        subprocess.run([str(link), "say"], capture_output=True, text=True, check=True).stdout
        == "nearfield 1.2.3 say\n"
    )
    share = home / ".local/share"
    assert (share / "icons/hicolor/48x48/apps/nearfield.png").is_file()
    assert (share / "metainfo/local.nearfield.Nearfield.metainfo.xml").is_file()

    done = run(home / ".local/lib/nearfield/uninstall.sh", home)
    assert done.returncode == 0, done.stderr
    assert files(home) - {".local/share/applications/mimeinfo.cache"} == {
        ".local/share/nearfield/history/kept"
    }
    assert ".local/share/nearfield stays" in done.stdout


def test_the_entry_starts_the_program_whatever_the_home_is_called(bundle: Path, home: Path) -> None:
    run(bundle / "install.sh", home)
    entry = home / ".local/share/applications/nearfield.desktop"
    lines = [line for line in entry.read_text().splitlines() if line.startswith("Exec=")]
    assert len(lines) == 2
    for line in lines:
        # The specification's rules: what is quoted, then what a percent sign means.
        quoted, _, arguments = line[len('Exec="') :].rpartition('"')
        program = "".join(quoted.split("\\\\")) if "\\\\" in quoted else quoted
        program = program.replace("%%", "%")
        assert program == str(home / ".local/lib/nearfield/nearfield")
        assert arguments in ("", " say --clipboard")
    if shutil.which("desktop-file-validate"):
        checked = subprocess.run(
            ["desktop-file-validate", str(entry)], capture_output=True, text=True, check=False
        )
        assert checked.returncode == 0, checked.stdout


def test_a_second_installation_replaces_the_first(bundle: Path, home: Path) -> None:
    run(bundle / "install.sh", home)
    (bundle / "lib/file").rename(bundle / "lib/newer")
    assert run(bundle / "install.sh", home).returncode == 0
    assert sorted(p.name for p in (home / ".local/lib/nearfield/lib").iterdir()) == ["newer"]
    assert [p.name for p in (home / ".local/lib").iterdir()] == ["nearfield"]


def test_a_program_that_does_not_start_is_not_installed(bundle: Path, home: Path) -> None:
    (bundle / "nearfield-cli").write_text("#!/bin/sh\nexit 127\n")
    done = run(bundle / "install.sh", home)
    assert done.returncode == 1
    assert "does not start" in done.stderr
    assert files(home) == set()


def test_somebody_elses_program_of_that_name_stays(bundle: Path, home: Path) -> None:
    run(bundle / "install.sh", home)
    link = home / ".local/bin/nearfield"
    link.unlink()
    link.write_text("#!/bin/sh\n")
    run(bundle / "uninstall.sh", home)
    assert link.is_file()


def test_what_is_no_bundle_is_refused(tmp_path: Path, home: Path) -> None:
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [str(PACKAGING / "install.sh"), str(tmp_path)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert files(home) == set()
