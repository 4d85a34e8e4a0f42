"""Tells the network where the Wyoming server is, as Home Assistant looks for it.

The door to ``zeroconf``, and to ``ifaddr``, which knows the addresses of this machine.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from app.errors import ConfigError

log = logging.getLogger("nearfield.wyoming")

TYPE = "_wyoming._tcp.local."


def reachable_addresses(host: str) -> list[str]:
    """Return the IPv4 addresses under which others reach a server that listens at ``host``.

    Raises:
        ConfigError: the package is missing.

    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        found = socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)
        return sorted({str(entry[4][0]) for entry in found} - {"127.0.0.1"})
    if not address.is_unspecified:
        return [host] if address.version == 4 and not address.is_loopback else []
    try:
        import ifaddr
    except ImportError:
        raise _missing("ifaddr") from None
    addresses = [ip.ip for adapter in ifaddr.get_adapters() for ip in adapter.ips if isinstance(ip.ip, str)]
    return [each for each in addresses if not ipaddress.ip_address(each).is_loopback]


@asynccontextmanager
async def announced(port: int, addresses: Sequence[str], name: str | None = None) -> AsyncIterator[None]:
    """Announce the server for as long as the block runs, and take that back then.

    Args:
        port: where it listens.
        addresses: IPv4 addresses of this machine under which it is reached; also where that is told.
        name: of this machine among the others; made of the host's name if left out.

    Raises:
        ConfigError: the package is missing, or the network cannot be told.

    """
    try:
        from zeroconf import Error, IPVersion
        from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf
    except ImportError:
        raise _missing("zeroconf") from None
    host = name or socket.gethostname().partition(".")[0] or "nearfield"
    service = AsyncServiceInfo(
        TYPE,
        f"Nearfield on {host}.{TYPE}",
        addresses=[socket.inet_aton(address) for address in addresses],
        port=port,
        server=f"{host}.local.",
    )
    try:
        network = AsyncZeroconf(interfaces=list(addresses), ip_version=IPVersion.V4Only)
    except OSError as error:
        raise ConfigError(f"kiosk.zeroconf: the network cannot be told ({error})") from None
    try:
        try:
            await network.async_register_service(service, allow_name_change=True)
        except (OSError, Error) as error:
            raise ConfigError(f"kiosk.zeroconf: the network cannot be told ({error})") from None
        log.info("announced as %s at %s", service.name, ", ".join(addresses))
        yield
    finally:
        await network.async_unregister_all_services()
        await network.async_close()


def _missing(package: str) -> ConfigError:
    return ConfigError(f"kiosk.zeroconf needs the package {package}: pip install 'nearfield[kiosk]'")
