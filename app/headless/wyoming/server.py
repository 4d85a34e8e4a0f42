"""The Wyoming server: listens, takes many clients, and closes in good order.

The protocol knows no password, so it is spoken on this machine only, unless the configuration says that
everybody in the network may have texts spoken.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from app.config import Config, KioskConfig
from app.engine.engine import Engine
from app.errors import ConfigError
from app.headless.offered import Offered

log = logging.getLogger("nearfield.wyoming")

MOST_CLIENTS = 32
BACKLOG = 64
CLOSE_S = 2.0
VOICES_S = 0.5
"""How long the server's list is waited for: Home Assistant gives up a second after it has asked."""


class WyomingServer:
    """Made once, started once, closed once; all of it in the event loop."""

    def __init__(
        self,
        config: Callable[[], Config],
        make_unheard: Callable[[Config], Engine],
        voices: Callable[[], Awaitable[Sequence[str]]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Speak as ``config`` returns it at the moment.

        Args:
            config: the configuration in use.
            make_unheard: makes an engine whose sound goes to sinks only, as fast as it is made.
            voices: returns the names that clients are offered; never raises.
            clock: seconds, from anywhere.

        Raises:
            ConfigError: it would listen where others can ask, and that was not allowed; or the package
                ``wyoming`` is missing.

        """
        require_allowed(config().kiosk)
        try:
            from app.headless.wyoming.client import Client
        except ImportError as error:
            raise ConfigError(
                f"the source wyoming needs the package {error.name}: pip install 'nearfield[kiosk]'"
            ) from None
        from app.headless.booths import Booths
        from app.headless.http.rate import Rate

        self._config = config
        self._offered = Offered(voices, VOICES_S)
        self._clock = clock
        self._make_client = Client
        self._booths = Booths(make_unheard, config)
        self._rate = Rate(config().kiosk.rate_per_minute)
        self._listener: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()
        self._network = contextlib.AsyncExitStack()

    @property
    def port(self) -> int:
        """Where it listens, once it does."""
        assert self._listener is not None, "it is started first"
        return int(self._listener.sockets[0].getsockname()[1])

    async def start(self) -> None:
        """Listen, and tell the network if that is asked for.

        Raises:
            ConfigError: the address cannot be listened at, or the network cannot be told.

        """
        kiosk = self._config().kiosk
        where = f"{kiosk.wyoming_host}:{kiosk.wyoming_port}"
        try:
            self._listener = await asyncio.start_server(
                self._serve,
                kiosk.wyoming_host,
                kiosk.wyoming_port,
                limit=kiosk.request_bytes,
                backlog=BACKLOG,
            )
        except OSError as error:
            raise ConfigError(
                f"cannot listen at {where} ({error.strerror or error}): end the program that does, "
                "or set kiosk.wyoming_port"
            ) from None
        self._offered.refresh()
        log.info("the Wyoming server listens at %s:%d", kiosk.wyoming_host, self.port)
        if kiosk.zeroconf:
            try:
                await self._announce(kiosk)
            except ConfigError:
                await self.aclose()
                raise

    async def aclose(self) -> None:
        """Take no more clients and let go of those there are, within a few seconds."""
        await self._network.aclose()
        if self._listener is not None:
            self._listener.close()
        for client in self._clients:
            client.cancel()
        if self._clients:
            await asyncio.wait(self._clients, timeout=CLOSE_S)
        await self._offered.aclose()
        await self._booths.aclose()

    # -- inside -----------------------------------------------------------------------------------------

    async def _announce(self, kiosk: KioskConfig) -> None:
        from app.headless.wyoming.discovery import announced, reachable_addresses

        addresses = reachable_addresses(kiosk.wyoming_host)
        if not addresses:
            raise ConfigError(
                f"kiosk.zeroconf announces nothing that others could reach: {kiosk.wyoming_host} is this "
                "machine's own; set kiosk.wyoming_host, or leave kiosk.zeroconf out"
            )
        await self._network.enter_async_context(announced(self.port, addresses))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "asyncio makes a task for each connection"
        caller = str((writer.get_extra_info("peername") or ("",))[0])
        self._clients.add(task)
        try:
            if len(self._clients) > MOST_CLIENTS:
                log.warning(
                    "%d clients of the Wyoming server at once: one more was turned away", MOST_CLIENTS
                )
                return
            client = self._make_client(
                reader, writer, self._booths, self._config, self._offered.names,
                lambda: self._rate.take(caller, self._clock()),
            )  # fmt: skip
            await client.run()
        except asyncio.CancelledError:
            pass  # asyncio would report it as an error of the connection; it is the end of the server
        finally:
            self._clients.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()


def require_allowed(kiosk: KioskConfig) -> None:
    """Raise ConfigError if others than this machine's programs could ask, and that was not allowed."""
    if not is_loopback(kiosk.wyoming_host) and not kiosk.wyoming_allow_network:
        raise ConfigError(
            f"the Wyoming protocol knows no password: at {kiosk.wyoming_host}, everybody who reaches this "
            "machine could have texts spoken, at the server's cost. Set kiosk.wyoming_allow_network: true if "
            "that is meant, or kiosk.wyoming_host: 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine's programs reach ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@asynccontextmanager
async def serving(server: WyomingServer) -> AsyncIterator[WyomingServer]:
    """Have ``server`` listen for as long as the block runs."""
    await server.start()
    try:
        yield server
    finally:
        await server.aclose()
