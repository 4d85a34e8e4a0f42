"""The command ``nearfield``: flags to configuration, configuration to a front end.

Front ends are imported in their branches, so that a kiosk loads no window and ``--help`` loads nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from app import config as configuration
from app.config import Config
from app.errors import NearfieldError

_FLAG_KEYS = {
    "server": "server.url",
    "voice": "voice.name",
    "language": "voice.language",
    "task": "voice.task",
    "instructions": "voice.instructions",
    "seed": "voice.seed",
    "checkpoint": "decoder.checkpoint",
    "decoder_device": "decoder.device",
    "threads": "decoder.threads",
    "precision": "decoder.precision",
    "device": "audio.device",
    "latency": "audio.latency_s",
    "start_buffer": "audio.start_buffer_s",
    "lead_in": "audio.lead_in_s",
    "patience": "server.patience_s",
}


_OF_THE_SERVER = ("server", "voice", "language", "task", "instructions", "seed", "checkpoint")


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors list what is known."""

    def error(self, message: str) -> NoReturn:
        """Print the error and the known options, and exit with 2."""
        options = sorted({o for a in self._actions for o in a.option_strings if o.startswith("--")})
        known = f"\nknown options: {' '.join(options)}" if "unrecognized" in message else ""
        self.exit(2, f"{self.prog}: {message}{known}\ntry {self.prog} --help\n")


def entry() -> NoReturn:
    """Run the command and end the process.

    A daemon thread that is still inside a library (importing torch, reading standard input) cannot be
    ended, and the interpreter's clean-up would abort around it: then the process ends without that.
    """
    try:
        code: Any = main()
    except SystemExit as end:
        code = end.code
    if any(thread.daemon for thread in threading.enumerate()):
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 well, 1 not well, 2 unusable, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its number, not a traceback.
            stream.reconfigure(errors="backslashreplace")
    parser = _parser()
    options = _parse(parser, arguments)
    logging.basicConfig(
        level=[logging.ERROR, logging.INFO, logging.DEBUG][min(options.verbose, 2)],
        format="%(asctime)s %(name)s: %(message)s",
    )
    try:
        command = options.run
        return int(command(options))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 1
    except Exception as error:
        return _fail(error)


def _fail(error: Exception) -> int:
    """Show an error that was raised on purpose as one line; anything else is a bug and keeps its trace."""
    from decoder.errors import DecoderError

    if isinstance(error, NearfieldError | DecoderError):
        print(f"nearfield: {error}", file=sys.stderr)
        return getattr(error, "exit_code", 1)
    raise error


