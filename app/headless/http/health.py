"""Whether a text would be heard now, and what stands in the way."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from app.config import ServerConfig
from app.desk.desk import Desk
from app.errors import ConfigError
from app.session.address import server_address
from app.session.events import LinkState
from decoder.wire.events import Mode

REACH_S = 2.0
FRESH_S = 5.0
"""How long it stays known that a server answers, so that frequent questions do not become connections."""


class Health:
    """Asks the desk, and the server's port while the link sleeps because nobody speaks."""

    def __init__(self, desk: Desk, clock: Callable[[], float] = time.monotonic) -> None:
        self._desk = desk
        self._clock = clock
        self._asked: tuple[ServerConfig, float, str] | None = None
        self._asking = asyncio.Lock()

    async def why_mute(self) -> tuple[str, ...]:
        """Return what stands in the way of being heard now, in words; empty if nothing does."""
        status = self._desk.status()
        reasons = status.why_mute
        if status.link is LinkState.ASLEEP and (reason := await self._why_unreachable()):
            reasons = (f"server: {reason}", *reasons)
        return reasons

    def why_not_ready(self) -> tuple[str, ...]:
        """Return what is still being prepared: a program that is ready takes texts, heard or not."""
        status = self._desk.status()
        if status.decoder_ready or status.mode is Mode.PCM:
            return ()
        return (f"decoder: {status.decoder_detail}",)

    async def _why_unreachable(self) -> str:
        config = self._desk.config.server
        async with self._asking:
            if self._asked is not None:
                asked, at_s, reason = self._asked
                if asked == config and self._clock() - at_s < FRESH_S:
                    return reason
            reason = await _why_closed(config)
            self._asked = (config, self._clock(), reason)
            return reason


async def _why_closed(config: ServerConfig) -> str:
    """Return why nothing can connect to the server's port, or nothing if something did."""
    try:
        address = server_address(
            config.url, config.api_key, config.ca_file, config.allow_insecure_key, config.connect_timeout_s
        )
        opening = asyncio.open_connection(address.host, address.port)
        _, writer = await asyncio.wait_for(opening, min(REACH_S, address.open_timeout_s))
    except asyncio.TimeoutError:
        return f"no answer from {config.url}"
    except (OSError, ConfigError) as error:
        return f"cannot reach {config.url} ({getattr(error, 'strerror', None) or error})"
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return ""
