"""One server over time: connects when it is needed, speaks, cancels, and leaves links that are no use."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from app.errors import Unreachable
from app.session.address import ServerAddress
from app.session.backoff import delays_s
from app.session.link import Link, open_link
from decoder.spec import CodecSpec
from decoder.wire.client import ClientSession
from decoder.wire.events import Event, LinkUseless, WireReady
from decoder.wire.messages import SessionConfig

log = logging.getLogger("nearfield.session")

_CANCEL_TIMEOUT_S = 0.2


class LinkState(Enum):
    """Whether the server is reached."""

    CONNECTING = "connecting"
    READY = "ready"
    OFFLINE = "offline"


@dataclass(frozen=True)
class LinkChanged:
    """The link's state, with the reason and the wait before the next try if it is offline."""

    state: LinkState
    detail: str = ""
    retry_in_s: float | None = None


@dataclass(frozen=True)
class BytesArrived:
    """A message came in."""

    count: int


SessionEvent = Event | LinkChanged | BytesArrived


class Session:
    """Speaks one utterance at a time; events come through ``on_event``, called in the event loop.

    A link is made when :meth:`ensure_ready` needs one and kept until it ends or is of no use.
    """

    def __init__(
        self,
        address: ServerAddress,
        spec: CodecSpec,
        on_event: Callable[[SessionEvent], None],
        open_link: Callable[[ServerAddress], Awaitable[Link]] = open_link,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._address = address
        self._spec = spec
        self._on_event = on_event
        self._open_link = open_link
        self._clock = clock
        self._connection: _Connection | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()

    async def ensure_ready(self, config: SessionConfig, give_up_s: float = 0.0) -> None:
        """Have a link on which an utterance may be sent with ``config``.

        An unreachable server is tried again, ever more slowly, until the clock reaches ``give_up_s``.

        Raises:
            Unreachable: it cannot be reached, and there is no time left.
            Refused: it answered no.

        """
        async with self._opening:
            while True:
                connection = self._connection
                if connection is None or connection.is_closed:
                    connection = await self._connect(config, give_up_s)
                if await connection.wait_until_free():
                    connection.configure(config)
                    return

    def speak(self, text: str) -> None:
        """Send ``text``; :meth:`ensure_ready` must have returned just before."""
        assert self._connection is not None, "speak follows ensure_ready"
        self._connection.speak(text)

    async def cancel(self) -> None:
        """Abort the utterance in flight; returns when the cancel is on its way, or the link is left."""
        if self._connection is not None and not self._connection.is_closed:
            await self._connection.cancel()

    async def aclose(self) -> None:
        """Cancel what is in flight and close the link, within about two seconds."""
        if self._connection is not None:
            await self.cancel()
            self._leave(self._connection)
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=2.0)

    # -- inside -----------------------------------------------------------------------------------------

    async def _connect(self, config: SessionConfig, give_up_s: float) -> _Connection:
        waits = delays_s(random.Random())
        while True:
            self._on_event(LinkChanged(LinkState.CONNECTING, self._address.url))
            try:
                link = await self._open_link(self._address)
            except Unreachable as error:
                wait_s = next(waits)
                if self._clock() + wait_s > give_up_s:
                    self._on_event(LinkChanged(LinkState.OFFLINE, str(error)))
                    raise
                log.info("%s; next try in %.1f s", error, wait_s)
                self._on_event(LinkChanged(LinkState.OFFLINE, str(error), wait_s))
                await asyncio.sleep(wait_s)
            else:
                break
        wire = ClientSession(self._spec)
        self._connection = _Connection(link, wire, self._handle, self._clock)
        self._connection.start(config)
        self._on_event(LinkChanged(LinkState.READY, self._address.url))
        return self._connection

    def _handle(self, connection: _Connection, event: SessionEvent) -> None:
        self._on_event(event)
        if isinstance(event, LinkUseless) or (isinstance(event, LinkChanged) and connection.is_closed):
            self._leave(connection)

    def _leave(self, connection: _Connection) -> None:
        if self._connection is connection:
            self._connection = None
        task = asyncio.create_task(connection.aclose())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)


class _Connection:
    """One link with its wire; made new for each connection."""

    def __init__(
        self,
        link: Link,
        wire: ClientSession,
        handle: Callable[[_Connection, SessionEvent], None],
        clock: Callable[[], float],
    ) -> None:
        self._link = link
        self._wire = wire
        self._handle = handle
        self._clock = clock
        self._config: SessionConfig | None = None
        self._free = asyncio.Event()
        self._outbox: asyncio.Queue[str] = asyncio.Queue()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.is_closed = False

    def start(self, config: SessionConfig) -> None:
        """Say who we are, ask what the server can, and read from now on."""
        self.configure(config)
        self._wire.send_probe(self._clock())
        self._free.set()
        self._settle([])
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]

    def configure(self, config: SessionConfig) -> None:
        """Send ``config`` unless the server has it already."""
        if config != self._config:
            self._wire.send_config(config, self._clock())
            self._config = config
            self._settle([])

    async def wait_until_free(self) -> bool:
        """Wait until an utterance may be sent; false if the link has closed instead."""
        await self._free.wait()
        return not self.is_closed and self._wire.ready

    def speak(self, text: str) -> None:
        """Send ``text``."""
        self._free.clear()
        self._wire.send_utterance(text, self._clock())
        self._settle([])

    async def cancel(self) -> None:
        """Cancel, and let the message leave before going on."""
        self._settle(self._wire.send_cancel(self._clock()))
        try:
            await asyncio.wait_for(self._outbox.join(), _CANCEL_TIMEOUT_S)
        except asyncio.TimeoutError:
            log.info("the cancel could not be sent in %.1f s", _CANCEL_TIMEOUT_S)

    async def aclose(self) -> None:
        """Close the link and end its tasks."""
        self._mark_closed()
        await self._link.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self) -> None:
        while (message := await self._link.receive()) is not None:
            now_s = self._clock()
            if isinstance(message, str):
                self._handle(self, BytesArrived(len(message.encode())))
                self._settle(self._wire.receive_text(message, now_s))
            else:
                self._handle(self, BytesArrived(len(message)))
                self._settle(self._wire.receive_bytes(message, now_s))
        if not self.is_closed:
            reason = self._link.close_reason
            self._mark_closed()
            self._settle(self._wire.receive_eof(reason))
            self._handle(self, LinkChanged(LinkState.OFFLINE, reason))

    async def _write(self) -> None:
        while True:
            text = await self._outbox.get()
            await self._link.send(text)
            self._outbox.task_done()

    def _settle(self, events: list[Event]) -> None:
        """Send what the wire has to say, hand on what happened, and set the clock for its deadline."""
        for text in self._wire.data_to_send():
            self._outbox.put_nowait(text)
        for event in events:
            if isinstance(event, WireReady | LinkUseless):
                self._free.set()
            if isinstance(event, LinkUseless):
                self._mark_closed()
            self._handle(self, event)
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
        self._free.set()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
