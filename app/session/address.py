"""Where a server is and how to reach it; pure, so that every rule has a test."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from app.errors import ConfigError

STREAM_PATH = "/v1/audio/speech/stream"
_SCHEMES = {"ws": "ws", "wss": "wss", "http": "ws", "https": "wss", "": "ws"}


@dataclass(frozen=True)
class ServerAddress:
    """A server's stream and what opens it."""

    url: str
    """``ws://`` or ``wss://``, with the path."""
    api_key: str = field(default="", repr=False)
    ca_file: str = ""
    """A PEM file to trust besides the system's authorities."""
    allow_insecure_key: bool = False
    """Send the key over plain ``ws://`` to another machine all the same."""
    open_timeout_s: float = 10.0

    @property
    def host(self) -> str:
        """Host name or address, in lower case."""
        return (urlsplit(self.url).hostname or "").lower()

    @property
    def port(self) -> int:
        """TCP port, the scheme's own if the address names none."""
        return urlsplit(self.url).port or (443 if self.is_encrypted else 80)

    @property
    def is_numeric(self) -> bool:
        """Whether the host is an address rather than a name that has to be looked up."""
        return is_numeric(self.host)

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return self.url.startswith("wss://")

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        ip = _ip(self.host)
        return self.host == "localhost" or (ip is not None and ip.is_loopback)

    @property
    def is_near(self) -> bool:
        """Whether the server is on this machine or network: then no proxy is asked."""
        ip = _ip(self.host)
        if ip is not None:
            return ip.is_private or ip.is_loopback or ip.is_link_local
        return "." not in self.host or self.host.endswith((".local", ".lan", ".home.arpa"))


def server_address(
    url: str,
    api_key: str = "",
    ca_file: str = "",
    allow_insecure_key: bool = False,
    open_timeout_s: float = 10.0,
) -> ServerAddress:
    """Make an address of what a person writes: ``host``, ``host:port``, ``http://host``, ``ws://host/path``.

    Raises:
        ConfigError: not an address, a key that cannot be one, or one that would travel in the clear to
            another machine.

    """
    text, api_key = url.strip(), api_key.strip()
    try:
        parts = urlsplit(text if "://" in text else f"ws://{text}")
        scheme, host, _ = _SCHEMES.get(parts.scheme), parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError as error:
        raise ConfigError(f"{url!r} is not a server address: {error}") from None
    if scheme is None or not host or any(c.isspace() for c in parts.netloc):
        raise ConfigError(f"{url!r} is not a server address, expected something like ws://127.0.0.1:8001")
    if "@" in parts.netloc:
        # It would be shown in messages, and travel in the clear without a question.
        raise ConfigError("a server address with a name or password in it is not taken: use server.api_key")
    if not (api_key.isascii() and api_key.isprintable()):
        raise ConfigError("the API key has characters that no key has: is it the right one?")
    path = parts.path if parts.path not in ("", "/") else STREAM_PATH
    whole = urlunsplit((scheme, parts.netloc, path, parts.query, ""))
    address = ServerAddress(whole, api_key, ca_file, allow_insecure_key, open_timeout_s)
    if api_key and not (address.is_encrypted or address.is_loopback or allow_insecure_key):
        raise ConfigError(
            f"the API key would travel unencrypted to {host}: use wss://, or set server.allow_insecure_key"
        )
    return address


def proxy_of(address: ServerAddress, proxies: Mapping[str, str]) -> str | None:
    """Return the proxy to reach ``address`` through, out of ``proxies`` by scheme; near servers need none.

    The order is that of RFC 6455: one for WebSockets, else SOCKS, else the one for HTTPS, else for HTTP.
    """
    if address.is_near:
        return None
    own = ("wss",) if address.is_encrypted else ("ws",)
    last = () if address.is_encrypted else ("http",)
    for scheme in (*own, "socks", "https", *last, "all"):
        if proxy := proxies.get(scheme):
            is_bare_socks = scheme == "socks" and proxy.startswith("http://")
            return f"socks5h://{proxy.removeprefix('http://')}" if is_bare_socks else proxy
    return None


def without_password(url: str) -> str:
    """Return ``url`` as it may be shown."""
    scheme, separator, rest = url.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def is_numeric(host: str) -> bool:
    """Whether ``host`` is an IP address rather than a name."""
    return _ip(host) is not None


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        return None
