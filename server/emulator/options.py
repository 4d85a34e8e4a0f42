"""Options that every server of ours has, and how it runs until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import ssl
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from server.emulator.emulator import PING_S, Emulator
from server.emulator.scenario import Scenario
from server.emulator.talkers import Talker

DEFAULT_PORT = 8001


@dataclass(frozen=True)
class Serving:
    """Where and to whom a server answers; the fields are those of :class:`Emulator`."""

    host: str
    port: int
    api_key: str | None
    tls: ssl.SSLContext | None
    ping_interval_s: float
    ping_timeout_s: float

    def emulator(self, talker: Talker, scenario: Scenario) -> Emulator:
        """Return the server, not yet open; in a process of its own nobody looks at what it remembers."""
        return Emulator(
            talker,
            scenario,
            kept_records=0,
            host=self.host,
            port=self.port,
            api_key=self.api_key,
            ssl=self.tls,
            ping_interval_s=self.ping_interval_s,
            ping_timeout_s=self.ping_timeout_s,
        )


def add_serving_arguments(parser: argparse.ArgumentParser) -> None:
    """Give ``parser`` the options that :func:`serving_from` reads, and ``--verbose``."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0: any (default: %(default)s)")
    parser.add_argument("--api-key-env", metavar="NAME", help="environment variable with the key to ask for")
    parser.add_argument("--tls-cert", type=Path, metavar="PEM", help="serve wss with this certificate")
    parser.add_argument("--tls-key", type=Path, metavar="PEM", help="its key, if it is in another file")
    parser.add_argument("--ping-interval-s", type=float, default=PING_S, help="default: %(default)s")
    parser.add_argument("--ping-timeout-s", type=float, default=PING_S, help="default: %(default)s")
    parser.add_argument("--verbose", action="store_true", help="say who connects")


def serving_from(arguments: argparse.Namespace) -> Serving:
    """Return what the options ask for.

    Raises:
        ValueError: ``--api-key-env`` names a variable that is not set, or a key comes without a certificate.
        OSError: a certificate or key that cannot be read.

    """
    return Serving(
        arguments.host,
        arguments.port,
        _api_key(arguments.api_key_env),
        _tls(arguments.tls_cert, arguments.tls_key),
        arguments.ping_interval_s,
        arguments.ping_timeout_s,
    )


def run(
    open_talker: Callable[[], AbstractAsyncContextManager[Talker]],
    scenario: Scenario,
    serving: Serving,
    *unusable: type[Exception],
) -> int:
    """Serve until SIGINT or SIGTERM; the exit code is 0 after a signal, 2 for what cannot be used.

    ``open_talker`` may take its time: it runs before the event loop does, where Ctrl-C ends it at once. It,
    or the talker, raises ``unusable`` with a text for the user.
    """
    refusals: tuple[type[Exception], ...] = (OSError, *unusable)
    try:
        asyncio.run(_serve(open_talker(), scenario, serving))
    except refusals as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 0
    return 0


def start_log(*, verbose: bool) -> None:
    """Write what is logged to stderr; without ``verbose`` only what went wrong."""
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, stream=sys.stderr)


async def _serve(talkers: AbstractAsyncContextManager[Talker], scenario: Scenario, serving: Serving) -> None:
    """Open the talker and then the server, print its address, and run until it is told to stop."""
    async with talkers as talker, serving.emulator(talker, scenario) as emulator:
        stop = _stop_signal()
        if talker.notice:
            sys.stderr.write(f"{talker.notice}\n")
        sys.stdout.write(f"{emulator.url}\n")
        sys.stdout.flush()
        await stop.wait()


def _stop_signal() -> asyncio.Event:
    """Return what SIGINT and SIGTERM set, where the loop takes signal handlers."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C arrives as KeyboardInterrupt
            loop.add_signal_handler(number, stop.set)
    return stop


def _api_key(name: str | None) -> str | None:
    if name is None:
        return None
    if not os.environ.get(name):
        raise ValueError(f"--api-key-env names {name}, which is not set")
    return os.environ[name]


def _tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if certificate is None:
        if key is not None:
            raise ValueError("--tls-key is of no use without --tls-cert")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
