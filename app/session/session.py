"""One server over time: connects when it is needed, speaks, cancels, and leaves links that are no use."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable

from app.errors import NearfieldError, Refused, Unreachable
from app.session.address import ServerAddress
from app.session.backoff import delays_s
from app.session.connection import Connection, Link
from app.session.events import BytesArrived, LinkChanged, LinkState, SessionEvent
from app.session.link import open_link
from app.within import within
from decoder.errors import MessageError
from decoder.spec import CodecSpec
from decoder.wire.client import ClientSession
from decoder.wire.events import LinkUseless
from decoder.wire.messages import SessionConfig

__all__ = ["BytesArrived", "LinkChanged", "LinkState", "Session", "SessionEvent"]

log = logging.getLogger("nearfield.session")

LEAVE_S = 2.0
"""How long :meth:`Session.aclose` waits for links to close; each takes less by itself."""


class Session:
    """Speaks one utterance at a time; events come through ``on_event``, called in the event loop.

    A link is made when :meth:`ensure_ready` needs one, or ahead of that by :meth:`connect`, and kept until
    it ends or is of no use.
    """

    def __init__(
        self,
        address: ServerAddress,
        spec: CodecSpec,
        on_event: Callable[[SessionEvent], None],
        open_link: Callable[[ServerAddress], Awaitable[Link]] = open_link,
        clock: Callable[[], float] = time.perf_counter,
        rng: random.Random | None = None,
    ) -> None:
        self._address = address
        self._spec = spec
        self._on_event = on_event
        self._open_link = open_link
        self._clock = clock
        self._rng = rng or random.Random()
        self._connection: Connection | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()
        self._hurried = asyncio.Event()
        self._checked: SessionConfig | None = None
        self._is_closed = False

    async def ensure_ready(self, config: SessionConfig, give_up_s: float = 0.0) -> None:
        """Have a link on which an utterance may be sent with ``config``.

        An unreachable server is tried again, ever more slowly, until the clock reaches ``give_up_s``. While
        an utterance is in flight its end is waited for, however long that takes.

        Raises:
            Unreachable: it cannot be reached, and there is no time left.
            Refused: it answered no, or no server would take ``config``.
            ConfigError: the file of the private authority cannot be used.

        """
        self._check(config)
        async with self._opening:
            while True:
                connection = self._connection
                if connection is None or connection.is_closed:
                    connection = await self._connect(config, give_up_s)
                if await connection.wait_until_free():
                    connection.configure(config)
                    return

    async def connect(self, config: SessionConfig) -> None:
        """Have a link, after one try at most; that it failed is told to nobody but the caller.

        Raises:
            Unreachable: it cannot be reached.
            Refused: it answered no, or no server would take ``config``.
            ConfigError: the file of the private authority cannot be used.

        """
        self._check(config)
        async with self._opening:
            if self._connection is None or self._connection.is_closed:
                self._use(await self._open_once(), config)

    def hurry(self) -> None:
        """Have :meth:`ensure_ready`, if it waits for its next try, try now."""
        self._hurried.set()

    def speak(self, text: str) -> None:
        """Send ``text``; :meth:`ensure_ready` has returned, and nothing was awaited since then.

        Raises:
            Unreachable: the link was lost in between all the same.

        """
        if self._connection is None or self._connection.is_closed:
            raise Unreachable(f"the link to {self._address.url} was lost before the text was sent")
        self._connection.speak(text)

    async def cancel(self) -> None:
        """Abort the utterance in flight; returns when the cancel is on its way, or the link is left."""
        if self._connection is not None and not self._connection.is_closed:
            await self._connection.cancel()

    async def aclose(self) -> None:
        """Cancel what is in flight and close the link, within about two seconds; no link is made any more."""
        self._is_closed = True
        connection = self._connection
        if connection is not None:
            await self.cancel()
            self._leave(connection)
        if self._leaving:
            _, late = await asyncio.wait(self._leaving, timeout=LEAVE_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    # -- inside -----------------------------------------------------------------------------------------

    def _check(self, config: SessionConfig) -> None:
        """Find out by a wire that leads nowhere whether ``config`` can be sent: no link is lost over it."""
        if config == self._checked:  # one with a recording in it takes a while to check
            return
        try:
            ClientSession(self._spec).send_config(config, self._clock())
        except MessageError as error:
            raise Refused(f"no server would take this configuration: {error}") from error
        self._checked = config

    async def _connect(self, config: SessionConfig, give_up_s: float) -> Connection:
        try:
            link = await self._open(give_up_s)
        except NearfieldError as error:
            refused = not isinstance(error, Unreachable)
            self._on_event(LinkChanged(LinkState.OFFLINE, str(error), refused=refused))
            raise
        except asyncio.CancelledError:
            self._on_event(LinkChanged(LinkState.OFFLINE))
            raise
        return self._use(link, config)

    def _use(self, link: Link, config: SessionConfig) -> Connection:
        connection = Connection(link, ClientSession(self._spec), self._handle, self._clock)
        self._connection = connection
        connection.start(config)
        self._on_event(LinkChanged(LinkState.READY, self._address.url))
        return connection

    async def _open(self, give_up_s: float) -> Link:
        delays = delays_s(self._rng)
        while True:
            try:
                return await self._open_once()
            except Unreachable as error:
                wait_s = next(delays)
                if self._is_closed or self._clock() + wait_s > give_up_s:
                    raise
                log.info("%s; next try in %.1f s", error, wait_s)
                self._hurried.clear()
                self._on_event(LinkChanged(LinkState.OFFLINE, str(error), wait_s))
            with contextlib.suppress(asyncio.TimeoutError):
                await within(wait_s, self._hurried.wait())

    async def _open_once(self) -> Link:
        if not self._is_closed:
            self._on_event(LinkChanged(LinkState.CONNECTING, self._address.url))
            link = await self._open_link(self._address)
            if not self._is_closed:
                return link
            await link.close()
        raise Unreachable("the session is closed")

    def _handle(self, connection: Connection, event: SessionEvent) -> None:
        if isinstance(event, LinkChanged | LinkUseless):
            self._leave(connection)
        self._on_event(event)

    def _leave(self, connection: Connection) -> None:
        if self._connection is not connection:
            return
        self._connection = None
        task = asyncio.create_task(connection.aclose())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
