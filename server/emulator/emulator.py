"""The server itself: it listens, lets clients in, and is gone within a second when it is told to close."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl as tls
from collections import deque
from types import TracebackType

from websockets.asyncio.server import Server, ServerConnection, serve

from decoder.wire.messages import MAX_MESSAGE_BYTES
from decoder.wire.server import UtteranceRequested
from server.emulator.connection import Connection
from server.emulator.handshake import STREAM_PATH, Handshake
from server.emulator.records import SessionRecord, UtteranceRecord
from server.emulator.scenario import Scenario
from server.emulator.talkers import Talker

log = logging.getLogger("nearfield.emulator")

KEPT_RECORDS = 1_000
PING_S = 20.0
"""Interval and time-out of pings, as uvicorn has them."""
GOODBYE_S = 0.3
"""How long a client may take to agree to the end of a connection."""


def _tracking(transports: set[asyncio.Transport]) -> type[ServerConnection]:
    """Return a kind of connection that is known from its first byte on, before its handshake is over."""

    class Socket(ServerConnection):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            transports.add(self.transport)

        def connection_lost(self, exc: Exception | None) -> None:
            transports.discard(self.transport)
            super().connection_lost(exc)

    return Socket


class Emulator:
    """A server of the protocol, open as long as its ``async with`` block runs.

    ``port`` 0 takes a free one; ``url`` says which. ``api_key`` is asked for as a bearer token; ``ssl`` makes
    it ``wss``. ``ping_interval_s`` and ``ping_timeout_s`` are seconds, ``None`` for never. ``scenario`` may
    be replaced at any time: its kind counts for the next connection, the rest for the next utterance. Of the
    sessions and of the utterances so many as ``kept_records`` are remembered, with all that is in them.
    """

    def __init__(
        self,
        talker: Talker,
        scenario: Scenario | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        api_key: str | None = None,
        ssl: tls.SSLContext | None = None,
        ping_interval_s: float | None = PING_S,
        ping_timeout_s: float | None = PING_S,
        kept_records: int = KEPT_RECORDS,
    ) -> None:
        self.talker = talker
        self.scenario = scenario or Scenario()
        self.host = host
        self.port = port
        """The port listened at, once open."""
        self.sessions: deque[SessionRecord] = deque(maxlen=kept_records)
        """The newest connections, oldest first."""
        self.utterances: deque[UtteranceRecord] = deque(maxlen=kept_records)
        """The newest utterances of all connections, in the order in which they were asked for."""
        self._ssl = ssl
        self._ping_interval_s = ping_interval_s
        self._ping_timeout_s = ping_timeout_s
        self._handshake = Handshake(talker, lambda: self.scenario, api_key)
        self._accepted = 0
        self._spoken = 0
        self._server: Server | None = None
        self._transports: set[asyncio.Transport] = set()

    @property
    def url(self) -> str:
        """Address of the stream."""
        return f"{'wss' if self._ssl else 'ws'}://{self._reachable_host}:{self.port}{STREAM_PATH}"

    @property
    def http_url(self) -> str:
        """Root of the HTTP paths, without a slash at the end."""
        return f"{'https' if self._ssl else 'http'}://{self._reachable_host}:{self.port}"

    @property
    def open_sessions(self) -> int:
        """Connections that are open now."""
        return sum(session.open for session in self.sessions)

    @property
    def refused_handshakes(self) -> int:
        """WebSocket handshakes turned away so far."""
        return self._handshake.refused

    async def __aenter__(self) -> Emulator:
        """Load the talker, then listen.

        Raises:
            OSError: the port is taken, or the host is not this machine's.

        """
        await self.talker.load()
        self._server = await serve(
            self._serve,
            self.host,
            self.port,
            ssl=self._ssl,
            process_request=self._handshake,
            create_connection=_tracking(self._transports),
            compression=None,
            max_size=MAX_MESSAGE_BYTES,
            ping_interval=self._ping_interval_s,
            ping_timeout=self._ping_timeout_s,
            close_timeout=GOODBYE_S,
            logger=logging.getLogger("nearfield.emulator.websockets"),
        )
        self.port = self._server.sockets[0].getsockname()[1]
        log.info("listening at %s", self.url)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say goodbye to every client, and leave those that do not answer."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(server.wait_closed(), GOODBYE_S + 0.1)
            return
        for transport in list(self._transports):
            transport.abort()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(server.wait_closed(), GOODBYE_S + 0.1)

    # -- what a connection asks -------------------------------------------------------------------------

    def begin_utterance(self, session: int, request: UtteranceRequested) -> tuple[Scenario, UtteranceRecord]:
        """Return how the next utterance goes, and where to note it."""
        limit = self.scenario.faulty_utterances
        scenario = self.scenario if limit is None or self._spoken < limit else self.scenario.healthy()
        self._spoken += 1
        record = UtteranceRecord(
            self.talker.spec, session, request.utterance_index, request.text, request.config
        )
        self.utterances.append(record)
        return scenario, record

    async def _serve(self, socket: ServerConnection) -> None:
        record = SessionRecord(self._accepted)
        self._accepted += 1
        self.sessions.append(record)
        try:
            await Connection(socket, self, record).run()
        finally:
            record.open = False

    @property
    def _reachable_host(self) -> str:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self.host, self.host)  # noqa: S104  # compared, not bound
        return f"[{host}]" if ":" in host else host
