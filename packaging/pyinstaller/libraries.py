"""Runs in the frozen programs first of all: whose shared libraries are used, and which are inherited.

- What the bootloader put into ``LD_LIBRARY_PATH`` was read by the linker already. What this program starts
  (``pactl``, a browser) gets what there was before: it must not load libraries of the bundle.
- The sound libraries below are half of something that belongs to the system: its plugins, its server. The
  bundle's own serve only where the system has none; likewise ALSA's settings, without which PortAudio ends
  the process.
- PortAudio is the bundle's, whatever the system has.
"""

import ctypes
import ctypes.util
import os
import sys
from pathlib import Path

_BUNDLE = Path(sys._MEIPASS)  # type: ignore[attr-defined]
_OF_THE_SYSTEM = ("libasound.so.2", "libjack.so.0")
_RTLD_LAZY = 1


def _restore_environment() -> None:
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    if before:
        os.environ["LD_LIBRARY_PATH"] = before
    else:
        os.environ.pop("LD_LIBRARY_PATH", None)


def _open_of_the_system() -> None:
    """Open them under their names: who needs these names later, as PortAudio does, gets what is open."""
    # Not ctypes.CDLL of the name: in a frozen program that looks into the bundle first.
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.argtypes, dlopen.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
    for name in _OF_THE_SYSTEM:
        if not dlopen(name.encode(), _RTLD_LAZY):
            dlopen(os.fsencode(_BUNDLE / "fallback" / name), _RTLD_LAZY)
    if not os.path.exists("/usr/share/alsa/alsa.conf"):
        os.environ.setdefault("ALSA_CONFIG_DIR", str(_BUNDLE / "fallback" / "alsa"))


def _name_portaudio() -> None:
    found = ctypes.util.find_library

    def find_library(name: str) -> "str | None":
        return str(_BUNDLE / "libportaudio.so.2") if name == "portaudio" else found(name)

    ctypes.util.find_library = find_library


if sys.platform.startswith("linux"):
    _restore_environment()
    _open_of_the_system()
    _name_portaudio()
