"""Draws the program's icon as Windows and macOS want it, from the one drawing that there is.

Run with the environment of a build, which has Qt::

    python icons.py FILE.ico          Windows
    python icons.py FILE.icns         macOS
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

DRAWING = Path(__file__).resolve().parents[2] / "assets/icons/nearfield.svg"
ICO_SIZES = (16, 20, 24, 32, 40, 48, 64, 128, 256)
ICNS_SIZES = {
    # What macOS calls a picture of so many pixels; those for sharp screens are named apart.
    b"icp4": 16,
    b"icp5": 32,
    b"ic11": 32,
    b"ic12": 64,
    b"ic07": 128,
    b"ic13": 256,
    b"ic08": 256,
    b"ic14": 512,
    b"ic09": 512,
    b"ic10": 1024,
}
Draw = Callable[[int], bytes]
"""Returns a PNG of so many pixels on each side."""


def ico(draw: Draw) -> bytes:
    """Return an .ico file with a PNG for each size."""
    pictures = [(size, draw(size)) for size in ICO_SIZES]
    at = 6 + 16 * len(pictures)
    head = struct.pack("<HHH", 0, 1, len(pictures))
    for size, picture in pictures:
        side = size % 256  # 0 stands for 256
        head += struct.pack("<BBBBHHII", side, side, 0, 0, 1, 32, len(picture), at)
        at += len(picture)
    return head + b"".join(picture for _, picture in pictures)


def icns(draw: Draw) -> bytes:
    """Return an .icns file with a PNG for each size."""
    parts = b""
    for kind, size in ICNS_SIZES.items():
        picture = draw(size)
        parts += kind + struct.pack(">I", 8 + len(picture)) + picture
    return b"icns" + struct.pack(">I", 8 + len(parts)) + parts


def draw_png(size: int) -> bytes:
    """Draw the icon."""
    from PySide6.QtCore import QBuffer, QIODevice, Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(str(DRAWING)).render(painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, "PNG"):  # type: ignore[call-overload]  # the stubs know only bytes
        raise RuntimeError("Qt cannot write PNG files here")
    return bytes(buffer.data().data())


def main() -> int:
    """Write the file that the command line names; returns an exit code."""
    makers = {".ico": ico, ".icns": icns}
    path = Path(sys.argv[1]) if len(sys.argv) == 2 else Path()
    if path.suffix not in makers:
        print("icons: wants one name that ends with .ico or .icns", file=sys.stderr)
        return 2
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtGui import QGuiApplication

    application = QGuiApplication(sys.argv[:1])
    path.write_bytes(makers[path.suffix](draw_png))
    del application
    return 0


if __name__ == "__main__":
    sys.exit(main())
