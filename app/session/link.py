"""The one door to the ``websockets`` library: opens a link, and says in words why it cannot."""

from __future__ import annotations

import contextlib
import ssl
import urllib.request
from importlib.metadata import version

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    InvalidURI,
    ProxyError,
    WebSocketException,
)

from app.errors import ConfigError, Refused, SessionError, Unreachable
from app.session.address import ServerAddress
from decoder.wire.messages import MAX_MESSAGE_BYTES

PING_INTERVAL_S = 8.0
PING_TIMEOUT_S = 8.0
"""A peer that vanished is noticed after at most the sum, 16 s."""
CLOSE_TIMEOUT_S = 1.0
_STOPS = {
    401: "the server wants an API key, or another one (HTTP 401): set NEARFIELD_API_KEY",
    403: "the server forbids it (HTTP 403): check the API key's rights",
    404: "the server has no speech stream at this path (HTTP 404): check the URL",
    429: "the server takes no more sessions from here (HTTP 429): try again later",
}
_CLOSE_WORDS = {1009: f"a message was larger than {MAX_MESSAGE_BYTES // 2**20} MiB"}


class Link:
    """An open WebSocket of text and binary messages."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, text: str) -> None:
        """Send a text message; a link that has closed meanwhile says so in :meth:`receive`."""
        with contextlib.suppress(ConnectionClosed):
            await self._connection.send(text)

    async def receive(self) -> str | bytes | None:
        """Return the next message, or ``None`` once the link has closed, whatever the reason."""
        try:
            return await self._connection.recv()
        except ConnectionClosed:
            return None

    @property
    def close_reason(self) -> str:
        """Say why the link closed."""
        code = self._connection.close_code
        known = _CLOSE_WORDS.get(code or 0) or self._connection.close_reason
        return f"{known or 'connection closed'} (code {code})"

    async def close(self) -> None:
        """Close the link, within about a second."""
        await self._connection.close()


async def open_link(address: ServerAddress) -> Link:
    """Connect.

    Raises:
        Unreachable: nothing answers, or the server is not well: later may be better.
        Refused: it answered no; trying again does not help.

    """
    try:
        return Link(
            await connect(
                address.url,
                additional_headers={"Authorization": f"Bearer {address.api_key}"}
                if address.api_key
                else None,
                user_agent_header=f"nearfield/{version('nearfield')}",
                compression=None,
                proxy=None if address.is_near else True,
                ssl=_tls(address),
                open_timeout=address.open_timeout_s,
                ping_interval=PING_INTERVAL_S,
                ping_timeout=PING_TIMEOUT_S,
                close_timeout=CLOSE_TIMEOUT_S,
                max_size=MAX_MESSAGE_BYTES,
            )
        )
    except (OSError, WebSocketException, EOFError) as error:
        raise _in_words(address, error) from error


def _tls(address: ServerAddress) -> ssl.SSLContext | None:
    if not address.is_encrypted:
        return None
    context = ssl.create_default_context()
    if address.ca_file:
        try:
            context.load_verify_locations(address.ca_file)
        except OSError as error:
            raise ConfigError(f"server.ca_file {address.ca_file} cannot be read: {error}") from None
    return context


def _in_words(address: ServerAddress, error: Exception) -> SessionError:
    url = address.url
    match error:
        case InvalidStatus():
            status = error.response.status_code
            if status in _STOPS:
                return Refused(f"{url}: {_STOPS[status]}")
            return Unreachable(f"{url}: the server answered HTTP {status}, try again later")
        case ssl.SSLCertVerificationError():
            return Refused(
                f"{url}: the certificate is not trusted ({error.verify_message}); "
                "for a private authority set server.ca_file"
            )
        case ssl.SSLError():
            return Refused(f"{url}: no TLS there ({error.reason}); is it ws:// instead of wss://?")
        case ProxyError():
            proxies = urllib.request.getproxies()
            proxy = proxies.get("https" if address.is_encrypted else "http") or proxies.get("all") or "?"
            return Unreachable(f"cannot reach {url} through the proxy {proxy}: {error}")
        case InvalidURI():
            return Refused(f"{url} is not a WebSocket address")
        case InvalidHandshake() | WebSocketException() | EOFError():
            return Refused(f"{url} answers, but is no speech server ({error})")
        case TimeoutError():
            reason = f"no answer in {address.open_timeout_s:g} s"
        case OSError():
            reason = error.strerror or str(error)
    return Unreachable(f"cannot reach {url} ({reason}); start the demo with --demo")
