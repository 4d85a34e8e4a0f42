"""The text of the clipboard, for a command without a window."""

from __future__ import annotations

import sys

from PySide6.QtGui import QGuiApplication


def clipboard_text() -> str:
    """Return the text of the clipboard; empty if it holds none.

    Makes an application for the moment where there is none yet; some Wayland compositors show the clipboard
    only to the window that has the focus, so that it is found empty.
    """
    app = QGuiApplication.instance() or QGuiApplication(sys.argv[:1])
    assert isinstance(app, QGuiApplication)
    app.processEvents()
    return app.clipboard().text()
