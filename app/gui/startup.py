"""What has to be there before a window can be: packages, libraries, a display. Imports no Qt.

Qt itself ends the process with a trace where a platform plugin cannot be loaded, so everything that a person
can mend is looked at first and told in one sentence.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from assets.bundle import advice

PACKAGES = ("PySide6", "qasync")
WITHOUT = "nearfield say and nearfield --no-gui need no window"
_INSTALL = "install it with pip install 'nearfield[gui]' or packaging/bootstrap.sh --gui"
_OR_BOOTSTRAP = " or packaging/bootstrap.sh --gui"
_LIBRARIES = {
    # Those that Qt's own libraries name and a bare Debian or Ubuntu lacks; the values are its packages.
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libfontconfig.so.1": "libfontconfig1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libxkbcommon.so.0": "libxkbcommon0",
}
_X11_LIBRARIES = {
    "libxcb.so.1": "libxcb1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
_WAYLAND_LIBRARIES = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
}


def why_no_window(
    environment: Mapping[str, str],
    *,
    system: str = sys.platform,
    has_package: Callable[[str], bool] | None = None,
    has_library: Callable[[str], bool] | None = None,
    has_x11: Callable[[str], bool] | None = None,
) -> str:
    """Return, in a sentence with its next step, what keeps a window from opening; empty if nothing does.

    Args:
        environment: the process's.
        system: as ``sys.platform``.
        has_package: whether a Python package is installed.
        has_library: whether the dynamic linker finds a shared library.
        has_x11: whether an X server answers at an address like ``:0``.

    """
    absent = [name for name in PACKAGES if not (has_package or _has_package)(name)]
    if absent:
        return f"the window needs {' and '.join(absent)}: {advice(_INSTALL)}; {WITHOUT}"
    if not system.startswith("linux"):
        return ""
    library = has_library or _has_library
    if missing := _missing(_LIBRARIES, library):
        return _lacking(missing)
    platform = environment.get("QT_QPA_PLATFORM", "").partition(":")[0]
    if platform not in ("", "xcb", "wayland"):
        return ""  # somebody knows what they do: offscreen, vnc, eglfs
    absent_libraries: list[str] = []
    reasons: list[str] = []
    # In Qt's order of trying: the first that works will do.
    if platform != "wayland" and (display := environment.get("DISPLAY", "")):
        if missing := _missing(_X11_LIBRARIES, library):
            absent_libraries += missing
        elif (has_x11 or _has_x11)(display):
            return ""
        else:
            reasons.append(f"no X server answers at DISPLAY={display}")
    if platform != "xcb" and (display := environment.get("WAYLAND_DISPLAY", "")):
        socket = Path(environment.get("XDG_RUNTIME_DIR", "/run"), display)
        if missing := _missing(_WAYLAND_LIBRARIES, library):
            absent_libraries += missing
        elif socket.is_socket():
            return ""
        else:
            reasons.append(f"no Wayland compositor listens at {socket}")
    if absent_libraries:
        return _lacking(absent_libraries)
    if not reasons:
        reasons = ["there is no display to open a window on (DISPLAY and WAYLAND_DISPLAY are not set)"]
    return f"{'; '.join(reasons)}; {WITHOUT}"


def why_qt_does_not_load() -> str:
    """Import Qt and return why that fails, as :func:`why_no_window` does."""
    try:
        for name in ("PySide6.QtWidgets", "PySide6.QtNetwork", "PySide6.QtSvg"):
            importlib.import_module(name)
    except ImportError as error:
        help_ = advice(
            "packaging/bootstrap.sh --gui installs what it needs",
            "a library that Qt needs is missing on this system, or the bundle is not whole",
        )
        return f"Qt cannot be loaded ({error}): {help_}; {WITHOUT}"
    return ""


def _lacking(packages: Sequence[str]) -> str:
    return (
        "the window needs system libraries that are not installed: run"
        f" sudo apt-get install {' '.join(packages)} (these are their names on Debian and Ubuntu)"
        f"{advice(_OR_BOOTSTRAP, '')}; {WITHOUT}"
    )


def _missing(libraries: Mapping[str, str], has_library: Callable[[str], bool]) -> list[str]:
    return [package for name, package in libraries.items() if not has_library(name)]


def _has_package(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # a module without a spec was put there by somebody
        return False


def _has_library(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _has_x11(display: str) -> bool:
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(display.encode(), None)
    is_broken = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return not is_broken
