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
    "My name is Joe, and I am a small voice for trying things out.",
    "What you hear was put together on this very machine, not on a server.",
    "Most speech servers send finished sound, forty-eight kilobytes for every second.",
    "Here, a thin stream of numbers travels instead: half a kilobyte for every second.",
    "Each set of sixteen numbers stands for eighty milliseconds of speech.",
    "A decoder nearby turns them into sound, one set at a time.",
    "So you hear the first word while the last one is still unsaid.",
    "How long did you wait for this sentence?",
    "The answer is printed below, and it is called time to first audio.",
    "It begins when the text is sent, and ends when the first sample leaves your sound card.",
    "It is made of parts: the server, the hold, the decoder, the ring, and the device.",
    "The largest of them is named, so you know where to look.",
    "A second number says how hard the decoder has to work.",
    "As long as it is below one, the speech never has to wait.",
    "A third number is the buffer: sound that is ready, but not yet heard.",
    "When the network pauses, the buffer plays on.",
    "When it runs dry, that is counted, and never hidden.",
    "Press stop at any time, and there is silence at once.",
    "Nothing of the old sentence will ever be heard again.",
    "Pull the plug of your headphones, and plug them in again.",
    "The sentence goes on where it was, and not a syllable is lost.",
    "Each sentence can be written to a file, exactly as it was played.",
    "With a pipe, a whole book can be read to you, line by line.",
    "A kiosk does the same all day, and recovers by itself.",
    "My voice is a small one, but the way it takes is the real one.",
    "A larger talker, on a graphics card far away, uses the very same decoder.",
    "All it has to learn from you is its address.",
    "This sentence is a recording; with the demo voice installed, I will say whatever you type.",
    "Thank you for listening, and have a good day.",
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
