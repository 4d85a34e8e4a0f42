"""Whether a server can be used, found out by asking it, without a word being spoken."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass

from app.config import Profile
from app.errors import Unreachable
from app.session.address import server_address
from app.session.session import LinkChanged, LinkState, Session, SessionEvent
from decoder.spec import CodecSpec
from decoder.wire.events import LinkUseless, Mode, ModeKnown
from decoder.wire.messages import SessionConfig

ANSWER_S = 3.0
"""Servers that know the question answer it at once; one that does not may still be a good server."""
_OPEN_S = 10.0


@dataclass(frozen=True)
class Finding:
    """A server that can be used."""

    mode: Mode
    """Who decodes; ``UNKNOWN`` where it only shows with the first text."""
    took_s: float
    """From the first packet to the open link: name, network, TLS and the server's yes."""


async def check_connection(profile: Profile, key: str, answer_s: float = ANSWER_S) -> Finding:
    """Connect to the server of ``profile``, ask who decodes, and leave it again.

    Raises:
        Unreachable: nothing answers, or it hung up.
        Refused: it answered no.
        ConfigError: the profile cannot be used.

    """
    address = server_address(profile.url, key, profile.ca_file, profile.allow_insecure_key, _OPEN_S)
    found: asyncio.Future[Mode] = asyncio.get_running_loop().create_future()

    def on_event(event: SessionEvent) -> None:
        if found.done():
            return
        match event:
            case ModeKnown():
                found.set_result(event.mode)
            case LinkChanged(state=LinkState.OFFLINE) if has_connected:
                found.set_exception(Unreachable(f"{address.url} hung up: {event.detail}"))
            case LinkUseless():
                found.set_exception(Unreachable(f"{address.url} hung up: {event.reason}"))

    has_connected = False
    session = Session(address, CodecSpec(), on_event)
    begun = time.perf_counter()
    try:
        await session.connect(SessionConfig())
        has_connected = True
        took_s = time.perf_counter() - begun
        mode = Mode.UNKNOWN
        with contextlib.suppress(asyncio.TimeoutError):
            mode = await asyncio.wait_for(found, answer_s)
        return Finding(mode, took_s)
    finally:
        found.cancel()
        await session.aclose()
