"""One link with its wire, from the first message to the last; made new for each link."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from app.errors import Refused
from app.session.events import BytesArrived, LinkChanged, LinkState, SessionEvent
from app.within import within
from decoder.errors import MessageError
from decoder.wire.client import ClientSession
from decoder.wire.events import Event, LinkUseless
from decoder.wire.messages import SessionConfig

log = logging.getLogger("nearfield.session")

CANCEL_TIMEOUT_S = 0.2
_BROKEN = "an error of this program, see its log"


class Link(Protocol):
    """What a connection needs of :class:`app.session.link.Link`."""

    async def send(self, text: str) -> None:
        """Send a text message; never raises because the link has closed."""
        ...

    async def receive(self) -> str | bytes | None:
        """Return the next message, or ``None`` once the link has closed."""
        ...

    @property
    def close_reason(self) -> str:
        """Say why the link closed."""
        ...

    @property
    def trying_again_helps(self) -> bool:
        """Whether the same text may fare better on a fresh link."""
        ...

    async def close(self) -> None:
        """Close the link in bounded time."""
        ...


class Connection:
    """Always reads, sends what the wire has to say, and lets time pass for it.

    ``handle`` is told everything, in order. Whatever goes wrong in here ends the link, never silently.
    """

    def __init__(
        self,
        link: Link,
        wire: ClientSession,
        handle: Callable[[Connection, SessionEvent], None],
        clock: Callable[[], float],
    ) -> None:
        self._link = link
        self._wire = wire
        self._handle = handle
        self._clock = clock
        self._config: SessionConfig | None = None
        self._changed = asyncio.Event()
        self._outbox: asyncio.Queue[str] = asyncio.Queue()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.is_closed = False
        """The link has ended, or is of no use and being left."""

    @property
    def is_free(self) -> bool:
        """Whether an utterance may be sent now."""
        return not self.is_closed and self._wire.ready

    def start(self, config: SessionConfig) -> None:
        """Say who we are, ask what the server can, and read from now on.

        Raises:
            Refused: no server would take ``config``.

        """
        self.configure(config)
        self._wire.send_probe(self._clock())
        self._settle([])
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]

    def configure(self, config: SessionConfig) -> None:
        """Send ``config`` unless the server has it already.

        Raises:
            Refused: no server would take it.

        """
        if config == self._config:
            return
        try:
            self._wire.send_config(config, self._clock())
        except MessageError as error:
            raise Refused(f"the server would not take this configuration: {error}") from error
        self._config = config
        self._settle([])

    async def wait_until_free(self) -> bool:
        """Wait until an utterance may be sent; false if the link has closed instead."""
        while not (self.is_free or self.is_closed):
            self._changed.clear()
            await self._changed.wait()
        return self.is_free

    def speak(self, text: str) -> None:
        """Send ``text``; the connection must be free."""
        self._wire.send_utterance(text, self._clock())
        self._settle([])

    async def cancel(self) -> None:
        """Cancel, and let the message leave before going on."""
        self._settle(self._wire.send_cancel(self._clock()))
        if self.is_closed:
            return
        try:
            await within(CANCEL_TIMEOUT_S, self._outbox.join())
        except asyncio.TimeoutError:
            log.info("the cancel could not be sent in %.1f s", CANCEL_TIMEOUT_S)

    async def aclose(self) -> None:
        """Close the link and end its tasks."""
        self._mark_closed()
        try:
            await self._link.close()
        except Exception:
            log.warning("the link could not be closed in good order", exc_info=True)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- inside -----------------------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            while (message := await self._link.receive()) is not None:
                self._take(message)
        except Exception:
            log.exception("what the server sent could not be taken in")
            self._end(_BROKEN, trying_again_helps=False)
        else:
            self._end(self._link.close_reason, trying_again_helps=self._link.trying_again_helps)

    def _take(self, message: str | bytes) -> None:
        now_s = self._clock()
        if isinstance(message, str):
            self._handle(self, BytesArrived(len(message.encode())))
            self._settle(self._wire.receive_text(message, now_s))
        else:
            self._handle(self, BytesArrived(len(message)))
            self._settle(self._wire.receive_bytes(message, now_s))

    async def _write(self) -> None:
        try:
            while True:
                text = await self._outbox.get()
                await self._link.send(text)
                self._outbox.task_done()
        except Exception:
            log.exception("a message to the server could not be sent")
            self._end(_BROKEN, trying_again_helps=False)

    def _end(self, reason: str, *, trying_again_helps: bool) -> None:
        """Tell that the link has ended, unless it was left on purpose."""
        if self.is_closed:
            return
        self._mark_closed()
        offline = LinkChanged(LinkState.OFFLINE, reason, trying_again_helps=trying_again_helps)
        self._handle(self, offline)
        self._settle(self._wire.receive_eof(reason))

    def _settle(self, events: list[Event]) -> None:
        """Send what the wire has to say, hand on what happened, and set the clock for its deadline."""
        for text in self._wire.data_to_send():
            self._outbox.put_nowait(text)
        if any(isinstance(event, LinkUseless) for event in events):
            self._mark_closed()
        for event in events:
            self._handle(self, event)
        self._changed.set()
        self._set_timer()

    def _set_timer(self) -> None:
        deadline_s = self._wire.deadline_s
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_s is not None and not self.is_closed:
            delay_s = max(0.0, deadline_s - self._clock())
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._settle(self._wire.tick(self._clock()))

    def _mark_closed(self) -> None:
        self.is_closed = True
        self._changed.set()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
