"""Where texts come from when there is no window."""

from __future__ import annotations

import asyncio
import contextlib
import io
import threading
from collections.abc import AsyncIterator
from typing import TextIO

from app.text import clean, is_speakable


async def lines_of(stream: TextIO) -> AsyncIterator[str]:
    """Yield the lines of ``stream`` as they come; empty ones separate paragraphs and are skipped.

    A read cannot be interrupted, so it happens in a daemon thread that never holds up the program's end.
    Bytes that are no text are replaced.
    """
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        with contextlib.suppress(RuntimeError, ValueError, OSError):  # loop or stream has closed meanwhile
            for line in stream:
                loop.call_soon_threadsafe(lines.put_nowait, line)
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, name="nearfield-stdin", daemon=True).start()
    while (line := await lines.get()) is not None:
        if is_speakable(clean(line)):
            yield line
