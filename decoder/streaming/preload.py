"""Import torch without holding up the other threads of the process, such as the one that paints a window.

Three things in ``import torch`` keep the interpreter to themselves for longer than an eye forgives.

- The linker loads 460 MB of shared libraries inside one import, which holds the interpreter's lock. A foreign
  call to ``dlopen`` does the same without it.
- The linker has a lock of its own. Who imports another extension module meanwhile waits for it, and holds the
  interpreter's while waiting. So a program with a window calls :func:`open_libraries` at a moment when
  nothing else is imported.
- The hundred thousand objects that torch makes set off full rounds of the garbage collector, which goes
  through all of them each time.

Measured with the demo's decoder on 2 cores, as the longest gap of a 10 ms timer in the main thread meanwhile:
222 and 422 ms with a plain import, 18 ms so. It is also faster: 1.05 s instead of 1.23.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import sys
import threading
from pathlib import Path

_LIBRARIES = ("libc10.so", "libtorch_cpu.so", "libtorch_python.so")
"""In the order of their dependence; the import needs them all."""
_one_at_a_time = threading.Lock()


def import_torch() -> None:
    """Import torch in the calling thread, unless it is there already; another that asks meanwhile waits.

    Afterwards what exists is left out of garbage collection (``gc.freeze``): torch's objects live as long as
    the process, and going through them takes a tenth of a second each time.
    """
    with _one_at_a_time:
        if "torch" in sys.modules:
            return
        open_libraries()
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            import torch  # noqa: F401
        finally:
            if was_enabled:
                gc.enable()
        gc.freeze()


def open_libraries() -> None:
    """Have the linker load torch's libraries while other threads run; takes some tenths of a second.

    It is only a head start, on Linux: what cannot be opened here is opened, or complained about, by the
    import. They stay open, and a second call finds them so.
    """
    if not sys.platform.startswith("linux"):
        return
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return
    # A function of a CDLL releases the interpreter's lock while it runs; making a CDLL of a path does not.
    linker = ctypes.CDLL(None)
    try:
        dlopen = linker.dlopen
    except AttributeError:  # in a library of its own, before glibc 2.34
        dlopen = ctypes.CDLL("libdl.so.2").dlopen
    dlopen.argtypes = [ctypes.c_char_p, ctypes.c_int]
    dlopen.restype = ctypes.c_void_p
    folder = Path(spec.origin).parent / "lib"
    for name in _LIBRARIES:
        if (path := folder / name).is_file():
            dlopen(os.fsencode(path), os.RTLD_LAZY | os.RTLD_LOCAL)
