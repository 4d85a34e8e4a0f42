"""SIGINT and SIGTERM in the loop of the window."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier


class Signals(QObject):
    """Calls ``on_signal`` with the number of a SIGINT or SIGTERM that comes, in Qt's loop, until ``close``.

    Python runs a handler only between two of its own instructions, and Qt's loop may run none for long. So
    the interpreter is asked to write a byte to a socket, which wakes that loop; this works on Windows,
    too, where loops have no signal handlers.
    """

    def __init__(self, on_signal: Callable[[int], None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reading, self._writing = socket.socketpair()
        self._reading.setblocking(False)
        self._writing.setblocking(False)
        self._wakeup_before = signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)
        self._before = {
            number: signal.signal(number, lambda number, _: on_signal(number))
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        self._notifier = QSocketNotifier(self._reading.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_byte)

    def close(self) -> None:
        """Put everything back as it was."""
        self._notifier.setEnabled(False)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        self._reading.close()
        self._writing.close()

    def _on_byte(self) -> None:
        # The byte has done its work: now that Python code runs, the handlers run as well.
        with contextlib.suppress(OSError):
            self._reading.recv(64)
