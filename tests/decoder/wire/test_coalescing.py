"""Frames in packets of the size that a client asks for."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.wire.coalescing import MAX_AHEAD_S, Coalescer, Lead, packet_sizes
from tests.decoder.wire.lines import frames


@given(st.lists(st.integers(0, 9), max_size=30), st.none() | st.integers(1, 25))
def test_every_frame_comes_once_in_its_order_in_packets_of_the_asked_size(
    chunks: list[int], packet_frames: int | None
) -> None:
    """Whatever pieces the talker brings."""
    codes = frames(sum(chunks))
    coalescer = Coalescer(packet_frames)
    packets, at = [], 0
    for chunk in chunks:
        packets += coalescer.take(codes[at : at + chunk])
        at += chunk
    rest = coalescer.flush()
    sizes = [len(packet) for packet in packets]
    assert sizes == list(islice(packet_sizes(packet_frames), len(sizes)))
    assert rest is None or 0 < len(rest) < (packet_frames or 1)
    together = np.concatenate([codes[:0], *packets, *([] if rest is None else [rest])])
    np.testing.assert_array_equal(together, codes)
    assert coalescer.flush() is None


def test_a_packet_comes_as_soon_as_its_last_frame_is_there() -> None:
    """And the first one with the first frame: the first sound is not late."""
    coalescer = Coalescer(3)
    came = [[len(p) for p in coalescer.take(frames(1))] for _ in range(8)]
    assert came == [[1], [], [], [3], [], [], [3], []]
    rest = coalescer.flush()
    assert rest is not None
    assert len(rest) == 1


def test_what_is_held_is_not_what_the_talker_writes_into() -> None:
    """A talker may use its buffer again."""
    codes = frames(2)
    coalescer = Coalescer(2)
    (first,) = coalescer.take(codes)
    wanted = codes.copy()
    held = coalescer.flush()
    assert held is not None
    codes[:] = 0
    np.testing.assert_array_equal(np.concatenate([first, held]), wanted)


@pytest.mark.parametrize("packet_frames", [0, -1])
def test_packets_without_frames_are_refused(packet_frames: int) -> None:
    """At once, not at the first frame."""
    with pytest.raises(ValueError, match="1 is the least"):
        Coalescer(packet_frames)


@given(st.lists(st.tuples(st.integers(1, 25), st.floats(0.0, 20.0)), max_size=60))
def test_sound_is_ahead_of_its_time_by_so_much_and_a_packet_at_most(made: list[tuple[int, float]]) -> None:
    """Whatever the talker's pace: it plays from its arrival on, and nothing is held back without need."""
    lead, now_s, played_s = Lead(0.08), 0.0, 0.0
    for count, pause_s in made:
        now_s += pause_s
        wait_s = lead.hold_s(count, now_s)
        assert wait_s == pytest.approx(max(0.0, played_s - now_s - MAX_AHEAD_S))
        now_s += wait_s
        played_s = max(played_s, now_s) + count * 0.08
        assert played_s - now_s <= MAX_AHEAD_S + count * 0.08 + 1e-9
