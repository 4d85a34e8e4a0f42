"""How this machine reaches an address: the authorities it trusts there, and the proxy in between."""

from __future__ import annotations

import ssl
import urllib.request
from urllib.parse import urlsplit

from app.errors import ConfigError
from app.session.address import ServerAddress, proxy_of


def trust_of(address: ServerAddress) -> ssl.SSLContext | None:
    """Return what to check the server's certificate with; ``None`` where nothing is encrypted.

    Raises:
        ConfigError: the file of the private authority cannot be used.

    """
    if not address.is_encrypted:
        return None
    context = ssl.create_default_context()
    if address.ca_file:
        try:
            context.load_verify_locations(address.ca_file)
        except OSError as error:
            raise ConfigError(f"server.ca_file {address.ca_file} cannot be read: {error}") from None
    return context


def proxy_for(address: ServerAddress) -> str | None:
    """Return what the system's settings say, which are not even asked about a server that is near."""
    if address.is_near or urllib.request.proxy_bypass(urlsplit(address.url).netloc):
        return None
    return proxy_of(address, urllib.request.getproxies())
