"""``python -m server.reference``: the official talker as a server, until SIGINT or SIGTERM."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from server.emulator.options import add_serving_arguments, run, serving_from, start_log
from server.emulator.scenario import Scenario
from server.reference.errors import NotReady
from server.reference.loading import load
from server.reference.reference_audio import AudioPolicy
from server.reference.talker import ReferenceTalker

HONEST = Scenario(pace=0)
"""Nothing goes wrong on purpose, and a frame is sent when it is made."""
DTYPES = ("float32", "bfloat16", "float16")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the server; the exit code is 0 after a signal, 2 for what cannot be used."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        serving = serving_from(arguments)
        policy = _policy(arguments)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    start_log(verbose=arguments.verbose)

    def open_talker() -> ReferenceTalker:
        return ReferenceTalker(load(arguments.checkpoint, arguments.device, arguments.dtype), policy)

    return run(open_talker, HONEST, serving, NotReady)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m server.reference", description=__doc__)
    parser.add_argument(
        "--checkpoint", required=True, metavar="PATH", help="a folder, or a repository name to download"
    )
    parser.add_argument("--device", help="cpu, cuda:0, … (default: the first GPU, else the CPU)")
    parser.add_argument("--dtype", choices=DTYPES, help="default: float32 on a CPU, else bfloat16")
    parser.add_argument(
        "--ref-folder", type=Path, metavar="FOLDER", help="let clients name files below it in ref_audio"
    )
    parser.add_argument(
        "--ref-http",
        action="store_true",
        help="let clients name addresses in ref_audio; this machine fetches them, from its own network too",
    )
    add_serving_arguments(parser)
    return parser


def _policy(arguments: argparse.Namespace) -> AudioPolicy:
    folder: Path | None = arguments.ref_folder
    if folder is not None and not folder.is_dir():
        raise ValueError(f"--ref-folder {folder} is no folder")
    return AudioPolicy(folder, arguments.ref_http)


if __name__ == "__main__":
    sys.exit(main())
