"""Says what a folder of wheels lacks for a Jetson.

``closure.py FOLDER pyproject.toml`` ends with 1 if there is something. Conditions of requirements are judged
as a Jetson's Python would. The parser of requirements is pip's own copy.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterable, Iterator
from email.parser import HeaderParser
from pathlib import Path

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    from pip._vendor import tomli as tomllib  # type: ignore[no-redef]

JETSON = {
    "implementation_name": "cpython",
    "implementation_version": "3.10.12",
    "os_name": "posix",
    "platform_machine": "aarch64",
    "platform_python_implementation": "CPython",
    "platform_release": "5.15.148-tegra",
    "platform_system": "Linux",
    "platform_version": "",
    "python_full_version": "3.10.12",
    "python_version": "3.10",
    "sys_platform": "linux",
}
FROM_NVIDIA = frozenset({"torch"})


def wheels(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield name, version and requirements of every wheel in ``folder``."""
    for path in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            headers = HeaderParser().parsestr(archive.read(name).decode())
        yield canonicalize_name(headers["Name"]), headers["Version"], headers.get_all("Requires-Dist", [])


def wanted(lines: Iterable[str], extras: Iterable[str]) -> Iterator[Requirement]:
    """Yield the requirements among ``lines`` that hold on a Jetson with these extras."""
    for line in lines:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({**JETSON, "extra": extra}) for extra in ("", *extras)):
            yield requirement


def missing(project: Iterable[str], found: dict[str, tuple[str, list[str]]]) -> list[str]:
    """Return what is not there or not in the version asked for, in words, starting from ``project``."""
    lacking, seen = [], set()
    todo = [("nearfield", requirement) for requirement in wanted(project, ())]
    while todo:
        asker, requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        if name in FROM_NVIDIA:
            continue
        if name not in found:
            lacking.append(f"{asker} needs {requirement}: it is not there")
            continue
        version, lines = found[name]
        if not requirement.specifier.contains(version, prereleases=True):
            lacking.append(f"{asker} needs {requirement}: it is {version}")
        key = (name, frozenset(requirement.extras))
        if key not in seen:
            seen.add(key)
            todo += [(name, needed) for needed in wanted(lines, requirement.extras)]
    unused = set(found) - {name for name, _ in seen}
    return lacking + [f"{name} is there, and nothing needs it" for name in sorted(unused)]


def main() -> int:
    """Compare; 0 if nothing is missing."""
    folder, pyproject = map(Path, sys.argv[1:])
    project = tomllib.loads(pyproject.read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["kiosk"]]
    found = {name: (version, needs) for name, version, needs in wheels(folder)}
    lacking = missing(asked, found)
    for line in lacking:
        print(f"closure: {line}", file=sys.stderr)
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
