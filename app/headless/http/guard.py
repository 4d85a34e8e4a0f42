"""Who may ask: rules on addresses, the Host and Origin headers and the token; no I/O.

A page from elsewhere, opened in a browser on this machine, can send requests here. It cannot choose the
headers Host, Origin and Sec-Fetch-Site, so they tell: Host names its own domain if that was made to point
here (DNS rebinding), Origin and Sec-Fetch-Site say that the request is not from a page of ours.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from app.config import KioskConfig
from app.errors import ConfigError
from app.headless.http.faults import Fault

_DEFAULT_PORTS = {"http": 80, "https": 443}
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine for itself only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def require_safe(config: KioskConfig) -> None:
    """Refuse to listen where others could ask without a token.

    Raises:
        ConfigError: with the next step.

    """
    if not is_loopback(config.http_host) and not config.http_token:
        raise ConfigError(
            f"kiosk.http_host is {config.http_host}, which other machines can reach: set a token in "
            "NEARFIELD_KIOSK_HTTP_TOKEN (or kiosk.http_token in a file that only you can read), or listen "
            "at 127.0.0.1"
        )
    if not config.http_token.isascii() or not config.http_token.isprintable():
        raise ConfigError("kiosk.http_token: a token is printable ASCII; make another one")
    for origin in config.allowed_origins:
        if _origin(origin) is None:
            raise ConfigError(
                f"kiosk.allowed_origins: {origin!r} is no origin; write it like https://host or "
                "http://host:8080"
            )


@dataclass(frozen=True)
class Guard:
    """The rules of one server."""

    token: str = field(repr=False)
    names: frozenset[str]
    """Hosts that may be asked for by name."""
    takes_any_address: bool
    """Whether the Host header may be any address: it cannot be one if somebody's domain points here."""
    origins: frozenset[str]

    @classmethod
    def of(cls, config: KioskConfig) -> Guard:
        """Make the rules that a configuration asks for."""
        origins = frozenset(filter(None, map(_origin, config.allowed_origins)))
        names = {"localhost", *(urlsplit(origin).hostname or "" for origin in origins)}
        is_open = not is_loopback(config.http_host)
        if is_open:
            machine = socket.gethostname().lower()
            names |= {machine, f"{machine.partition('.')[0]}.local", config.http_host.lower()}
        return cls(config.http_token, frozenset(names), is_open, origins)

    def check_host(self, header: str | None) -> None:
        """Raise Fault unless ``header`` names this server."""
        host = _host(header or "")
        if host in self.names or is_loopback(host) or (self.takes_any_address and _is_address(host)):
            return
        raise Fault(
            403,
            "wrong_host",
            f"this server is not {(header or 'without a name')[:200]!r}",
            "ask for it as localhost or by its address; behind a proxy, list that in kiosk.allowed_origins",
        )

    def check_origin(self, method: str, headers: Mapping[str, str]) -> None:
        """Raise Fault if a page from elsewhere asks; one that was listed may."""
        origin = headers.get("Origin")
        if origin is not None:
            if self.allows(origin) or _is_same(origin, headers.get("Host", "")):
                return
        elif not _comes_from_elsewhere(method, headers):
            return
        raise Fault(
            403,
            "foreign_origin",
            f"pages from {(origin or 'elsewhere')[:200]!r} may not use this server",
            "list the page's origin in kiosk.allowed_origins if you trust it",
        )

    def allows(self, origin: str) -> bool:
        """Whether pages from ``origin`` were listed."""
        return _origin(origin) in self.origins

    def check_token(self, header: str | None) -> None:
        """Raise Fault unless ``header``, the Authorization, has the token, or none is needed."""
        if not self.token or self.knows(header):
            return
        raise Fault(
            401,
            "unauthorized",
            "the token is wrong" if header else "this server needs a token",
            "send the header Authorization: Bearer TOKEN",
        )

    def knows(self, header: str | None) -> bool:
        """Whether ``header`` has the token; how long that takes does not say how much of it was right."""
        scheme, _, given = (header or "").partition(" ")
        ours = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self.token.encode())
        return ours and scheme.lower() == "bearer" and bool(self.token)


def _comes_from_elsewhere(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser says so; opening an address, such as by a link, is the reader's own doing."""
    if headers.get("Sec-Fetch-Site") not in ("cross-site", "same-site"):
        return False
    return not (method in _READING and headers.get("Sec-Fetch-Mode") == "navigate")


def _host(header: str) -> str:
    try:
        return (urlsplit(f"//{header}").hostname or "").lower().removesuffix(".")
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _origin(text: str) -> str | None:
    """Return an origin as origins are compared, ``None`` if it is none."""
    try:
        parts = urlsplit(text.strip().lower())
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not host or parts.path not in ("", "/") or parts.query:
        return None
    where = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{where}:{port or _DEFAULT_PORTS[parts.scheme]}"


def _is_same(origin: str, host: str) -> bool:
    """Whether a page from ``origin`` was loaded from the host that is asked."""
    ours = _origin(origin)
    return ours is not None and ours == _origin(f"{urlsplit(ours).scheme}://{host}")
