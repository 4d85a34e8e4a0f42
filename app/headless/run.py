"""``nearfield --no-gui``: speaks what its sources bring until it is told to end, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from app.config import Config
from app.headless.kiosk import Kiosk
from app.headless.service import manager_of
from app.headless.show import Display
from app.headless.speaking import EXIT_OK, EXIT_TERMINATED, until_interrupted


def run(
    config: Config, display: Display, *, demo: bool = False, reload: Callable[[], Config] | None = None
) -> int:
    """Run the kiosk and return an exit code; ``reload`` reads the configuration once more.

    Raises:
        NearfieldError: something in the configuration cannot be used.
        DecoderError: the checkpoint that was asked for is not there.

    """

    async def serve() -> int:
        with manager_of() as manager:
            return await Kiosk(config, display, manager, reload or (lambda: config), demo=demo).run()

    try:
        code = asyncio.run(until_interrupted(serve))
        # Whoever runs a kiosk as a service ends it with SIGTERM: that is a good end.
        return EXIT_OK if code == EXIT_TERMINATED else code
    finally:
        display.close()
