"""One run of the model, in its thread on one side and on the event loop on the other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from decoder.wire.packets import Codes


class Stopped(Exception):
    """Nobody waits for these frames any more; it ends the run from within."""


class Generation:
    """Frames on their way from a thread to the loop.

    :meth:`run`, :meth:`check` and :meth:`take` belong to the thread, the rest to the loop. What is waiting is
    bounded by the length of one unit (4,096 frames of 32 bytes), so the thread never waits for a slow client
    while others wait for the model.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._frames: asyncio.Queue[Codes | Exception | None] = asyncio.Queue()
        self._stopped = threading.Event()

    async def next(self) -> Codes | None:
        """Return the next frames, or ``None`` after the last; raises what the run raised."""
        item = await self._frames.get()
        if isinstance(item, Exception):
            raise item
        return item

    def stop(self) -> None:
        """Let the run end before its next step, or never begin."""
        self._stopped.set()

    def run(self, speak: Callable[[Generation], None]) -> None:
        """Call ``speak(self)`` unless it was stopped before its turn came."""
        try:
            self.check()
            speak(self)
            self._tell(None)
        except Stopped:
            pass
        except Exception as error:  # it is raised again where the frames are awaited
            self._tell(error)

    def check(self) -> None:
        """Raise :class:`Stopped` if the rest is not wanted; called before every step."""
        if self._stopped.is_set():
            raise Stopped

    def take(self, codes: Codes) -> None:
        """Pass on frames int16 ``[n, codebooks]`` that nobody will change again."""
        self.check()
        self._tell(codes)

    def _tell(self, item: Codes | Exception | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._frames.put_nowait, item)
        except RuntimeError:
            self._stopped.set()  # the loop has closed: nobody listens any more
