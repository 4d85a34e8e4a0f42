"""The one door to the ``websockets`` library: opens a link, and says in words why it cannot."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import ssl
import time
from importlib.metadata import version
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidMessage,
    InvalidProxy,
    InvalidStatus,
    InvalidURI,
    ProxyError,
    WebSocketException,
)

from app.errors import Refused, SessionError, Unreachable
from app.session.address import ServerAddress, is_numeric, without_password
from app.session.dial import Resolve, dial, look_up
from app.session.reach import proxy_for, trust_of
from app.within import within
from decoder.wire.messages import MAX_MESSAGE_BYTES

PING_INTERVAL_S = 8.0
PING_TIMEOUT_S = 8.0
"""A peer that vanished is noticed at most this sum, 16 s, after its last byte."""
CLOSE_TIMEOUT_S = 1.0
UNWRITABLE_S = 0.5
"""How much longer a peer may take that does not even read what is sent to it."""
_STOPS = {
    401: "the server wants an API key, or another one (HTTP 401): give it in the server's settings"
    " or as NEARFIELD_API_KEY",
    403: "the server forbids it (HTTP 403): check the API key's rights",
    404: "the server has no speech stream at this path (HTTP 404): check the URL",
    429: "the server takes no more sessions from here (HTTP 429): try again later",
}
_OUR_REASONS = {
    1002: "the server does not keep to the WebSocket protocol",
    1003: "the server does not keep to the WebSocket protocol",
    1007: "the server sent text that is not UTF-8",
    1009: f"the server sent a message larger than {MAX_MESSAGE_BYTES // 2**20} MiB",
}
"""Close codes that this end sends when what it received cannot be taken; it would be the same again."""
_NO_PONG = 1011


class _Hearing(ClientConnection):
    """Knows when the last byte came, and pings a peer that is quiet.

    The library's own pings ask for the pong itself, and that waits behind all the sound that a slow link has
    yet to carry: a peer from which bytes come is alive, whatever they are.
    """

    _heard_s = 0.0
    _heard_bytes = 0
    _watching: asyncio.Task[None] | None = None

    def watch(self, ping_interval_s: float, ping_timeout_s: float) -> None:
        """Ping after ``ping_interval_s`` without a byte, and close with 1011 if none comes then either."""
        self._heard_s = time.monotonic()
        self._watching = asyncio.create_task(self._watch(ping_interval_s, ping_timeout_s))

    def data_received(self, data: bytes) -> None:
        """Take bytes of the peer."""
        self._heard_s = time.monotonic()
        self._heard_bytes += len(data)
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ping no more."""
        if self._watching is not None:
            self._watching.cancel()
        super().connection_lost(exc)

    async def _watch(self, ping_interval_s: float, ping_timeout_s: float) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                quiet_s = time.monotonic() - self._heard_s
                if quiet_s < ping_interval_s:
                    await asyncio.sleep(ping_interval_s - quiet_s)
                    continue
                before_bytes = self._heard_bytes
                pong = await self.ping()
                await asyncio.wait([pong], timeout=ping_timeout_s)
                if self._heard_bytes == before_bytes:
                    await self.close(_NO_PONG, "nothing was heard")
                    return


class Link:
    """An open WebSocket of text and binary messages."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._end: ConnectionClosed | None = None

    async def send(self, text: str) -> None:
        """Send a text message; a link that has closed meanwhile says so in :meth:`receive`."""
        with contextlib.suppress(ConnectionClosed):
            await self._connection.send(text)

    async def receive(self) -> str | bytes | None:
        """Return the next message, or ``None`` once the link has closed, whatever the reason."""
        try:
            return await self._connection.recv()
        except ConnectionClosed as error:
            self._end = error
            return None

    @property
    def close_reason(self) -> str:
        """Say why the link closed, once :meth:`receive` has returned ``None``."""
        ours = self._code_of_ours
        if ours in _OUR_REASONS:
            return f"{_OUR_REASONS[ours]} (code {ours})"
        if ours == _NO_PONG:
            return "the server does not answer any more"
        frame = self._end.rcvd if self._end is not None else None
        return f"{frame.reason or 'connection closed'} (code {frame.code})" if frame else "connection lost"

    @property
    def trying_again_helps(self) -> bool:
        """Whether the same text may fare better on a fresh link."""
        return self._code_of_ours not in _OUR_REASONS

    @property
    def _code_of_ours(self) -> int | None:
        """The close code, if it was this end that could not go on."""
        end = self._end
        return None if end is None or end.sent is None or end.rcvd_then_sent else end.sent.code

    async def close(self) -> None:
        """Close the link, within two seconds, whether or not the other end agrees or reads."""
        try:
            await within(CLOSE_TIMEOUT_S + UNWRITABLE_S, self._connection.close())
        except asyncio.TimeoutError:
            self._connection.transport.abort()
            await self._connection.wait_closed()


class _Connect(connect):
    """Follows no redirect: the key is for the server that was named, and so is the address in messages."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Return the error as it is."""
        return exc


