"""Any pieces become packets of any sizes, and not one frame is lost, repeated or moved."""

from __future__ import annotations

import asyncio
import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from server.emulator.packing import packets


async def pieces(frames: np.ndarray, sizes: list[int]):
    start = 0
    for size in sizes:
        yield frames[start : start + size]
        start += size


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 50), max_size=12),
    st.lists(st.integers(1, 40), min_size=1, max_size=5),
    st.lists(st.integers(0, 300), max_size=3),
    st.integers(0, 100),
    st.booleans(),
)
def test_packets_are_the_frames(
    chunks: list[int], sizes: list[int], breaks: list[int], first: int, mark: bool
) -> None:
    frames = np.arange(sum(chunks) * 16, dtype=np.int16).reshape(-1, 16)
    size = itertools.cycle(sizes)

    async def collect() -> list[tuple[np.ndarray, bool]]:
        cut = packets(
            pieces(frames, chunks), lambda: next(size), first_frame=first, breaks=breaks, mark_last=mark
        )
        return [packet async for packet in cut]

    out = asyncio.run(collect())
    np.testing.assert_array_equal(np.concatenate([frames[:0], *(p for p, _ in out)]), frames)
    assert all(1 <= len(p) <= max(sizes) for p, _ in out)
    assert [is_last for _, is_last in out] == [mark and n == len(out) - 1 for n in range(len(out))]
    starts = set(np.cumsum([first, *(len(p) for p, _ in out)]).tolist())
    assert {at for at in breaks if first < at < first + len(frames)} <= starts


async def test_a_packet_leaves_as_soon_as_it_is_full() -> None:
    asked: list[int] = []

    async def talker():
        for n in range(4):
            asked.append(n)
            yield np.full((1, 16), n, np.int16)

    cut = packets(talker(), lambda: 2)
    await anext(cut)
    assert asked == [0, 1]
    await cut.aclose()
