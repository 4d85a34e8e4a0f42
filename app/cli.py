"""The command ``nearfield``: flags to configuration, configuration to a front end.

Front ends are imported in their branches, so that a kiosk loads no window and ``--help`` loads nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import platform
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from app import config as configuration
from app.config import Config
from app.errors import ConfigError, NearfieldError, Unreachable
from app.headless.service_logs import set_up_logs
from assets.bundle import is_bundle

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
    _stand_in_for_missing_streams()
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


def _stand_in_for_missing_streams() -> None:
    """Give a program that was started without a terminal, as on Windows, streams that take everything."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 well, 1 not well, 2 unusable, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its number, not a traceback.
            stream.reconfigure(errors="backslashreplace")
    try:
        parser = _parser()
        options = _parse(parser, arguments)
        set_up_logs(options.verbose)
        command = _show_version if options.version else options.run
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
        # To whoever has no server: there is something to hear all the same.
        hint = "; start the demo with --demo" if isinstance(error, Unreachable) else ""
        print(f"nearfield: {error}{hint}", file=sys.stderr)
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
        epilog="Without a command it opens the window. From a terminal:"
        " nearfield say --demo 'Hello from the edge'",
    )
    parser.add_argument(
        "--version", action="store_true", help="print the version; --json: and what it runs on"
    )
    parser.add_argument(
        "--self-test", action="store_true", help="try everything that this program is made of, and end"
    )
    parser.add_argument(
        "--no-gui", action="store_true", help="kiosk: speak the lines of standard input, recover by itself"
    )
    parser.add_argument(
        "--speak", default="", metavar="TEXT", help="speak TEXT in the window, which is opened if none is"
    )
    parser.add_argument(
        "--profile-startup", action="store_true", help="print what the start of the window took, and end"
    )
    _add_common(parser)
    parser.set_defaults(run=_run_without_command, parser=parser, verbose=0)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    for name, add, help_text in (
        ("say", _add_say, "speak a sentence, or what comes through a pipe"),
        ("fetch", _add_fetch, "download a checkpoint's decoder from a Hugging Face repository"),
        ("devices", _add_devices, "list the sound devices"),
        ("bench", _add_bench, "measure the decoder on this machine"),
        ("parity", _add_parity, "compare the decoder with the official one, and two servers with each other"),
        ("load", _add_load, "measure what a server does for many sessions at once"),
        ("doctor", _add_doctor, "look at sound, server, decoder and settings, and say what to do"),
        ("server", _add_server, "look after a server: check the file that it is deployed with"),
        ("mcp", _add_mcp, "speak for an assistant, which uses tools over standard input and output"),
        ("speechd", _add_speechd, "speak for speech-dispatcher, which starts this as an output module"),
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
        "text", nargs="*", metavar="TEXT", help="what to say; - reads standard input line by line"
    )
    parser.add_argument(
        "--clipboard",
        action="store_true",
        help="say the text of the clipboard, in the window if it is open: for a key of the desktop's",
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


def _add_parity(parser: argparse.ArgumentParser) -> None:
    _add_talk_to_server(parser)
    shared = _adder(parser)
    shared("--seed", help="of random codes, or of what the servers speak (1)")
    shared("--checkpoint", help="a folder or a repository id; left out: random weights of full size")
    shared("--precision", help="exact, auto or fast")
    shared("--threads", help="threads of the decoder; 0: all CPUs this process may use")
    add = parser.add_argument
    add("--configured", action="store_true", help="take the configured checkpoint")
    codes = parser.add_mutually_exclusive_group()
    codes.add_argument("--tape", type=Path, metavar="FILE", help="decode a recorded tape's codes")
    codes.add_argument("--text", help="decode the codes that the server sends for TEXT")
    codes.add_argument("--frames", type=_count, default=150, metavar="N", help="decode random codes (150)")
    add("--two-stage", default="", metavar="URL", help="also compare with a server that decodes itself")
    add("--threshold-db", type=float, metavar="DB", help="least SNR of ours (80; 35 if precision is reduced)")
    add("--two-stage-db", type=float, metavar="DB", help="least SNR over the prefix that both servers share")
    add("--timeout-s", type=_seconds, default=60.0, metavar="S", help="how long a server may speak (60)")
    add("--plot", type=Path, metavar="FILE", help="draw the SNR of each second, as .png or .svg")
    parser.set_defaults(run=_run_parity)


def _add_talk_to_server(parser: argparse.ArgumentParser) -> None:
    shared = _adder(parser)
    shared("--server", metavar="URL", help="address of the speech server, such as ws://host:8001")
    shared("--voice", help="speaker")
    shared("--language", help="language of the text, or Auto")
    shared("--task", help="CustomVoice, VoiceDesign or Base")
    shared("--instructions", help="style in words")
    shared("--config", type=Path, metavar="FILE", help="configuration file")
    shared("--json", action="store_true", help="print one JSON object")
    shared("-v", "--verbose", action="count", help="log more")


def _add_load(parser: argparse.ArgumentParser) -> None:
    _add_talk_to_server(parser)
    _adder(parser)("--seed", help="of the first session; each other one has the next (1)")
    add = parser.add_argument
    add(
        "--sessions",
        type=_count,
        nargs="+",
        default=[4, 16, 64],
        metavar="N",
        help="at once, in turn (4 16 64)",
    )
    add("--repeat", type=_count, default=1, metavar="K", help="texts that each session has spoken")
    add("--duration-s", type=_seconds, metavar="S", help="instead: begin texts for so long, in each round")
    add("--ramp-s", type=_seconds, default=0.0, metavar="S", help="start the sessions over so many seconds")
    add("--words", type=_count, default=6, metavar="N", help="of each text, at least 2 (6)")
    add("--timeout-s", type=_seconds, default=60.0, metavar="S", help="a text that takes longer failed (60)")
    add("--pcm", action="store_true", help="have the server decode, also if it could send codec tokens")
    add("--no-solo", action="store_true", help="do not compare frames with those of each text spoken alone")
    add("--solo-at-once", type=_count, default=1, metavar="N", help="texts spoken for that at a time (1)")
    add(
        "--allow-divergence", action="store_true", help="frames may leave the solo run for good (GPU batches)"
    )
    add("--plot", type=Path, metavar="FILE", help="draw the figures, as .png or .svg")
    parser.set_defaults(run=_run_load)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    add = parser.add_argument
    add("--tone", action="store_true", help="play a tone that whoever is there can hear")
    add("--speak", action="store_true", help="have the server speak a few words, to take the time")
    add("--report", type=Path, metavar="FILE", help="write what was found, without secrets, to send it on")
    parser.set_defaults(run=_run_doctor)


def _add_server(parser: argparse.ArgumentParser) -> None:
    _adder(parser)("-v", "--verbose", action="count", help="log more")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", parser_class=_Parser, required=True)
    text = "say what is wrong with deploy files of vLLM-Omni, without vLLM and without a GPU"
    checking = actions.add_parser("check", help=text, description=f"{text[0].upper()}{text[1:]}.")
    _adder(checking)("--json", action="store_true", help="print one JSON list")
    _adder(checking)("-v", "--verbose", action="count", help="log more")
    checking.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="such as qwen3_tts_talker_only.yaml"
    )
    checking.set_defaults(run=_run_server_check, parser=checking)


