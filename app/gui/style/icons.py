"""Icons of one family: lines on a grid of 24, in the colours of the theme, sharp at any size."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

import assets
from app.gui.style.theme import theme
from app.gui.style.tokens import Colours

_INK = b"currentColor"
"""What the files say instead of a colour."""


def icon(name: str, ink: str = "text") -> QIcon:
    """Return the icon ``assets/icons/<name>.svg``; drawn anew in the theme's colours whenever it is painted.

    ``ink`` is the colour's name in :class:`~app.gui.style.tokens.Colours`: ``accent_text`` on a primary
    button, ``danger`` beside an error. Disabled, it is as faint as disabled text.

    Raises:
        FileNotFoundError: there is none of that name.

    """
    source(name)
    return QIcon(_Engine(name, ink))


def app_icon() -> QIcon:
    """Return the application's own icon, which has colours of its own."""
    image = QIcon()
    for pixels in (16, 24, 32, 48, 64, 128, 256):
        image.addPixmap(_drawn(source("nearfield"), QSize(pixels, pixels)))
    return image


def pixmap(name: str, ink: str, side: int, ratio: float) -> QPixmap:
    """Return an icon as an image ``side`` pixels wide and high on a screen of ``ratio`` dots to each."""
    dots = round(side * ratio)
    image = _drawn(inked(name, getattr(theme().colours, ink)), QSize(dots, dots))
    image.setDevicePixelRatio(ratio)
    return image


def inked(name: str, colour: str) -> bytes:
    """Return the SVG of an icon drawn in ``colour``."""
    return source(name).replace(_INK, colour.encode())


@cache
def source(name: str) -> bytes:
    """Return the SVG of an icon as it lies in its file."""
    return assets.folder("icons", f"{name}.svg").read_bytes()


class _Engine(QIconEngine):
    """Paints one icon in the colour that its state has in the theme of that moment."""

    def __init__(self, name: str, ink: str) -> None:
        super().__init__()
        self._name = name
        self._ink = ink

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        """Paint in the middle of ``rect``, as large as fits."""
        side = min(rect.width(), rect.height())
        box = QRectF(0, 0, side, side)
        box.moveCenter(QRectF(rect).center())
        _renderer(inked(self._name, self._colour(theme().colours, mode))).render(painter, box)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        """Return an image of exactly ``size`` dots."""
        image = QPixmap(size)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        self.paint(painter, QRect(QPoint(0, 0), size), mode, state)
        painter.end()
        return image

    def clone(self) -> QIconEngine:
        """Return another one that paints the same."""
        return _Engine(self._name, self._ink)

    def _colour(self, colours: Colours, mode: QIcon.Mode) -> str:
        if mode is QIcon.Mode.Disabled:
            return colours.text_disabled
        if mode is QIcon.Mode.Selected:
            return colours.selection_text
        value: str = getattr(colours, self._ink)
        return value


def _drawn(svg: bytes, size: QSize) -> QPixmap:
    image = QPixmap(size)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    _renderer(svg).render(painter, QRectF(0, 0, size.width(), size.height()))
    painter.end()
    return image


def _renderer(svg: bytes) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(svg))
