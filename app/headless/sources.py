"""Where texts come from when there is no window, one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import io
import threading
from collections.abc import AsyncIterator, Callable
from typing import TextIO

from app.desk.desk import Desk
from app.desk.events import Finished
from app.desk.request import Request
from app.desk.ticket import Final
from app.errors import DeskClosing, QueueFull
from app.text import MAX_TEXT_CHARS, clean, is_speakable


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


async def speak_lines(desk: Desk, lines: AsyncIterator[str], source: str, say: Callable[[str], None]) -> bool:
    """Have every line spoken as it comes, and return whether all were, once the last is over.

    No more are taken than may wait; ``say`` shows a person what was left out.
    """
    all_finished = True
    waiting: set[asyncio.Future[Final]] = set()

    def note(done: asyncio.Future[Final]) -> None:
        nonlocal all_finished
        waiting.discard(done)
        all_finished = all_finished and isinstance(done.result(), Finished)

    async for line in lines:
        if len(line) > MAX_TEXT_CHARS:
            say(f"the text is cut after {MAX_TEXT_CHARS} characters")
        if not is_speakable(text := clean(line[:MAX_TEXT_CHARS])):
            continue
        try:
            done = await _taken(desk, Request(text, source=source))
        except DeskClosing:
            break
        waiting.add(done)
        done.add_done_callback(note)
    while waiting:
        await asyncio.wait(waiting)
    return all_finished


async def _taken(desk: Desk, request: Request) -> asyncio.Future[Final]:
    while True:
        try:
            return desk.speak(request).done
        except QueueFull:
            await desk.room()
