"""The small marks that a style sheet can only take from files: arrows and ticks, drawn in its colours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import QTemporaryDir

import assets
from app.gui.style.tokens import Colours

_MARKS = {
    # mark: (icon, colour)
    "down": ("chevron-down", "text_muted"),
    "up": ("chevron-up", "text_muted"),
    "right": ("chevron-right", "text_muted"),
    "down-disabled": ("chevron-down", "text_disabled"),
    "up-disabled": ("chevron-up", "text_disabled"),
    "tick": ("check", "accent_text"),
    "tick-disabled": ("check", "text_disabled"),
    "menu-tick": ("check", "text"),
}


class Marks:
    """Keeps the files until the application ends."""

    def __init__(self) -> None:
        self._folder: QTemporaryDir | None = None

    def drawn(self, colours: Colours) -> Mapping[str, str]:
        """Return each mark's path, written with ``/``, after drawing it in ``colours``.

        A style sheet keeps images by their path: each palette has its own.
        """
        if self._folder is None:
            self._folder = QTemporaryDir()
        folder = Path(self._folder.path())
        paths = {}
        for mark, (icon, ink) in _MARKS.items():
            path = folder / f"{mark}-{'dark' if colours.is_dark else 'light'}.svg"
            if not path.exists():
                svg = assets.folder("icons", f"{icon}.svg").read_text("utf-8")
                path.write_text(svg.replace("currentColor", getattr(colours, ink)), "utf-8")
            paths[mark] = path.as_posix()
        return paths
