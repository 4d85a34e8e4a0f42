"""Where the window was and how it was divided, from one start to the next."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings


class WindowState:
    """A small file beside the configuration: nothing in it is worth a line in that."""

    def __init__(self, path: Path) -> None:
        self._values = QSettings(str(path), QSettings.Format.IniFormat)

    def geometry(self) -> QByteArray | None:
        """Return where the window was, as Qt packs it."""
        return self._bytes("window/geometry")

    def division(self) -> QByteArray | None:
        """Return how wide the panels were, as Qt packs it."""
        return self._bytes("window/division")

    def panels(self) -> tuple[str, ...] | None:
        """Return the names of the panels that were open; ``None`` at the very first start."""
        value = self._values.value("window/panels")
        return None if value is None else tuple(name for name in str(value).split(" ") if name)

    def keep(self, geometry: QByteArray, division: QByteArray, panels: tuple[str, ...]) -> None:
        """Write all of it."""
        self._values.setValue("window/geometry", geometry)
        self._values.setValue("window/division", division)
        self._values.setValue("window/panels", " ".join(panels))
        self._values.sync()

    def _bytes(self, key: str) -> QByteArray | None:
        value = self._values.value(key)
        return value if isinstance(value, QByteArray) else None
