"""``nearfield --no-gui``: speaks the lines of standard input until that ends, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import sys

from app.config import Config
from app.errors import SessionError
from app.headless.show import Display
from app.headless.sources import lines_of
from app.headless.speaking import EXIT_OK, EXIT_TERMINATED, open_engine, speak_texts, until_interrupted


def run(config: Config, display: Display, *, demo: bool = False) -> int:
    """Run the kiosk and return an exit code."""
    try:
        code = asyncio.run(until_interrupted(lambda: _serve(config, display, demo)))
        # Whoever runs a kiosk as a service ends it with SIGTERM: that is a good end.
        return EXIT_OK if code == EXIT_TERMINATED else code
    finally:
        display.close()


async def _serve(config: Config, display: Display, demo: bool) -> int:
    async with open_engine(config, display, demo=demo) as engine:
        await engine.start()
        try:
            await engine.connect()
        except SessionError as error:
            display.say(f"{error}; each text tries again")
        return await speak_texts(engine, lines_of(sys.stdin), display)
