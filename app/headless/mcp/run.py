"""``nearfield mcp``: started by an assistant's program, on whose other end of a pipe the tools are used."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from app.config import Config
from app.errors import ConfigError
from app.headless.owned import owned_desk
from app.headless.speaking import EXIT_OK

log = logging.getLogger("nearfield.mcp")


def run(config: Config, *, is_demo: bool) -> int:
    """Serve on standard input and output until that ends, and return an exit code.

    Raises:
        ConfigError: a package is missing.

    """
    try:
        for name in ("aiohttp", "mcp.server.mcpserver"):
            import_module(name)
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        raise ConfigError(f"this needs the package {package}: pip install 'nearfield[kiosk]'") from None
    return asyncio.run(_serve(config, is_demo))


async def _serve(config: Config, is_demo: bool) -> int:
    from app.headless.mcp.finding import FoundSpeaker
    from app.headless.mcp.speaker import Speaker
    from app.headless.mcp.through_desk import of_this_process
    from app.headless.mcp.through_http import find
    from app.headless.mcp.tools import server

    @asynccontextmanager
    async def own() -> AsyncIterator[Speaker]:
        async with owned_desk(config, is_demo) as owned, of_this_process(owned.desk) as speaker:
            yield speaker

    speaker = FoundSpeaker(lambda: find(config.kiosk), own)
    terminated = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):  # on Windows, where both end the process at once
            asyncio.get_running_loop().add_signal_handler(number, terminated.set)
    serving = asyncio.create_task(server(speaker.get).run_stdio_async())
    ending = asyncio.create_task(terminated.wait())
    warming = asyncio.create_task(speaker.get())
    try:
        await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ending.cancel()
        await asyncio.gather(warming, ending, return_exceptions=True)
        await speaker.aclose()
    if not serving.done():
        # The thread that reads standard input cannot be interrupted, and nothing else is left to be done.
        sys.stderr.flush()
        os._exit(EXIT_OK)
    serving.result()
    return EXIT_OK
