"""How many threads decode, and how the thread that asks for it is set up."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch

from decoder.streaming.machine import usable_cpus

_MAX_THREADS = 8
"""More only wait for each other: the products of a step are small."""
_SMALL_MACS = 5e8
"""Multiply-adds per frame below which a second thread costs more than it brings."""


def choose_threads(requested: int | None = None, *, macs_per_frame: float = float("inf")) -> int:
    """Return the number of threads to decode with: at least 1, never more than the CPUs allowed.

    Args:
        requested: what the user asked for; None leaves the choice to ``OMP_NUM_THREADS`` and to
            measurement: one thread for a small decoder, else every CPU of two, and all but one of more (the
            audio callback and the event loop live there).
        macs_per_frame: multiply-adds of the decoder per frame.

    Raises:
        ValueError: ``requested`` is below 1.

    """
    cpus = usable_cpus()
    if requested is not None:
        if requested < 1:
            raise ValueError(f"threads must be at least 1, not {requested}")
        return min(requested, cpus)
    if (told := told_threads()) is not None:
        return min(told, cpus)
    if macs_per_frame < _SMALL_MACS:
        return 1
    return min(cpus if cpus <= 2 else cpus - 1, _MAX_THREADS)


def told_threads() -> int | None:
    """Return what ``OMP_NUM_THREADS`` asks for, or None."""
    told = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(told) if told.isdecimal() and int(told) > 0 else None


def prepare_decode_thread(threads: int) -> None:
    """Set up the calling thread for decoding. Call it first of all in the thread that decodes.

    Sets torch's number of threads, and makes denormal numbers count as zero: a signal that dies away
    passes through them, and arithmetic with them is many times slower. Both hold for this thread and
    the workers that it starts from now on, so call it before anything else of torch's.
    """
    # A thread's first question makes torch set it up with the number that some thread was given last, which
    # may be another one's that decodes right now: it has to come before the number is set.
    torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)  # False where the CPU cannot: then there is nothing to gain either


@contextlib.contextmanager
def decode_settings(threads: int) -> Iterator[None]:
    """Set up this thread as the decode thread is, for the time being."""
    before = torch.get_num_threads()
    prepare_decode_thread(threads)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)