def _parse(parser: _Parser, arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse with errors told by the subcommand they belong to, so that its options are the ones listed."""
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return options


def _parser() -> _Parser:
    parser = _Parser(
        prog="nearfield",
        description="Speech that is decoded where the listener is.",
        epilog="Start with: nearfield say --demo 'Hello from the edge'",
    )
    parser.add_argument("--version", action="version", version=f"nearfield {version('nearfield')}")
    parser.add_argument(
        "--no-gui", action="store_true", help="kiosk: speak the lines of standard input, recover by itself"
    )
    _add_common(parser)
    parser.set_defaults(run=_run_kiosk, parser=parser, verbose=0)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    for name, add, help_text in (
        ("say", _add_say, "speak a sentence, or what comes through a pipe"),
        ("fetch", _add_fetch, "download a checkpoint's decoder from a Hugging Face repository"),
        ("devices", _add_devices, "list the sound devices"),
        ("bench", _add_bench, "measure the decoder on this machine"),
    ):
        command = commands.add_parser(
            name, help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}."
        )
        command.set_defaults(parser=command)
        add(command)
    return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    # A subcommand's absent flag must not undo the same flag given before the subcommand.
    add = _adder(parser)
    add("--demo", action="store_true", help="use the embedded server and its small voice")
    add("--server", metavar="URL", help="address of the speech server, such as ws://host:8001")
    add("--voice", help="speaker")
    add("--language", help="language of the text, or Auto")
    add("--task", help="CustomVoice, VoiceDesign or Base")
    add("--instructions", help="style in words")
    add("--seed", help="for a repeatable reading")
    add("--checkpoint", help="decoder: a folder or a repository id")
    add("--decoder-device", help="cpu or cuda")
    add("--threads", help="threads of the decoder; 0: all CPUs this process may use")
    add("--precision", help="exact (float32), auto (measured once), or fast (reduced)")
    add("--device", help="sound device, as nearfield devices prints it")
    add("--latency", metavar="S", help="latency asked of the sound device")
    add("--start-buffer", metavar="S", help="sound to have before it starts")
    add("--lead-in", metavar="S", help="silence that wakes a sleeping sink")
    add("--patience", metavar="S", help="how long a text waits for a server that cannot be reached")
    add("--config", type=Path, metavar="FILE", help="configuration file")
    add("--json", action="store_true", help="print one JSON object for each utterance")
    add("-v", "--verbose", action="count", help="log more; twice for everything")


def _adder(parser: argparse.ArgumentParser) -> Any:
    def add(*names: str, **settings: Any) -> None:
        parser.add_argument(*names, default=argparse.SUPPRESS, **settings)

    return add


def _add_say(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    parser.add_argument(
        "text", nargs="+", metavar="TEXT", help="what to say; - reads standard input line by line"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the sound to a WAV file as well"
    )
    parser.add_argument(
        "--no-play", action="store_true", help="do not play: take the sound as fast as it comes"
    )
    parser.set_defaults(run=_run_say)


def _add_fetch(parser: argparse.ArgumentParser) -> None:
    _adder(parser)("-v", "--verbose", action="count", help="log more")
    parser.add_argument("repo", metavar="REPO", help="such as Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice")
    parser.add_argument("--revision", help="branch, tag or commit")
    parser.set_defaults(run=_run_fetch)


def _add_devices(parser: argparse.ArgumentParser) -> None:
    _adder(parser)("-v", "--verbose", action="count", help="log more")
    parser.set_defaults(run=_run_devices)


def _add_bench(parser: argparse.ArgumentParser) -> None:
    shared = _adder(parser)
    shared("--checkpoint", help="a folder or a repository id; left out: random weights of full size")
    shared("--precision", help="exact, auto or fast; measured beside exact")
    shared("--decoder-device", help="cpu or cuda")
    shared("--threads", help="threads of the decoder; 0: all CPUs this process may use")
    shared("--config", type=Path, metavar="FILE", help="configuration file")
    shared("--json", action="store_true", help="print one JSON object")
    shared("-v", "--verbose", action="count", help="log more")
    add = parser.add_argument
    add("--backend", action="append", default=[], metavar="NAME", help="measure this one instead; repeatable")
    add("--rounds", type=_count, default=5, metavar="N", help="how often each case is timed, in turn")
    add("--seconds", type=float, default=float("inf"), metavar="S", help="begin no round later than this")
    add("--against", choices=("official",), help="compare with qwen-tts in the same run (minutes)")
    add("--streams", type=_count, default=1, metavar="N", help="also decode N utterances side by side")
    add("--drift", action="store_true", help="also compare late steps with early ones")
    add("--tune", action="store_true", help="only redo and print the choice of decoder.precision: auto")
    add("--plot", type=Path, metavar="FILE", help="draw latency against chunk size, as .png or .svg")
    parser.set_defaults(run=_run_bench)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def _config(options: argparse.Namespace) -> Config:
    given = vars(options)
    overridden = [f"--{name.replace('_', '-')}" for name in _OF_THE_SERVER if name in given]
    if given.get("demo") and overridden:
        options.parser.error(
            f"--demo has its own server, voice and decoder: leave out {', '.join(overridden)}"
        )
    flags = {key: given.get(name) for name, key in _FLAG_KEYS.items()}
    return configuration.load(given.get("config"), flags=flags)


def _display(options: argparse.Namespace) -> Any:
    from rich.console import Console

    from app.headless.show import JsonDisplay, LiveDisplay, PlainDisplay

    if getattr(options, "json", False):
        return JsonDisplay(sys.stdout, sys.stderr)
    console = Console()
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(sys.stdout, sys.stderr)


def _run_say(options: argparse.Namespace) -> int:
    from app.headless.say import SayRequest, one, run
    from app.headless.sources import lines_of
    from app.headless.speaking import NOTHING_TO_SAY
    from app.text import clean, is_speakable

    text = " ".join(options.text)
    if options.output == Path("-"):
        options.parser.error("--output writes a WAV file and needs its name")
    display = _display(options)
    if text != "-" and not is_speakable(clean(text)):
        display.say(NOTHING_TO_SAY)
        return 0
    request = SayRequest(
        texts=(lambda: lines_of(sys.stdin)) if text == "-" else (lambda: one(text)),
        output=options.output,
        demo=getattr(options, "demo", False),
        play=not options.no_play,
    )
    return run(_config(options), request, display)


def _run_kiosk(options: argparse.Namespace) -> int:
    if not options.no_gui:
        options.parser.error("choose a command (say, fetch, devices, bench) or --no-gui")
    from app.headless.run import run

    return run(_config(options), _display(options), demo=getattr(options, "demo", False))


def _run_fetch(options: argparse.Namespace) -> int:
    from app.headless.fetching import run

    return run(options.repo, options.revision)


def _run_devices(options: argparse.Namespace) -> int:
    from app.audio.sounddevice_output import list_devices

    devices = list_devices()
    for device in devices:
        print(device.choice.format())
    if not devices:
        print("there is no sound device", file=sys.stderr)
    return 0 if devices else 1


def _run_bench(options: argparse.Namespace) -> int:
    from rich.console import Console

    from app.headless.bench import BenchOptions, run

    decoder = _config(options).decoder
    asked = BenchOptions(
        checkpoint=getattr(options, "checkpoint", None),
        precision=decoder.precision,
        backends=tuple(options.backend),
        device=decoder.device,
        threads=decoder.threads or None,
        rounds=options.rounds,
        seconds=options.seconds,
        against_official=options.against == "official",
        streams=options.streams,
        drift=options.drift,
        tune=options.tune,
        as_json=getattr(options, "json", False),
        plot=options.plot,
    )
    return run(asked, Console(), Console(stderr=True))


if __name__ == "__main__":
    entry()
