"""Numbers come dozens of times a second; a person reads a few."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal


class Throttle(QObject):
    """Asks for work at once when it was idle, then no more often than every ``interval_s``.

    What is asked for in between is done once, at the end of the interval: the last state is always shown.

    Signals:
        due: it is time.

    """

    due = Signal()

    def __init__(self, interval_s: float, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._is_wanted = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(round(interval_s * 1000))
        self._timer.timeout.connect(self._on_timeout)

    def want(self) -> None:
        """Have :attr:`due` emitted, now or soon."""
        if self._timer.isActive():
            self._is_wanted = True
            return
        self._timer.start()
        self.due.emit()

    def _on_timeout(self) -> None:
        if self._is_wanted:
            self._is_wanted = False
            self._timer.start()
            self.due.emit()
