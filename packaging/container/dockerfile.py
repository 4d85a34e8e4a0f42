"""Reads the Dockerfiles of this folder, checks them, and does their steps where no engine runs.

    dockerfile.py check FILE…
    dockerfile.py build FILE --base FOLDER --root FOLDER [--build-arg NAME=VALUE] [--bind …] [--env …]
    dockerfile.py run   FILE --root FOLDER [--bind OUTSIDE:INSIDE] [--env NAME=VALUE] [--health] [-- WORD…]

``build`` leaves the last stage in the root folder, ``run`` starts the entry point there as the image's user.
Both need root. What an engine does beyond that is not done: layers, the network, limits, capabilities.
Only the part of the language that these files use is known; anything else is an error.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

CONTEXT = Path(__file__).resolve().parents[2]
_ONCE_BUILT = frozenset({"CMD", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "VOLUME"})
"""What only says something about the image."""
KEYWORDS = _ONCE_BUILT | {"ARG", "COPY", "ENV", "FROM", "RUN", "USER", "WORKDIR"}
_APT = ("apt-get update &&", "-y", "--no-install-recommends", "rm -rf /var/lib/apt/lists/*")
"""What belongs to every installation of Debian's packages."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_FLAG = re.compile(r"--([a-z-]+)=(\S+)\s+")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class DockerfileError(Exception):
    """A file cannot be read, or a step cannot be done."""


@dataclass(frozen=True)
class Step:
    """One instruction."""

    keyword: str
    text: str
    """All that follows, without its flags, continued lines joined."""
    flags: Mapping[str, str] = field(default_factory=dict)

    def words(self) -> list[str]:
        """Return a JSON list as its items, anything else split at blanks."""
        return json.loads(self.text) if self.text.startswith("[") else self.text.split()


@dataclass
class Stage:
    """From one FROM to the next."""

    image: str
    name: str
    steps: list[Step] = field(default_factory=list)

    def last(self, keyword: str) -> Step | None:
        """Return the instruction that counts of those that may stand once."""
        return next((step for step in reversed(self.steps) if step.keyword == keyword), None)


def read_steps(text: str) -> Iterator[Step]:
    """Yield every instruction of a Dockerfile."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        if not line.strip():
            continue
        keyword, _, rest = line.strip().partition(" ")
        if keyword not in KEYWORDS:
            raise DockerfileError(f"unknown instruction: {line.strip()[:60]}")
        rest, flags = rest.strip(), {}
        while match := _FLAG.match(rest):
            flags[match[1]] = match[2]
            rest = rest[match.end() :]
        yield Step(keyword, re.sub(r"\s+", " ", rest), flags)


def read_stages(text: str) -> list[Stage]:
    """Return the stages of a Dockerfile, in their order."""
    stages: list[Stage] = []
    for step in read_steps(text):
        if step.keyword == "FROM":
            image, _, name = step.text.partition(" AS ")
            stages.append(Stage(image, name or str(len(stages))))
        elif not stages:
            raise DockerfileError(f"{step.keyword} before FROM")
        else:
            stages[-1].steps.append(step)
    if not stages:
        raise DockerfileError("no FROM")
    return stages


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace ``$NAME`` and ``${NAME}``."""
    return _VARIABLE.sub(lambda match: values.get(match[1] or match[2], ""), text)


# -- what goes into a build ---------------------------------------------------------------------------


class Ignored:
    """The rules of ``.dockerignore``: the last pattern that fits a path, or a folder above it, decides."""

    def __init__(self, text: str) -> None:
        lines = [line.strip() for line in text.splitlines()]
        self._rules = [
            (line.removeprefix("!").strip("/"), not line.startswith("!"))
            for line in lines
            if line and not line.startswith("#")
        ]

    def __call__(self, path: str) -> bool:
        """Whether ``path``, from the root of the context, stays out."""
        pure = PurePosixPath(path)
        places = [str(pure), *(str(parent) for parent in pure.parents if str(parent) != ".")]
        is_out = False
        for pattern, stays_out in self._rules:
            if any(self._fits(pattern, place) for place in places):
                is_out = stays_out
        return is_out

    @staticmethod
    def _fits(pattern: str, place: str) -> bool:
        if pattern.startswith("**/"):
            return fnmatch.fnmatchcase(PurePosixPath(place).name, pattern[3:])
        # A star does not reach over a slash.
        parts, names = pattern.split("/"), place.split("/")
        return len(parts) == len(names) and all(map(fnmatch.fnmatchcase, names, parts))


def files_of(source: str, ignored: Ignored, context: Path = CONTEXT) -> list[str]:
    """Return the files below ``source`` that a build may see, from the root of the context."""
    start = context / source
    found = [start] if start.is_file() else sorted(path for path in start.rglob("*") if path.is_file())
    names = (path.relative_to(context).as_posix() for path in found)
    return [name for name in names if not ignored(name)]


