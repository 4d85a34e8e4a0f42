"""The lines of a named pipe: any program may write one, and writers may come and go."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from app.errors import ConfigError
from app.text import MAX_TEXT_CHARS
from app.within import within

READ_BYTES = 64 * 1024
WHOLE_S = 0.5
"""What was written without a line break is taken for a line if nothing follows for so long."""


@asynccontextmanager
async def lines_of_pipe(path: Path) -> AsyncIterator[AsyncIterator[str]]:
    """Open the named pipe at ``path``, made for its owner alone if it is absent, and yield its lines.

    Raises:
        ConfigError: there is something else at ``path``, or it cannot be made or opened.

    """
    descriptor = _open(path)
    reader = asyncio.StreamReader(limit=READ_BYTES)
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            yield _lines(reader)
        finally:
            transport.close()
            # The transport lets go of the pipe in the loop's next turn.
            await asyncio.sleep(0)


def _open(path: Path) -> int:
    try:
        with contextlib.suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        # For writing, too: then there is always a writer, and the end of one is not the end of all.
        descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    except OSError as error:
        raise ConfigError(f"kiosk.pipe: {path} cannot be used: {error.strerror}") from None
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ConfigError(f"kiosk.pipe: {path} is there and is no named pipe: name another, or remove it")
    return descriptor


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    rest = ""
    while True:
        data = await _read(reader, WHOLE_S if rest else None)
        if data == b"":
            return
        if data is None:
            rest += decoder.decode(b"", final=True)
            decoder.reset()
            yield rest
            rest = ""
            continue
        *lines, rest = (rest + decoder.decode(data)).split("\n")
        if len(rest) > MAX_TEXT_CHARS:
            lines, rest = [*lines, rest], ""
        for line in lines:
            yield line


async def _read(reader: asyncio.StreamReader, limit_s: float | None) -> bytes | None:
    """Return what has come, or ``None`` if nothing has within ``limit_s``."""
    try:
        return await within(limit_s, reader.read(READ_BYTES))
    except asyncio.TimeoutError:
        return None
