"""Codes to PCM with exact carried state: the only package here that imports torch.

Importing this package is cheap. torch (seconds) is loaded by the first use of one of the names
below, or of a module that needs it, so an application imports them where it decodes::

    decoder = load_decoder("path/to/checkpoint")   # LoadedDecoder: weights, shared by all streams
    stream = decoder.new_stream()                  # DecodeStream: one per utterance
    pcm = stream.decode(codes)                     # int16 [T, 16] -> float32 [T * 1920]

``decoder.streaming.fetch`` (download) and ``decoder.streaming.config`` need no torch at all.

Importing sets ``OMP_WAIT_POLICY=PASSIVE`` and ``THP_MEM_ALLOC_ENABLE=1`` in the environment unless they are
set, so import this before torch.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decoder.streaming.codec import DecodeStream, LoadedDecoder, load_decoder

# Read once, when torch loads its OpenMP. By default its threads spin while they wait for each other, and on
# a machine where anything else runs they spin against the very thread that they wait for. Measured on
# 2 busy cores, full size, 2 threads: a 1-frame step 616-1043 ms spinning, 135-262 ms passive.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Read by torch's allocator: large blocks, weights above all, get pages of 2 MB where the kernel has them. A
# step of one frame reads all weights once: full size, float32, quiet machine 29.3 ms without, 26.7 with them.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

__all__ = ["DecodeStream", "LoadedDecoder", "load_decoder"]


def __getattr__(name: str) -> object:
    """Import the names of ``__all__`` on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from decoder.streaming.preload import import_torch

    import_torch()
    from decoder.streaming import codec

    return getattr(codec, name)
