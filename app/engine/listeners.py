"""Who is told what happens; none of them can do harm."""

from __future__ import annotations

import logging
from collections.abc import Callable

from app.engine.events import EngineEvent

log = logging.getLogger("nearfield.engine")


class Listeners:
    """Calls every listener with every event, in the order in which they came."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[EngineEvent], None]] = []

    def add(self, listener: Callable[[EngineEvent], None]) -> None:
        """Have ``listener`` called from now on."""
        self._listeners.append(listener)

    def tell(self, event: EngineEvent) -> None:
        """Call the listeners; one that raises is logged, and neither the others nor the sound notice."""
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("a listener failed on %r", event)
