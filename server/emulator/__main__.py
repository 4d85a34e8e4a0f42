"""``python -m server.emulator``: the server alone, until SIGINT or SIGTERM."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path

from decoder.errors import TapeError
from server.emulator.demo_voice import VoiceMissing
from server.emulator.emulator import PING_S, Emulator
from server.emulator.scenario import Scenario, add_scenario_arguments, scenario_from
from server.emulator.talkers import DemoVoiceTalker, SyntheticTalker, Talker, TapeTalker, demo_talker

DEFAULT_PORT = 8001


def main(argv: Sequence[str] | None = None) -> int:
    """Run the server; the exit code is 0 after a signal, 2 for options that cannot be used."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        scenario = scenario_from(arguments)
        api_key = _api_key(arguments.api_key_env)
        context = _tls(arguments.tls_cert, arguments.tls_key)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    logging.basicConfig(level=logging.INFO if arguments.verbose else logging.WARNING, stream=sys.stderr)
    try:
        asyncio.run(_run(arguments, scenario, api_key, context))
    except (OSError, TapeError, VoiceMissing) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 0  # where the loop takes no signal handlers
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m server.emulator", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0: any (default: %(default)s)")
    parser.add_argument(
        "--voice",
        choices=("auto", "demo", "tapes", "synthetic"),
        default="auto",
        help="auto: the demo voice if it is installed, else recorded tapes (default: %(default)s)",
    )
    parser.add_argument("--api-key-env", metavar="NAME", help="environment variable with the key to ask for")
    parser.add_argument("--tls-cert", type=Path, metavar="PEM", help="serve wss with this certificate")
    parser.add_argument("--tls-key", type=Path, metavar="PEM", help="its key, if it is in another file")
    parser.add_argument("--ping-interval-s", type=float, default=PING_S, help="default: %(default)s")
    parser.add_argument("--ping-timeout-s", type=float, default=PING_S, help="default: %(default)s")
    parser.add_argument("--verbose", action="store_true", help="say who connects")
    add_scenario_arguments(parser)
    return parser


async def _run(
    arguments: argparse.Namespace, scenario: Scenario, api_key: str | None, context: ssl.SSLContext | None
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C arrives as KeyboardInterrupt
            loop.add_signal_handler(number, stop.set)
    talker = await _talker(arguments.voice)
    emulator = Emulator(
        talker,
        scenario,
        host=arguments.host,
        port=arguments.port,
        api_key=api_key,
        ssl=context,
        ping_interval_s=arguments.ping_interval_s,
        ping_timeout_s=arguments.ping_timeout_s,
    )
    async with emulator:
        if talker.notice:
            sys.stderr.write(f"{talker.notice}\n")
        sys.stdout.write(f"{emulator.url}\n")
        sys.stdout.flush()
        await stop.wait()


async def _talker(voice: str) -> Talker:
    match voice:
        case "demo":
            return DemoVoiceTalker()
        case "tapes":
            return TapeTalker()
        case "synthetic":
            return SyntheticTalker()
    return await demo_talker()


def _api_key(name: str | None) -> str | None:
    if name is None:
        return None
    if not os.environ.get(name):
        raise ValueError(f"--api-key-env names {name}, which is not set")
    return os.environ[name]


def _tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


if __name__ == "__main__":
    sys.exit(main())
