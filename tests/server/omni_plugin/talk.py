"""How the tests of the plug-in talk to its servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.helpers.omni_rig import OmniServer
from tests.server.emulator.wire_client import Heard, WireClient, client

CODEC = {"output_mode": "codec_tokens", "stream_audio": True, "response_format": "pcm", "voice": "vivian"}
PCM = CODEC | {"output_mode": "pcm"}
TEXT = "Every word of this is spoken by a talker that does not exist."


@asynccontextmanager
async def session(
    server: OmniServer, config: dict[str, Any] = CODEC, **more: Any
) -> AsyncIterator[WireClient]:
    """A configured session."""
    async with client(server.url) as c:
        await c.send("session.config", **config | more)
        yield c


async def say(server: OmniServer, text: str = TEXT, config: dict[str, Any] = CODEC, **more: Any) -> Heard:
    """Say a text on a connection of its own."""
    async with session(server, config, **more) as c:
        return await c.say(text)


async def hear_packets(c: WireClient, count: int) -> Heard:
    """Return what comes up to so many binary messages."""
    heard = Heard()
    while len(heard.binary) < count:
        heard.messages.append(await c.recv())
    return heard
