"""The moment when a window is seen for the first time."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget


class FirstPaint(QObject):
    """Watches a window from before it is shown."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._is_seen = asyncio.Event()
        window.installEventFilter(self)

    async def wait(self) -> None:
        """Return when the window has been painted, and everything in it with it."""
        await self._is_seen.wait()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Note the first paint; what is inside is painted in the same turn of the loop."""
        if event.type() is QEvent.Type.Paint:
            self._window.removeEventFilter(self)
            QTimer.singleShot(0, self._is_seen.set)
        return False
