"""What takes the place of ``OmniStreamingSpeechHandler.handle_session``."""

from __future__ import annotations

from typing import Any

from .connection import Connection
from .service import Service


def patch(module: Any) -> None:
    """Put our session loop into the handler of the module ``serving_speech_stream``.

    Everything else of the handler stays and is used: PCM sessions are parsed, checked and spoken by its own
    methods.
    """

    async def handle_session(self: Any, websocket: Any) -> None:
        """Serve one WebSocket connection, codec tokens or PCM."""
        await Connection(self, websocket, Service(self._speech_service)).run()

    module.OmniStreamingSpeechHandler.handle_session = handle_session
