"""The embedded server: started on a free loopback port and connected to like any other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import assets
from app.config import Config, VoiceConfig
from server.emulator import Emulator, demo_talker


@asynccontextmanager
async def demo_server(config: Config) -> AsyncIterator[tuple[Config, str | None]]:
    """Run the embedded server for as long as the block does.

    Yields the configuration that connects to it with the demo's own decoder, and a line to show if the
    demo cannot speak free text here.
    """
    talker = await demo_talker()
    async with Emulator(talker) as emulator:
        server = replace(config.server, url=emulator.url, api_key="")
        decoder = replace(config.decoder, checkpoint=str(assets.folder("demo_voice")))
        voice = VoiceConfig()
        yield replace(config, server=server, decoder=decoder, voice=voice), talker.notice
