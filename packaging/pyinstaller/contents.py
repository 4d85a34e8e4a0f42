"""What is in a finished bundle: licences, a bill of materials, checksums, and what takes the room.

Run by build.sh with the environment that the bundle was made in::

    python contents.py BUNDLE INSIDE            BUNDLE/LICENCES.txt, BUNDLE/sbom.cdx.json, BUNDLE/SHA256SUMS
    python contents.py --sizes BUNDLE           a table

``INSIDE`` is what nearfield.spec found to be in it. Fails where something has no licence text, or one that no
bundle may have.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import uuid
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import Distribution, distribution
from pathlib import Path

TEXTS = re.compile(
    r"(^|/)(licen[cs]es?|copying|copyright|notice|authors|third[-_]?party)[^/]*$|(^|/)licenses/", re.I
)
FORBIDDEN = re.compile(r"\bA?GPL", re.I)
"""In the licence that a package declares. LGPL is another matter: its libraries are files of their own."""
SAID_ELSEWHERE = {
    # Their wheels carry no text; what they are under is said here and by their projects.
    "PySide6_Essentials": "LGPL-3.0-only",
    "shiboken6": "LGPL-3.0-only",
}
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Part:
    """One thing that somebody else made."""

    name: str
    version: str
    licence: str
    purl: str
    texts: dict[str, str] = field(default_factory=dict)


def main() -> int:
    """Do what the command line asks; returns an exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("bundle", type=Path)
    parser.add_argument("inside", type=Path, nargs="?")
    parser.add_argument("--sizes", action="store_true")
    options = parser.parse_args()
    if options.sizes:
        print(sizes(options.bundle))
        return 0
    inside = json.loads(options.inside.read_text())
    parts = [package(distribution(name)) for name in inside["packages"] if name != inside["name"]]
    parts += [python(), *system_packages(inside["system_libraries"])]
    parts.sort(key=lambda part: part.name.lower())
    problems = [f"{part.name}: no licence text" for part in parts if not part.texts]
    problems += [f"{part.name}: {part.licence}" for part in parts if is_forbidden(part)]
    if problems:
        print("contents: " + "; ".join(problems), file=sys.stderr)
        return 1
    own = (ROOT / "LICENSE").read_text()
    (options.bundle / "LICENCES.txt").write_text(licences(inside, own, parts))
    (options.bundle / "sbom.cdx.json").write_text(json.dumps(bill(inside, parts), indent=1) + "\n")
    (options.bundle / "SHA256SUMS").write_text(checksums(options.bundle))
    print(f"contents: {len(parts)} parts, all with their licences")
    return 0


def package(found: Distribution) -> Part:
    """Describe a Python package by its metadata."""
    meta = found.metadata
    name, version = meta["Name"], found.version
    classifiers = [
        c.rpartition(" :: ")[2] for c in meta.get_all("Classifier") or () if c.startswith("License")
    ]
    licence = (meta.get_all("License-Expression") or [""])[0]
    if not licence:
        named = (meta.get_all("License") or [""])[0].strip()
        # Some put the whole text there.
        licence = named if named and "\n" not in named else ", ".join(classifiers) or named.split("\n")[0]
    texts = {}
    for file in found.files or ():
        if TEXTS.search(str(file)) and file.suffix not in (".py", ".pyc", ".so", ".pyi"):
            path = Path(str(found.locate_file(file)))
            if path.is_file():
                texts[str(file)] = path.read_text("utf-8", "replace")
    purl = f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}"
    return Part(name, version, SAID_ELSEWHERE.get(name, licence), purl, texts or standard(name, licence))


def standard(name: str, licence: str) -> dict[str, str]:
    """Return the text for a package that carries none: the common ones are kept beside this."""
    common = Path(__file__).parent / "licences"
    if name in ("PySide6_Essentials", "shiboken6"):
        return {n: (common / n).read_text() for n in ("LGPL-3", "GPL-3")}
    for pattern, text in ((r"apache", "Apache-2.0"), (r"\bMPL", "MPL-2.0")):
        if re.search(pattern, licence, re.I) and (common / text).is_file():
            return {text: (common / text).read_text()}
    short = Path(__file__).parent / "licences" / f"{name}.txt"
    return {short.name: short.read_text()} if short.is_file() else {}


def python() -> Part:
    """Describe the interpreter and its standard library."""
    version = sys.version.split()[0]
    places = (
        Path(sysconfig.get_path("stdlib"), "LICENSE.txt"),
        Path(sys.base_prefix, "LICENSE.txt"),  # Windows
        Path("/usr/share/doc/python3/copyright"),
    )
    texts = {path.name: path.read_text("utf-8", "replace") for path in places if path.is_file()}
    return Part("Python", version, "PSF-2.0", f"pkg:generic/python@{version}", dict([*texts.items()][:1]))


