"""``python -m server.emulator.record_tapes``: record the tapes anew, with the demo voice and its codec."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assets import folder
from decoder.tape import Tape
from server.emulator.demo_voice import DemoTalker, VoiceMissing
from server.emulator.talkers import demo_spec

TOUR = (
    "Hello, and welcome to Nearfield.",
    "The voice you hear was put together on this very machine, not on a server.",
    "What travels over the network is a thin stream of numbers, half a kilobyte for every second of speech.",
    "A decoder nearby turns them into sound, and you hear the first word while the last is still unsaid.",
    "Press stop at any time, and there is silence at once.",
    "This sentence is a recording; with the demo voice installed, I will say whatever you type.",
)
"""A short tour of the product, one sentence a tape, in playing order."""

MAX_NAME_CHARS = 80


def tape_name(number: int, text: str) -> str:
    """Return a file name that sorts in playing order: at most 80 characters, all of them safe anywhere."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return f"{number:02d}-{words}"[: MAX_NAME_CHARS - len(".npz")].rstrip("-") + ".npz"


def record(path: Path) -> list[Path]:
    """Replace the tapes in ``path`` by freshly spoken ones; nothing is deleted before all are spoken.

    Raises:
        VoiceMissing: the packages of the voice are not installed.

    """
    talker, spec = DemoTalker(), demo_spec()
    tapes = [Tape(text, spec, np.concatenate(list(talker.frames(text)))) for text in TOUR]
    path.mkdir(parents=True, exist_ok=True)
    for old in path.glob("*.npz"):
        old.unlink()
    files = []
    for number, tape in enumerate(tapes, start=1):
        files.append(path / tape_name(number, tape.text))
        tape.save(files[-1])
    return files


def main(argv: Sequence[str] | None = None) -> int:
    """Record into the folder given, by default ``assets/tapes``."""
    parser = argparse.ArgumentParser("python -m server.emulator.record_tapes", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=folder("tapes"))
    try:
        files = record(parser.parse_args(argv).folder)
    except VoiceMissing as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for file in files:
        sys.stdout.write(f"{file}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
