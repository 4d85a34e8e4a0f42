"""A desk with a host of its own, for programs that speak by themselves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.config import Config
from app.desk.desk import Desk
from app.engine.events import Notice, Severity
from app.engine.host import Host, HostEvent, Wanted

log = logging.getLogger("nearfield.engine")

_LEVELS = {Severity.INFO: logging.INFO, Severity.WARNING: logging.WARNING, Severity.ERROR: logging.ERROR}


@dataclass(frozen=True)
class Owned:
    """A desk, and the host behind it, which nobody else uses."""

    desk: Desk
    host: Host

    def empty_output(self) -> None:
        """Have what the sound device holds thrown away: what was stopped is silent now, not in 0.1 s."""
        if self.host.engine is not None:
            self.host.engine.empty_output()


@asynccontextmanager
async def owned_desk(config: Config, is_demo: bool) -> AsyncIterator[Owned]:
    """Make a desk for the block; its engine is made ready while the block runs already.

    Whatever stands in the way is logged, and texts wait or fail as the desk says.
    """
    host = Host(Wanted(config, is_demo))
    host.subscribe(_log)
    desk = Desk(host)
    starting = asyncio.create_task(host.start())
    try:
        yield Owned(desk, host)
    finally:
        await desk.aclose(0.0)
        # A start that is still going on clears up after itself.
        starting.cancel()
        await asyncio.wait({starting})
        await host.aclose()


def _log(event: HostEvent) -> None:
    if isinstance(event, Notice):
        log.log(_LEVELS[event.severity], "%s", event.text)
