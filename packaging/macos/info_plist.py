"""What macOS is told of the application; read by nearfield.spec."""

from __future__ import annotations

import plistlib
import re
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("Info.plist")


def info_plist(name: str, version: str) -> dict[str, Any]:
    """Return ``Info.plist`` with the project's name and version; macOS wants numbers and dots alone."""
    found = re.match(r"\d+(?:\.\d+){0,2}", version)
    numbers = found[0] if found else "0"
    text = FILE.read_text("utf-8")
    for place, value in (("@NAME@", name), ("@DISPLAY_NAME@", name.capitalize()), ("@VERSION@", numbers)):
        text = text.replace(place, value)
    return dict(plistlib.loads(text.encode()))