def _add_mcp(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    parser.set_defaults(run=_run_mcp)


def _add_speechd(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    parser.add_argument(
        "module_file", nargs="?", type=Path, metavar="FILE", help="the module's own settings; may be absent"
    )
    parser.set_defaults(run=_run_speechd)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def _is_plain(options: argparse.Namespace) -> bool:
    """Whether nothing was asked of ``say`` that only it can do, so that an open window may do it instead."""
    given = vars(options)
    asked = [name for name in (*_FLAG_KEYS, "demo", "json") if name in given]
    return not asked and options.output is None and not options.no_play


def _config(options: argparse.Namespace) -> Config:
    return configuration.load(vars(options).get("config"), flags=_flags(options))


def _flags(options: argparse.Namespace) -> dict[str, Any]:
    """Return what was given for keys of the configuration; ``None`` for what was not."""
    given = vars(options)
    overridden = [f"--{name.replace('_', '-')}" for name in _OF_THE_SERVER if name in given]
    if given.get("demo") and overridden:
        options.parser.error(
            f"--demo has its own server, voice and decoder: leave out {', '.join(overridden)}"
        )
    return {key: given.get(name) for name, key in _FLAG_KEYS.items()}


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

    if options.clipboard and options.text:
        options.parser.error("say either TEXT or --clipboard")
    if not options.text and not options.clipboard:
        options.parser.error("the following arguments are required: TEXT, or --clipboard")
    text = " ".join(options.text)
    if options.clipboard:
        _require_window()
        from app.gui.run import clipboard_text, hand_over_clipboard

        if _is_plain(options) and hand_over_clipboard(getattr(options, "config", None)):
            return 0
        text = clipboard_text()
    if options.output == Path("-"):
        options.parser.error("--output writes a WAV file and needs its name")
    display = _display(options)
    is_piped = text == "-" and not options.clipboard
    if not is_piped and not is_speakable(clean(text)):
        display.say(NOTHING_TO_SAY)
        return 0
    request = SayRequest(
        texts=(lambda: lines_of(sys.stdin)) if is_piped else (lambda: one(text)),
        output=options.output,
        demo=getattr(options, "demo", False),
        play=not options.no_play,
    )
    return run(_config(options), request, display)


def _run_without_command(options: argparse.Namespace) -> int:
    if options.self_test:
        return _run_self_test(options)
    return _run_kiosk(options) if options.no_gui else _run_window(options)


def _show_version(options: argparse.Namespace) -> int:
    if not getattr(options, "json", False):
        print(f"nearfield {version('nearfield')}")
        return 0
    about = {
        "name": "nearfield",
        "version": version("nearfield"),
        "python": platform.python_version(),
        "system": sys.platform,
        "machine": platform.machine(),
        "frozen": is_bundle(),
    }
    print(json.dumps(about))
    return 0


def _run_self_test(options: argparse.Namespace) -> int:
    from app.gui.startup import PACKAGES, why_qt_does_not_load
    from app.headless.self_test import run

    has_window = all(importlib.util.find_spec(name) is not None for name in PACKAGES)
    return run(
        as_json=getattr(options, "json", False), why_no_qt=why_qt_does_not_load if has_window else None
    )


def _run_kiosk(options: argparse.Namespace) -> int:
    from app.headless.run import run

    def read() -> Config:
        config = _config(options)
        if "http" in config.kiosk.sources:
            configuration.require_private(vars(options).get("config"), "kiosk.http_token")
        return config

    return run(read(), _display(options), demo=getattr(options, "demo", False), reload=read)


def _run_window(options: argparse.Namespace) -> int:
    _require_window()
    from app.gui.run import WindowOptions, run

    asked = WindowOptions(
        verbose=options.verbose, profile_startup=options.profile_startup, speak=options.speak
    )
    return run(getattr(options, "config", None), _flags(options), getattr(options, "demo", False), asked)


def _require_window() -> None:
    """Raise ConfigError with the next step where no window can be opened, before Qt would end the process."""
    from app.gui.startup import why_no_window, why_qt_does_not_load

    if reason := why_no_window(os.environ) or why_qt_does_not_load():
        raise ConfigError(reason)


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


def _run_server_check(options: argparse.Namespace) -> int:
    from rich.console import Console

    from app.headless.server_check import run

    return run(options.files, Console(), as_json=getattr(options, "json", False))


def _run_mcp(options: argparse.Namespace) -> int:
    from app.headless.mcp.run import run

    return run(_config(options), is_demo=getattr(options, "demo", False))


def _run_speechd(options: argparse.Namespace) -> int:
    from app.headless.speechd.run import Asked, run

    return run(
        Asked(
            module_file=options.module_file,
            config_file=getattr(options, "config", None),
            flags=_flags(options),
            is_demo=getattr(options, "demo", False),
        )
    )


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


def _run_parity(options: argparse.Namespace) -> int:
    from rich.console import Console

    from app.headless.parity import ParityOptions, run

    asked = ParityOptions(
        checkpoint=getattr(options, "checkpoint", None),
        configured=options.configured,
        tape=options.tape,
        text=options.text,
        frames=options.frames,
        two_stage=options.two_stage,
        threshold_db=options.threshold_db,
        two_stage_db=options.two_stage_db,
        limit_s=options.timeout_s,
        as_json=getattr(options, "json", False),
        plot=options.plot,
    )
    for name in ("two_stage", "server"):
        if getattr(options, name, "") and not asked.text:
            options.parser.error(f"--{name.replace('_', '-')} speaks a text: give it with --text")
    if asked.two_stage_db is not None and not asked.two_stage:
        options.parser.error("--two-stage-db judges another server: name it with --two-stage")
    if asked.configured and asked.checkpoint is not None:
        options.parser.error("--configured and --checkpoint name two checkpoints: leave one out")
    return run(_config(options), asked, Console(), Console(stderr=True))


def _run_load(options: argparse.Namespace) -> int:
    from rich.console import Console

    from app.headless.load import LoadOptions, run

    asked = LoadOptions(
        levels=tuple(options.sessions),
        texts=options.repeat,
        duration_s=options.duration_s,
        ramp_s=options.ramp_s,
        words=options.words,
        limit_s=options.timeout_s,
        pcm=options.pcm,
        solo=not options.no_solo,
        solo_at_once=options.solo_at_once,
        allow_divergence=options.allow_divergence,
        as_json=getattr(options, "json", False),
        plot=options.plot,
    )
    return run(_config(options), asked, Console(), Console(stderr=True))


def _run_doctor(options: argparse.Namespace) -> int:
    from rich.console import Console

    from app.headless.doctor.run import DoctorOptions, run
    from app.headless.doctor.settings import Asked

    given = DoctorOptions(
        asked=Asked(getattr(options, "config", None), _flags(options)),
        demo=getattr(options, "demo", False),
        tone=options.tone,
        speak=options.speak,
        as_json=getattr(options, "json", False),
        report=options.report,
    )
    return run(given, Console(), Console(stderr=True))


if __name__ == "__main__":
    entry()
