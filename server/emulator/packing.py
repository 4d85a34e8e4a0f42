"""Frames in any pieces become packets of the sizes asked for, in their order."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection
from contextlib import aclosing

import numpy as np

from decoder.wire.packets import Codes


async def packets(
    chunks: AsyncIterator[Codes],
    next_size: Callable[[], int],
    *,
    first_frame: int = 0,
    breaks: Collection[int] = (),
    mark_last: bool = False,
) -> AsyncGenerator[tuple[Codes, bool], None]:
    """Yield the rows of ``chunks`` again as packets, and with each whether it is known to be the last.

    ``next_size()`` gives the size of the next packet in frames; the last one may be smaller. A packet ends
    before each frame in ``breaks``, counted like ``first_frame``. To mark the last packet one is always held
    back; without ``mark_last`` none is, and the mark is always false.
    """
    held: Codes | None = None
    async with aclosing(_cut(chunks, next_size, first_frame, sorted(breaks))) as cut:
        async for packet in cut:
            if not mark_last:
                yield packet, False
                continue
            if held is not None:
                yield held, False
            held = packet
    if held is not None:
        yield held, True


async def _cut(
    chunks: AsyncIterator[Codes], next_size: Callable[[], int], position: int, breaks: list[int]
) -> AsyncGenerator[Codes, None]:
    def wanted() -> int:
        ahead = [at - position for at in breaks if at > position]
        return min([next_size(), *ahead])

    parts: list[Codes] = []
    size = wanted()
    async for chunk in chunks:
        rest = chunk
        while len(rest):
            part, rest = rest[:size], rest[size:]
            parts.append(part)
            size -= len(part)
            position += len(part)
            if size == 0:
                yield np.concatenate(parts)
                parts, size = [], wanted()
    if parts:
        yield np.concatenate(parts)
