"""``python -m server.emulator``: the server alone, until SIGINT or SIGTERM."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from decoder.errors import TapeError
from server.emulator.demo_voice import VoiceMissing
from server.emulator.options import add_serving_arguments, run, serving_from, start_log
from server.emulator.scenario import add_scenario_arguments, scenario_from
from server.emulator.talkers import DemoVoiceTalker, SyntheticTalker, Talker, TapeTalker, demo_talker


def main(argv: Sequence[str] | None = None) -> int:
    """Run the server; the exit code is 0 after a signal, 2 for options that cannot be used."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        scenario = scenario_from(arguments)
        serving = serving_from(arguments)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    start_log(verbose=arguments.verbose)
    return run(lambda: _talker(arguments.voice), scenario, serving, TapeError, VoiceMissing)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m server.emulator", description=__doc__)
    parser.add_argument(
        "--voice",
        choices=("auto", "demo", "tapes", "synthetic"),
        default="auto",
        help="auto: the demo voice if it is installed, else recorded tapes (default: %(default)s)",
    )
    add_serving_arguments(parser)
    add_scenario_arguments(parser)
    return parser


@asynccontextmanager
async def _talker(voice: str) -> AsyncIterator[Talker]:
    match voice:
        case "demo":
            yield DemoVoiceTalker()
        case "tapes":
            yield TapeTalker()
        case "synthetic":
            yield SyntheticTalker()
        case _:
            yield await demo_talker()


if __name__ == "__main__":
    sys.exit(main())
