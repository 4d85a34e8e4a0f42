"""``nearfield doctor``: look at everything, one thing after the other, and say what to do."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from rich.console import Console

from app.config import AudioConfig, Config
from app.engine.demo import demo_server
from app.errors import ReportError
from app.headless.doctor import bounded, decoding, server, settings, sound, versions
from app.headless.doctor.bounded import Check
from app.headless.doctor.finding import Finding, exit_code
from app.headless.doctor.privacy import Discreet
from app.headless.doctor.settings import Asked
from app.headless.doctor.show import as_json, as_report, show
from decoder.wire.events import Mode


@dataclass(frozen=True)
class DoctorOptions:
    """What was asked for on the command line."""

    asked: Asked = field(default_factory=Asked)
    demo: bool = False
    tone: bool = False
    """Play a tone that whoever is there can hear."""
    speak: bool = False
    """Have the server speak a few words."""
    as_json: bool = False
    report: Path | None = None


def run(options: DoctorOptions, out: Console, notes: Console) -> int:
    """Look, print to ``out``, say what is going on to ``notes``; return an exit code.

    Raises:
        ReportError: the report cannot be written; it is told before anything is looked at where it can be.

    """
    if options.report is not None:
        _check_writable(options.report)
    with contextlib.ExitStack() as stack:
        tell: Callable[[str], None] = lambda text: None  # noqa: E731
        if notes.is_terminal:
            tell = stack.enter_context(notes.status("")).update
        findings, config = asyncio.run(examine(options, tell))
    shown = list(Discreet.about(config).all(findings))
    if options.as_json:
        out.print(as_json(shown), markup=False, highlight=False, soft_wrap=True)
    else:
        show(shown, out)
    if options.report is not None:
        _write(options.report, as_report(shown, datetime.now(timezone.utc)))
        notes.print(f"wrote {options.report}", markup=False, highlight=False, soft_wrap=True)
    return exit_code(shown)


async def examine(options: DoctorOptions, tell: Callable[[str], None]) -> tuple[list[Finding], Config | None]:
    """Look at everything that can be looked at; ``tell`` is told what it is about to be.

    Returns the findings, and the configuration that they are about; ``None`` if it cannot be used.
    """
    findings: list[Finding] = []

    async def look(name: str, at: Callable[[], Finding], limit_s: float, if_stuck: str) -> Finding:
        tell(f"looking at {name}")
        findings.append(await bounded.run(Check(name, at, limit_s, if_stuck)))
        return findings[-1]

    await look(versions.CHECK, versions.check, versions.LIMIT_S, "look at the disk that nearfield is on")
    read = settings.read(options.asked)
    findings.append(read.finding)
    config = read.config
    audio = AudioConfig() if config is None else config.audio
    listen = partial(sound.check, audio, play=options.tone)
    await look(sound.CHECK, listen, sound.LIMIT_S, "restart the sound server")
    if config is None:
        return findings, None
    async with _effective(config, options.demo) as used:
        network = "look at the network, and at what answers at server.url"
        reached = await look(
            server.SERVER, partial(server.check_server, used), server.SERVER_LIMIT_S, network
        )
        mode = server.mode_of(reached)
        if options.speak and mode is not None:
            await look(server.SPEECH, partial(server.check_speech, used), server.SPEECH_LIMIT_S, network)
    decoder, mode = used.decoder, mode or Mode.UNKNOWN
    whole = partial(decoding.check_checkpoint, decoder, mode)
    await look(decoding.CHECKPOINT, whole, decoding.CHECKPOINT_LIMIT_S, "look at the disk that it is on")
    speed = partial(decoding.check_speed, decoder, mode)
    await look(decoding.SPEED, speed, decoding.SPEED_LIMIT_S, "end what else computes here")
    return findings, config


@contextlib.asynccontextmanager
async def _effective(config: Config, demo: bool) -> AsyncIterator[Config]:
    """Yield what is looked at: with ``demo``, the embedded server and its decoder."""
    if not demo:
        yield config
        return
    async with demo_server(config) as (used, _):
        yield used


def _check_writable(path: Path) -> None:
    if (
        not path.parent.is_dir()
        or path.is_dir()
        or not os.access(path if path.exists() else path.parent, os.W_OK)
    ):
        raise ReportError(f"the report cannot be written to {path}: name a file in a folder of yours")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportError(f"the report cannot be written to {path}: {error.strerror or error}") from None
