from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.playback.ring_buffer import RingBuffer
from tests.app.audio.sources import ramp


def test_a_new_ring_is_empty() -> None:
    ring = RingBuffer(10)
    assert (ring.readable_samples, ring.writable_samples) == (0, 10)
    assert ring.read_into(np.ones(5, np.float32)) == 0


def test_a_write_takes_what_there_is_room_for() -> None:
    ring = RingBuffer(10)
    assert ring.write(ramp(7)) == 7
    assert ring.write(ramp(7)) == 3
    assert ring.write(ramp(7)) == 0
    assert (ring.readable_samples, ring.writable_samples) == (10, 0)


def test_a_short_read_leaves_the_rest_of_the_block_alone() -> None:
    ring = RingBuffer(10)
    ring.write(ramp(3))
    out = np.ones(5, np.float32)
    assert ring.read_into(out) == 3
    assert out.tolist() == [*ramp(3).tolist(), 1.0, 1.0]


@settings(deadline=None, max_examples=300)
@given(
    st.integers(1, 40),
    st.lists(st.tuples(st.sampled_from(["write", "read"]), st.integers(0, 60)), max_size=60),
)
def test_any_order_of_writes_and_reads_is_a_queue(capacity: int, steps: list[tuple[str, int]]) -> None:
    ring, queue, count = RingBuffer(capacity), deque[float](), 0
    written = read = 0
    for what, samples in steps:
        if what == "write":
            pcm = ramp(count + samples)[count:]
            taken = ring.write(pcm)
            assert taken == min(samples, capacity - len(queue))
            queue.extend(pcm[:taken].tolist())
            count, written = count + taken, written + taken
        else:
            out = np.full(samples, -1.0, np.float32)
            got = ring.read_into(out)
            assert out[:got].tolist() == [queue.popleft() for _ in range(got)]
            assert (out[got:] == -1.0).all()
            assert got == samples or not queue
            read += got
        assert (ring.written_samples, ring.read_samples) == (written, read)
        assert (ring.readable_samples, ring.writable_samples) == (len(queue), capacity - len(queue))


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads take turns a hundred times as often as they do by default."""
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(usual_s / 100)
    yield
    sys.setswitchinterval(usual_s)


@pytest.mark.usefixtures("hasty_threads")
def test_two_threads_hammering_lose_and_repeat_nothing() -> None:
    """And a third thread that only looks never sees fewer than no samples."""
    ring, total = RingBuffer(997), 300_000
    pcm, heard, seen = ramp(total), [], []
    done = threading.Event()

    def write() -> None:
        at, sizes = 0, np.random.default_rng(1)
        while at < total:
            at += ring.write(pcm[at : at + int(sizes.integers(1, 700))])

    def read() -> None:
        at, sizes = 0, np.random.default_rng(2)
        while at < total:
            out = np.empty(int(sizes.integers(1, 700)), np.float32)
            count = ring.read_into(out)
            heard.append(out[:count])
            at += count
        done.set()

    def look() -> None:
        while not done.is_set():
            seen.append(ring.readable_samples)

    threads = [threading.Thread(target=each) for each in (write, read, look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    np.testing.assert_array_equal(np.concatenate(heard), pcm)
    assert min(seen) >= 0
