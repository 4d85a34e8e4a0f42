"""``nearfield speechd``: the output module's process, started by speech-dispatcher and ended with it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from app import config as configuration
from app.config import Config
from app.errors import ConfigError
from app.headless.offered import Offered
from app.headless.owned import owned_desk
from app.headless.speaking import EXIT_OK, EXIT_TERMINATED, until_interrupted
from app.headless.speechd import protocol
from app.headless.speechd.module import Module
from app.headless.speechd.protocol import Conversation, Debug, Init
from app.headless.voices import KnownVoices

log = logging.getLogger("nearfield.speechd")

VOICES_S = 2.0
"""How long speech-dispatcher, which does nothing else meanwhile, waits for the server's list of voices."""
MAX_LINE_BYTES = 4 * protocol.MAX_BLOCK_CHARS


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    module_file: Path | None = None
    """The module's file in speech-dispatcher's configuration; it may be absent."""
    config_file: Path | None = None
    """Nearfield's, if another than the default one is to be used."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """``section.key`` → value; ``None`` for flags that were not given."""
    is_demo: bool = False
    """Use the embedded server."""


def run(asked: Asked) -> int:
    """Converse on standard input and output until that ends, and return an exit code."""
    with _wire() as (read, write):
        try:
            config, is_demo = load(asked)
        except ConfigError as error:
            return _refuse(read, write, str(error))
        code = asyncio.run(until_interrupted(lambda: _converse(config, is_demo, read, write)))
        return EXIT_OK if code == EXIT_TERMINATED else code


def load(asked: Asked) -> tuple[Config, bool]:
    """Read the configuration; whether the embedded server is used is said beside it.

    Nearfield's file < environment < the module's file < flags. The module's file has a
    line for each ``section.key VALUE``, and ``Config FILE`` and ``Demo yes``.

    Raises:
        ConfigError: a file that cannot be read, an unknown key, or a value that does not fit.

    """
    values = _module_values(asked.module_file)
    named, demo = values.pop("config", None), values.pop("demo", "no")
    path = asked.config_file or (None if named is None else Path(named).expanduser())
    config = configuration.merge(
        (str(path or configuration.default_path()), configuration.file_values(path)),
        ("the environment", configuration.environment_values(os.environ)),
        (str(asked.module_file), values),
        ("the command line", {key: value for key, value in asked.flags.items() if value is not None}),
    )
    return config, asked.is_demo or demo.lower() in ("yes", "on", "1", "true")


def _module_values(module_file: Path | None) -> dict[str, str]:
    """Return what the module's file says, as key in lower case → value."""
    if module_file is None:
        return {}
    try:
        lines = module_file.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{module_file} cannot be read: {error}") from None
    values = {}
    for number, line in enumerate(lines, 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise ConfigError(f"{module_file}, line {number}: {error}") from None
        if words and len(words) != 2:
            raise ConfigError(f"{module_file}, line {number}: expected a key and a value")
        if words:
            values[words[0].lower()] = words[1]
    return values


@contextlib.contextmanager
def _wire() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Yield standard input and output for the protocol alone: what else is printed goes to the log."""
    read, write = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    sys.stdout.flush()
    os.dup2(2, 1)
    try:
        yield read, write
    finally:
        sys.stdout.flush()
        with contextlib.suppress(OSError):
            write.flush()
            os.dup2(write.fileno(), 1)
        read.close()
        with contextlib.suppress(OSError):
            write.close()


def _refuse(read: BinaryIO, write: BinaryIO, reason: str) -> int:
    """Answer INIT with why it is in vain."""
    log.error("%s", reason)
    if Conversation().receive(read.readline().decode("utf-8", "replace").strip())[0] == Init():
        _send(write, protocol.cannot_start(reason))
    return 1


async def _converse(config: Config, is_demo: bool, read: BinaryIO, write: BinaryIO) -> int:
    async with owned_desk(config, is_demo) as owned:
        offered = Offered(KnownVoices(lambda: owned.desk.config).names, VOICES_S)
        module = Module(
            owned.desk,
            config,
            is_demo,
            write=lambda lines: _send(write, lines),
            voices=offered.names,
            empty_output=owned.empty_output,
            log_to=Logbook().write_to,
        )
        try:
            await converse(module, await _reader(read), lambda lines: _send(write, lines))
        finally:
            await module.aclose()
            await offered.aclose()
    return EXIT_OK


async def converse(
    module: Module, reader: asyncio.StreamReader, write: Callable[[Sequence[str]], None]
) -> None:
    """Take lines until the other side is gone or has said that it is over."""
    conversation = Conversation()
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            log.error("a line of more than %d bytes came: that is not speech-dispatcher", MAX_LINE_BYTES)
            return
        if not line.endswith(b"\n"):
            return
        command, answer = conversation.receive(line.decode("utf-8", "replace").rstrip("\r\n"))
        if answer is not None:
            write([answer])
        if command is not None and not await module.handle(command):
            return


async def _reader(read: BinaryIO) -> asyncio.StreamReader:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), read)
    return reader


def _send(write: BinaryIO, lines: Sequence[str]) -> None:
    # Whoever does not read any more has gone, and the end of what is read says so.
    with contextlib.suppress(BrokenPipeError):
        write.write("".join(f"{line}\n" for line in lines).encode())
        write.flush()


class Logbook:
    """Where the log goes besides standard error, which is speech-dispatcher's file for the module."""

    def __init__(self) -> None:
        self._handler: logging.Handler | None = None

    def write_to(self, asked: Debug) -> bool:
        """Log everything to the file that is asked for, or no longer; False if it cannot be written."""
        root = logging.getLogger("nearfield")
        if self._handler is not None:
            root.removeHandler(self._handler)
            self._handler.close()
            self._handler = None
        root.setLevel(logging.DEBUG if asked.is_on else logging.NOTSET)
        if asked.is_on:
            try:
                self._handler = logging.FileHandler(asked.path, encoding="utf-8")
            except OSError as error:
                log.error("%s cannot be written: %s", asked.path, error)
                return False
            root.addHandler(self._handler)
        return True
