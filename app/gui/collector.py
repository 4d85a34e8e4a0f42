"""Collects garbage in the thread of the window only.

Python collects in whatever thread happens to make an object. What is collected may be a widget that was part
of a cycle, and Qt's objects must not end in another thread than their own: that crashes the process. So
automatic collection is off while there is a window, and this does the same at the same thresholds.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

LOOK_MS = 500


class Collector(QObject):
    """Takes over from the automatic collection, from its making until ``close``."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._was_enabled = gc.isenabled()
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()

    def look(self) -> None:
        """Collect what is due: the oldest generation that has reached its threshold, and all younger."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        for generation in (2, 1, 0):
            if thresholds[generation] and counts[generation] > thresholds[generation]:
                gc.collect(generation)
                return

    def close(self) -> None:
        """Give it back."""
        self._timer.stop()
        if self._was_enabled:
            gc.enable()