# -- rules --------------------------------------------------------------------------------------------


def complaints(text: str, ignored: Ignored, context: Path = CONTEXT) -> list[str]:
    """Return what is wrong with a Dockerfile, in words; every rule is one that a reviewer would name."""
    stages = read_stages(text)
    wrong = []
    names = {stage.name for stage in stages}
    for stage in stages:
        if not re.search(r":[\w.-]*\d", stage.image) and not re.search(r":[a-z]+-slim$", stage.image):
            wrong.append(f"{stage.image}: say which version")
        for step in stage.steps:
            wrong += _complaints_of(step, names, ignored, context)
    final = stages[-1]
    user = final.last("USER")
    if user is None or not re.fullmatch(r"[1-9]\d*:[1-9]\d*", user.text):
        wrong.append("the last USER is to be a number and not root's")
    for keyword in ("ENTRYPOINT", "CMD"):
        last = final.last(keyword)
        if last is not None and not last.text.startswith("["):
            wrong.append(f"{keyword} as a list, or a shell takes the signals")
    if final.last("ENTRYPOINT") is None:
        wrong.append("no ENTRYPOINT")
    if (stop := final.last("STOPSIGNAL")) is None or stop.text != "SIGTERM":
        wrong.append("STOPSIGNAL SIGTERM is missing")
    if final.last("HEALTHCHECK") is None:
        wrong.append("no HEALTHCHECK")
    return wrong


def _complaints_of(step: Step, names: set[str], ignored: Ignored, context: Path) -> Iterator[str]:
    text = step.text
    if step.keyword == "RUN":
        if "apt-get install" in text:
            for needed in _APT:
                if needed not in text:
                    yield f"apt-get without {needed}: {text[:60]}"
        if "pip install" in text and text.count("pip install --no-cache-dir") != text.count("pip install"):
            yield f"pip install without --no-cache-dir: {text[:60]}"
        if "sudo " in text or re.search(r"curl[^&;]*\| *(ba)?sh", text):
            yield f"neither sudo nor a script from the network: {text[:60]}"
        if subprocess.run(["sh", "-n", "-c", text], check=False, capture_output=True).returncode:
            yield f"the shell cannot read: {text[:60]}"
    elif step.keyword == "COPY":
        *sources, target = step.words()
        if len(sources) > 1 and not target.endswith("/"):
            yield f"COPY of several into {target}: end it with a slash"
        if (stage := step.flags.get("from")) is not None:
            if stage not in names:
                yield f"COPY from an unknown stage {stage}"
            return
        for source in sources:
            if not (context / source).exists():
                yield f"COPY {source}: not there"
            elif not files_of(source, ignored, context):
                yield f"COPY {source}: kept out by .dockerignore"
    elif step.keyword in ("ENV", "ARG") and re.search(r"(KEY|TOKEN|PASSWORD|SECRET)\w*=\S", text):
        yield f"a secret in {step.keyword}: it stays in the image"


# -- doing the steps ----------------------------------------------------------------------------------