def system_packages(libraries: list[str]) -> list[Part]:
    """Describe the Debian packages that libraries of the build machine came from."""
    names: dict[str, str] = {}
    parts: list[Part] = []
    for library in libraries:
        for path in {library, os.path.realpath(library), library.replace("/lib/", "/usr/lib/", 1)}:
            answer = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True, check=False)
            if answer.returncode == 0:
                names[answer.stdout.split(": ")[0].split(",")[0]] = library
                break
        else:
            parts.append(Part(library, "", "", f"pkg:generic/{library}"))
    for name in sorted(names):
        form = "${Version}\\t${Architecture}"
        answer = subprocess.run(
            ["dpkg-query", "-W", "-f", form, name], capture_output=True, text=True, check=True
        )
        version, architecture = answer.stdout.split("\t")
        plain = name.split(":")[0]
        text = Path(f"/usr/share/doc/{plain}/copyright").read_text("utf-8", "replace")
        declared = sorted(set(re.findall(r"^License: *(\S.*)$", text, re.MULTILINE)))
        parts.append(
            Part(
                plain,
                version,
                " AND ".join(declared)[:200] or "see its text",
                f"pkg:deb/debian/{plain}@{version}?arch={architecture}",
                {"copyright": text},
            )
        )
    return parts


def is_forbidden(part: Part) -> bool:
    """Whether a Python package is under the GPL and nothing else; Debian's files name each file's licence."""
    if part.purl.startswith("pkg:deb") or part.name == "pyinstaller":
        # The bootloader's licence has an exception for what it starts.
        return False
    return bool(FORBIDDEN.search(part.licence))


def licences(inside: dict[str, str], own: str, parts: list[Part]) -> str:
    """Return one text with everything, the table first."""
    rule = "=" * 100
    lines = [
        f"{inside['name']} {inside['version']} is under the Apache License 2.0. What others made in it, and",
        "under which licences; the texts follow in this order. Libraries under the LGPL are files of their",
        "own in lib/, to be replaced by others with the same interface; sbom.cdx.json names their sources.",
        "",
        *(f"{part.name:32} {part.version:24} {part.licence}" for part in parts),
        "",
    ]
    for name, texts in ((inside["name"], {"LICENSE": own}), *((part.name, part.texts) for part in parts)):
        for file, text in texts.items():
            lines += [rule, f"{name}: {file}", rule, text.strip(), ""]
    return "\n".join(lines) + "\n"


def bill(inside: dict[str, str], parts: list[Part]) -> dict[str, object]:
    """Return the parts as CycloneDX 1.5."""
    stamp = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    own = f"pkg:pypi/{inside['name']}@{inside['version']}"
    listing = [
        {
            "type": "library",
            "bom-ref": part.purl,
            "name": part.name,
            "version": part.version,
            "purl": part.purl,
            "licenses": [{"license": {"name": part.licence or "see LICENCES.txt"}}],
        }
        for part in parts
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # The same parts make the same number.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, own + json.dumps(listing))}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(stamp, timezone.utc).isoformat(),
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": inside["name"],
                "version": inside["version"],
                "purl": own,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": listing,
        "dependencies": [{"ref": own, "dependsOn": [part.purl for part in parts]}],
    }


def checksums(bundle: Path) -> str:
    """Return a line for each file, as ``sha256sum -c`` reads them."""
    lines = []
    for path in sorted(bundle.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.name != "SHA256SUMS":
            place = path.relative_to(bundle).as_posix()
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {place}")
    return "\n".join(lines) + "\n"


def sizes(bundle: Path) -> str:
    """Return what takes the room, in MB, largest first."""
    room: Counter[str] = Counter()
    for path in bundle.rglob("*"):
        if path.is_file() and not path.is_symlink():
            room[_owner(path.relative_to(bundle))] += path.stat().st_size
    total = sum(room.values())
    rows = [(name, size) for name, size in room.most_common() if size >= 1e6]
    rows += [("the rest", total - sum(size for _, size in rows)), ("all", total)]
    return "\n".join(f"{size / 1e6:7.1f} MB  {name}" for name, size in rows)


def _owner(path: Path) -> str:
    parts = path.parts
    if parts[0] != "lib":
        return "programs with the Python code in them" if len(parts) == 1 and not path.suffix else parts[0]
    if len(parts) == 2:
        return "libpython" if path.name.startswith("libpython") else "system libraries"
    if parts[1] == "torch":
        return (
            f"torch: {path.name}"
            if path.name in ("libtorch_cpu.so", "libtorch_python.so")
            else "torch: the rest"
        )
    if parts[1] == "PySide6":
        return "Qt: ICU" if path.name.startswith("libicu") else "Qt"
    return {"numpy.libs": "numpy: OpenBLAS"}.get(parts[1], parts[1])


if __name__ == "__main__":
    sys.exit(main())