async def open_link(
    address: ServerAddress,
    ping_interval_s: float = PING_INTERVAL_S,
    ping_timeout_s: float = PING_TIMEOUT_S,
    resolve: Resolve = socket.getaddrinfo,
) -> Link:
    """Connect; ``resolve`` looks names up, and may block for ever.

    Raises:
        Unreachable: nothing answers, or the server is not well: later may be better.
        Refused: it answered no; trying again does not help.
        ConfigError: the file of the private authority cannot be used.

    """
    tls = trust_of(address)
    proxy = proxy_for(address)
    began_s = time.monotonic()
    try:
        dialled = await _dial(address, proxy, resolve)
        try:
            opening = _Connect(
                address.url,
                additional_headers={"Authorization": f"Bearer {address.api_key}"}
                if address.api_key
                else None,
                user_agent_header=f"nearfield/{version('nearfield')}",
                compression=None,
                proxy=proxy,
                sock=dialled,
                ssl=tls,
                open_timeout=max(0.0, address.open_timeout_s - (time.monotonic() - began_s)),
                ping_interval=None,
                create_connection=_Hearing,
                close_timeout=CLOSE_TIMEOUT_S,
                max_size=MAX_MESSAGE_BYTES,
            )
        except BaseException:
            if dialled is not None:
                dialled.close()
            raise
        connection = await opening
        assert isinstance(connection, _Hearing)
        connection.watch(ping_interval_s, ping_timeout_s)
        return Link(connection)
    except (OSError, asyncio.TimeoutError, WebSocketException, EOFError, ImportError) as error:
        raise _in_words(address, proxy, error) from error


async def _dial(address: ServerAddress, proxy: str | None, resolve: Resolve) -> socket.socket | None:
    """Return a socket that has reached the server, or ``None`` where the library may dial by itself."""
    if proxy is None:
        if address.is_numeric:
            return None
        return await dial(address.host, address.port, address.open_timeout_s, resolve)
    parts = urlsplit(proxy)
    if parts.hostname and not is_numeric(parts.hostname):
        # The library looks the proxy up once more, in a thread that is waited for; by now it is answered.
        await look_up(parts.hostname, parts.port or 0, address.open_timeout_s, resolve)
    return None


def _in_words(address: ServerAddress, proxy: str | None, error: Exception) -> SessionError:
    url = address.url
    shown = without_password(proxy or "")
    match error:
        case InvalidStatus():
            return _status_in_words(address, error)
        case ssl.SSLCertVerificationError():
            return Refused(
                f"{url}: the certificate is not trusted ({error.verify_message}); "
                "for a private authority set server.ca_file"
            )
        case ssl.SSLError():
            return Refused(f"{url}: no TLS there ({error.reason}); is it ws:// instead of wss://?")
        case ImportError() | InvalidProxy():
            return Refused(f"the proxy {shown} cannot be used: {error}; or name the server in NO_PROXY")
        case ProxyError():
            reason = str(error.__cause__ or error)
        case InvalidMessage() if isinstance(error.__cause__, EOFError):
            # Port forwarders accept and hang up while what is behind them still starts.
            reason = "it hangs up at once"
        case InvalidURI():
            return Refused(f"{url} is not a WebSocket address")
        case WebSocketException() | EOFError():
            return Refused(f"{url} answers, but is no speech server ({error})")
        case asyncio.TimeoutError() | TimeoutError():
            reason = f"no answer in {address.open_timeout_s:g} s"
        case _:
            reason = _reason(error)
    if proxy:
        return Unreachable(f"cannot reach {url} through the proxy {shown}: {reason}")
    return _unreachable(url, reason)


def _status_in_words(address: ServerAddress, error: InvalidStatus) -> SessionError:
    status = error.response.status_code
    if status in _STOPS:
        return Refused(f"{address.url}: {_STOPS[status]}")
    if 300 <= status < 400 and "Location" in error.response.headers:
        target = error.response.headers["Location"]
        return Refused(f"{address.url} sends on to {target} (HTTP {status}): if you trust it, set that URL")
    if status in (408, 425) or status >= 500:
        return _unreachable(address.url, f"the server answered HTTP {status}")
    return Refused(f"{address.url} answers, but is no speech server (HTTP {status})")


def _unreachable(url: str, reason: str) -> Unreachable:
    return Unreachable(f"cannot reach {url} ({reason})")


def _reason(error: Exception) -> str:
    """Say what the system says, without the numbers and addresses that asyncio wraps it in."""
    if not isinstance(error, OSError):
        return str(error)
    numbers = [error.errno] if error.errno and error.errno > 0 else re.findall(r"\[Errno (\d+)\]", str(error))
    if not numbers or (error.strerror and not error.strerror.startswith("Connect call failed")):
        return error.strerror or str(error)
    return ", ".join(dict.fromkeys(os.strerror(int(n)) for n in numbers))