@dataclass
class Box:
    """A root folder, and what an image says of the processes in it."""

    root: Path
    env: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    args: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0:0"

    def inside(self, path: str) -> Path:
        """Return where ``path`` of the image lies outside; relative ones start at its WORKDIR."""
        return self.root / os.path.normpath(os.path.join(self.folder, path)).lstrip("/")

    def command(self, argv: Sequence[str], env: Mapping[str, str], binds: Mapping[str, str]) -> list[str]:
        """Return a command that runs ``argv`` in the folder, in mounts and processes of its own."""
        root = shlex.quote(str(self.root))
        lines = [f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
        for outside, within in binds.items():
            target = self.root / within.lstrip("/")
            if Path(outside).is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch()
            lines.append(f"mount --bind {shlex.quote(outside)} {shlex.quote(str(target))}")
        uid, gid = self.user.split(":")
        settings = [f"{name}={value}" for name, value in {"HOME": "/root", **self.env, **env}.items()]
        enter = ["chroot", str(self.root), "/usr/bin/setpriv", f"--reuid={uid}", f"--regid={gid}"]
        # The folder is entered inside, and PATH is the image's.
        start = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", self.folder, *argv]
        clean = ["--clear-groups", "/usr/bin/env", "-i", *settings]
        lines.append("exec " + shlex.join([*enter, *clean, *start]))
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation=private"]
        return [*apart, "sh", "-ec", "\n".join(lines)]


def build(
    path: Path,
    base: Path,
    root: Path,
    args: Mapping[str, str],
    env: Mapping[str, str],
    binds: Mapping[str, str],
) -> Box:
    """Do all steps of a Dockerfile; the last stage is in ``root``, those before it beside it."""
    ignored = Ignored((CONTEXT / ".dockerignore").read_text())
    stages = read_stages(path.read_text())
    boxes: dict[str, Box] = {}
    for stage in stages:
        box = Box(root if stage is stages[-1] else root.with_name(f"{root.name}.{stage.name}"))
        boxes[stage.name] = box
        print(f"FROM {stage.image}: {base.name}, as {box.root.name}", flush=True)
        subprocess.run(["rm", "-rf", "--one-file-system", str(box.root)], check=True)
        subprocess.run(["cp", "-a", "--reflink=auto", str(base), str(box.root)], check=True)
        for step in stage.steps:
            print(f"{step.keyword} {step.text[:110]}", flush=True)
            _do(step, box, boxes, ignored, args, env, binds)
    return box


def _do(
    step: Step,
    box: Box,
    boxes: Mapping[str, Box],
    ignored: Ignored,
    args: Mapping[str, str],
    env: Mapping[str, str],
    binds: Mapping[str, str],
) -> None:
    match step.keyword:
        case "RUN":
            argv = ["sh", "-c", step.text]
            # What only this machine needs, such as a proxy's certificate, goes into no layer.
            done = subprocess.run(box.command(argv, {**box.args, **env}, binds), check=False)
            if done.returncode:
                raise DockerfileError(f"exit code {done.returncode}: RUN {step.text}")
        case "COPY":
            _copy(step, box, boxes, ignored)
        case "ARG":
            name, _, value = step.text.partition("=")
            box.args[name] = args.get(name, expand(value, box.env))
        case "ENV":
            for setting in shlex.split(step.text):
                name, _, value = setting.partition("=")
                box.env[name] = expand(value, {**box.args, **box.env})
        case "WORKDIR":
            box.folder = os.path.normpath(os.path.join(box.folder, step.text))
            box.inside(".").mkdir(parents=True, exist_ok=True)
        case "USER":
            box.user = step.text


def _copy(step: Step, box: Box, boxes: Mapping[str, Box], ignored: Ignored) -> None:
    *sources, target = step.words()
    into = box.inside(target)
    for source in sources:
        if (stage := step.flags.get("from")) is not None:
            subprocess.run(["mkdir", "-p", str(into)], check=True)
            subprocess.run(["cp", "-a", f"{boxes[stage].inside(source)}/.", str(into)], check=True)
            continue
        start = CONTEXT / source
        for name in files_of(source, ignored):
            if start.is_dir():
                place = into / (CONTEXT / name).relative_to(start)
            else:
                place = into / start.name if target.endswith("/") else into
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CONTEXT / name, place)


def entry(path: Path, root: Path, arguments: Sequence[str], *, health: bool) -> tuple[Box, list[str]]:
    """Return the box as the last stage describes it, and what to start in it."""
    stage = read_stages(path.read_text())[-1]
    box = Box(root)
    for step in stage.steps:
        if step.keyword in ("ENV", "WORKDIR", "USER"):
            _do(step, box, {}, Ignored(""), {}, {}, {})
    if health:
        check = stage.last("HEALTHCHECK")
        assert check is not None
        return box, json.loads(check.text.removeprefix("CMD "))
    begin, rest = stage.last("ENTRYPOINT"), stage.last("CMD")
    assert begin is not None
    return box, [*begin.words(), *(arguments or (rest.words() if rest else []))]


def main() -> int:
    """Do what the command line asks for; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check")
    check.add_argument("files", nargs="+", type=Path)
    for name in ("build", "run"):
        command = commands.add_parser(name)
        command.add_argument("file", type=Path)
        command.add_argument("--root", type=Path, required=True)
        command.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
        command.add_argument("--bind", action="append", default=[], metavar="OUTSIDE:INSIDE")
        if name == "build":
            command.add_argument("--base", type=Path, required=True)
            command.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE")
        else:
            command.add_argument("--health", action="store_true")
    given, arguments = sys.argv[1:], []
    if "--" in given:
        at = given.index("--")
        given, arguments = given[:at], given[at + 1 :]
    asked = parser.parse_args(given)
    if asked.command == "check":
        ignored = Ignored((CONTEXT / ".dockerignore").read_text())
        wrong = [f"{path}: {text}" for path in asked.files for text in complaints(path.read_text(), ignored)]
        print("\n".join(wrong) or f"{len(asked.files)} files, nothing to complain about")
        return 1 if wrong else 0
    env = dict(setting.split("=", 1) for setting in asked.env)
    binds = {bind.partition(":")[0]: bind.rpartition(":")[2] for bind in asked.bind}
    if asked.command == "run":
        box, argv = entry(asked.file, asked.root.resolve(), arguments, health=asked.health)
        started = box.command(argv, env, binds)
        os.execvp(started[0], started)  # noqa: S606
    try:
        args = dict(setting.split("=", 1) for setting in asked.build_arg)
        build(asked.file, asked.base.resolve(), asked.root.resolve(), args, env, binds)
    except DockerfileError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
