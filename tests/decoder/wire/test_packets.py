"""The packet format, and the two helpers of a server."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.errors import PacketError
from decoder.wire import packets as p
from tests.decoder.wire.lines import SPEC, frames

CODES = st.integers(0, 0x7FFF)


class Tensor:
    """Holds an array as a torch tensor on some device does, of which numpy must not know."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> np.ndarray:
        return self._array


# -- pack and unpack ----------------------------------------------------------------------------------


def test_a_packet_is_header_and_codes_in_frame_major_order() -> None:
    """Byte for byte as the protocol draws it."""
    data = p.pack(0x01020304, [[1, 2], [3, 0x0405]], p.Flags.EOS | p.Flags.RESET)
    assert data == bytes([4, 3, 2, 1, 2, 0, 5, 1, 0, 2, 0, 3, 0, 5, 4])
    assert (p.HEADER_FORMAT, p.HEADER_BYTES) == ("<IHB", 7)
    assert (p.Flags.EOS, p.Flags.SEGMENT_END, p.Flags.RESET) == (1, 2, 4)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, p.SEQ_MODULUS - 1),
    st.integers(1, 20).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.lists(CODES, min_size=n, max_size=n)))
    ),
    st.integers(0, 255),
)
def test_what_is_packed_is_unpacked(seq: int, body: tuple[int, list[list[int]]], flags: int) -> None:
    """Any sequence number, any codes, any flags, those without a name included."""
    codebooks, rows = body
    packet = p.unpack(p.pack(seq, rows, flags), codebooks)
    assert (packet.seq, packet.n_frames, int(packet.flags)) == (seq, len(rows), flags)
    assert packet.codes.tolist() == rows
    assert packet.codes.dtype == np.int16
    assert packet.codes.shape == (len(rows), codebooks)
    assert bool(packet.flags & p.Flags.EOS) is bool(flags & 1)


@pytest.mark.parametrize(
    ("seq", "on_the_wire"), [(1 << 32, 0), ((1 << 32) + 5, 5), ((1 << 32) - 1, 0xFFFFFFFF)]
)
def test_seq_wraps(seq: int, on_the_wire: int) -> None:
    """It is counted modulo 2^32."""
    assert p.unpack(p.pack(seq, None), 16).seq == on_the_wire


@pytest.mark.parametrize(
    "same",
    [
        [[1, 2, 3], [4, 5, 6]],
        ((1, 2, 3), (4, 5, 6)),
        np.array([[1, 2, 3], [4, 5, 6]], np.int64),
        np.array([[1, 2, 3], [4, 5, 6]], np.uint8),
        np.asfortranarray(np.array([[1, 2, 3], [4, 5, 6]], ">i4")),
        Tensor(np.array([[1, 2, 3], [4, 5, 6]])),
    ],
)
def test_frames_come_in_many_guises(same: Any) -> None:
    """Lists, arrays of any integer type and order, tensors."""
    assert p.unpack(p.pack(0, same), 3).codes.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("row", [[7, 8], (7, 8), np.array([7, 8]), Tensor(np.array([7, 8]))])
def test_one_row_is_one_frame(row: Any) -> None:
    """A talker may hand on its step as it is."""
    assert p.unpack(p.pack(0, row), 2).codes.tolist() == [[7, 8]]


@pytest.mark.parametrize(
    "nothing", [None, [], [[]], np.zeros((0, 16)), np.zeros(0, np.int16), Tensor(np.zeros(0))]
)
def test_nothing_is_zero_frames(nothing: Any) -> None:
    """None or empty."""
    assert p.unpack(p.pack(3, nothing, p.Flags.EOS), 16).codes.shape == (0, 16)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (5, "rank 0"),
        (np.zeros((1, 2, 3), np.int16), "rank 3"),
        (np.zeros((0, 2, 3), np.int16), "rank 3"),
        ([[1, 2], [3]], "matrix"),
        ([[1, -1]], "from -1 to 1"),
        ([[1, 0x8000]], "from 1 to 32768"),
        (np.array([[2**63]], np.uint64), "carries 0..32767"),
        ([[2**70]], "expected integers"),
        ([[0.5, 1.0]], "expected integers"),
        ([[True, False]], "expected integers"),
        (["ab", "cd"], "expected integers"),
        ({"a": 1}, "rank 0"),
    ],
)
def test_what_are_no_codes_is_refused(bad: Any, message: str) -> None:
    """Another rank, ragged rows, a value beyond int16, no integers."""
    with pytest.raises(PacketError, match=message):
        p.pack(0, bad)


def test_at_most_65535_frames_fit() -> None:
    """One more is refused; the largest packet is 2 MiB and comes through."""
    most = np.ones((65_535, 16), np.int16)
    data = p.pack(0, most)
    assert len(data) == 7 + 65_535 * 32
    assert p.unpack(data, 16).n_frames == 65_535
    with pytest.raises(PacketError, match="65536 frames do not fit"):
        p.pack(0, np.ones((65_536, 16), np.int16))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 6), st.integers(0, 255), st.data())
def test_any_cut_of_a_packet_names_both_lengths(count: int, flags: int, data: st.DataObject) -> None:
    """Too short or too long, it is a PacketError (a ValueError) and nothing else."""
    whole = p.pack(1, frames(count), flags)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(PacketError) as short:
        p.unpack(whole[:cut], SPEC.codebooks)
    expected = (cut, 7) if cut < 7 else (cut - 7, count * 32)
    assert all(str(length) in str(short.value) for length in expected)
    assert isinstance(short.value, ValueError)
    more = data.draw(st.binary(min_size=1, max_size=40))
    with pytest.raises(PacketError, match=f"{count * 32 + len(more)} bytes.* {count * 32} bytes"):
        p.unpack(whole + more, SPEC.codebooks)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([1, 2, 8, 16]))
def test_any_bytes_are_a_packet_or_a_packet_error(data: bytes, codebooks: int) -> None:
    """And a packet is written again as it was."""
    try:
        packet = p.unpack(data, codebooks)
    except PacketError:
        return
    assert packet.codes.shape == (packet.n_frames, codebooks)
    if (packet.codes >= 0).all():
        assert p.pack(packet.seq, packet.codes, packet.flags) == data


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=2, max_size=5), st.data())
def test_a_stream_cut_elsewhere_than_between_packets_is_noticed(
    counts: list[int], data: st.DataObject
) -> None:
    """Bytes of one packet that leak into its neighbour make both unreadable."""
    stream = [p.pack(i, frames(n)) for i, n in enumerate(counts)]
    i = data.draw(st.integers(0, len(stream) - 2))
    both = stream[i] + stream[i + 1]
    at = data.draw(st.integers(0, len(both)).filter(lambda at: at != len(stream[i])))
    for piece in (both[:at], both[at:]):
        try:
            found = p.unpack(piece, SPEC.codebooks)
        except PacketError:
            continue
        assert found.codes.shape == (found.n_frames, SPEC.codebooks)
    if at < len(stream[i]):
        with pytest.raises(PacketError):
            p.unpack(both[:at], SPEC.codebooks)


def test_an_unpacked_packet_owns_its_codes() -> None:
    """The buffer may be used again; the codes may be written."""
    buffer = bytearray(p.pack(0, [[1, 2]]))
    codes = p.unpack(buffer, 2).codes  # type: ignore[arg-type]  # any buffer will do
    buffer[7:] = bytes(4)
    codes[0, 0] = 9
    assert codes.tolist() == [[9, 2]]


# -- accumulate ---------------------------------------------------------------------------------------

NONE_YET = np.zeros((0, 0), np.int16)


def test_deltas_are_appended() -> None:
    """In their order."""
    rows = NONE_YET
    for i in range(5):
        rows = p.accumulate(rows, frames(9)[i * 2 : i * 2 + 2])
    np.testing.assert_array_equal(rows, frames(9))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), max_size=8), st.integers(0, 1000))
def test_snapshots_of_any_growth_never_double(sizes: list[int], seed: int) -> None:
    """Each payload repeats all rows so far; equal ones are duplicates."""
    everything, rows, end = frames(sum(sizes), seed), NONE_YET, 0
    for size in sizes:
        end += size
        rows = p.accumulate(rows, everything[:end])
        assert len(rows) == end
    np.testing.assert_array_equal(rows.reshape(-1, 16), everything)


@pytest.mark.parametrize("front", [np.zeros((1, 16), np.int16), np.full((1, 16), -1, np.int16)])
def test_a_snapshot_may_have_one_placeholder_in_front(front: np.ndarray) -> None:
    """With newer rows behind, or without."""
    known = frames(3)
    for behind in (0, 2):
        snapshot = np.concatenate([front, frames(3 + behind)])
        np.testing.assert_array_equal(p.accumulate(known, snapshot), snapshot)


def test_a_real_row_in_front_is_a_delta() -> None:
    """A delta that happens to end like what came before is not a snapshot."""
    a, b = frames(1, 1), frames(1, 2)
    np.testing.assert_array_equal(p.accumulate(a, np.concatenate([b, a])), np.concatenate([a, b, a]))


def test_two_placeholders_in_front_are_a_delta() -> None:
    """Only one is known to occur."""
    known = frames(2)
    payload = np.concatenate([np.zeros((2, 16), np.int16), known])
    assert len(p.accumulate(known, payload)) == 6


def test_an_identical_payload_is_a_duplicate() -> None:
    """The rows stay as they are."""
    assert p.accumulate(frames(3), frames(3)).shape == (3, 16)


def test_identical_frames_inside_a_payload_are_kept() -> None:
    """Two equal frames in a row are legal."""
    twice = np.repeat(frames(2), 2, axis=0)
    np.testing.assert_array_equal(p.accumulate(NONE_YET, twice), twice)
    np.testing.assert_array_equal(p.accumulate(frames(3), twice), np.concatenate([frames(3), twice]))


@pytest.mark.parametrize(
    "nothing", [None, [], [[]], np.zeros((0, 16)), np.ones(16), np.ones((2, 2, 2)), [[1, 2], [3]]]
)
def test_what_is_no_matrix_changes_nothing(nothing: Any) -> None:
    """Empty, ragged or of another rank."""
    known = frames(2)
    assert p.accumulate(known, nothing) is known


def test_a_tensor_accumulates_like_an_array() -> None:
    """A talker step holds tensors."""
    np.testing.assert_array_equal(p.accumulate(frames(2), Tensor(frames(3)[2:])), frames(3))


def test_values_beyond_int16_never_turn_into_codes() -> None:
    """70,000 is 4,464 modulo 2^16, which would be heard."""
    assert p.accumulate(NONE_YET, [[70_000, -70_000, 5]]).tolist() == [[-1, -1, 5]]


def test_rows_of_another_width_are_an_error() -> None:
    """Both widths are named; and so is what holds no integers."""
    with pytest.raises(PacketError, match="8 codes do not continue frames of 16"):
        p.accumulate(frames(2), np.ones((1, 8), np.int16))
    with pytest.raises(PacketError, match="float32, expected integers"):
        p.accumulate(frames(2), np.ones((1, 16), np.float32))


# -- align --------------------------------------------------------------------------------------------


def test_rows_are_aligned_to_ids_at_their_ends() -> None:
    """What is missing is missing in front, on either side."""
    rows = frames(5)
    np.testing.assert_array_equal(p.align(rows, [7, 8, 9], 2048), rows[2:])
    np.testing.assert_array_equal(p.align(rows[:2], [7, 8, 9, 10], 2048), rows[:2])


def test_trailing_minus_ones_are_no_tokens() -> None:
    """They pad; one in the middle takes its row with it."""
    rows = frames(3)
    np.testing.assert_array_equal(p.align(rows, [7, 8, 9, -1, -1], 2048), rows)
    np.testing.assert_array_equal(p.align(rows, [7, -1, 9, -1], 2048), rows[[0, 2]])
    assert p.align(rows, [-1, -1], 2048).shape == (0, 16)
    assert p.align(rows, [], 2048).shape == (0, 16)


def test_rows_of_special_tokens_and_impossible_rows_go() -> None:
    """The stop token is 2150; a row keeps its place only with all codes in range."""
    rows = frames(4)
    rows[2, 15] = 2048
    np.testing.assert_array_equal(p.align(rows, [5, 2150, 6, 7], 2048), rows[[0, 3]])


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 12), st.lists(st.integers(-1, 2200), max_size=12), st.integers(0, 99))
def test_align_returns_some_rows_in_order_and_only_valid_ones(count: int, ids: list[int], seed: int) -> None:
    """Never more rows than ids or rows, never one out of range."""
    rows = np.random.default_rng(seed).integers(-1, 2060, (count, 16)).astype(np.int16)
    kept = p.align(rows, ids, 2048)
    assert len(kept) <= min(count, len(ids))
    assert p.valid_rows(kept, 2048).all()
    positions = [next(i for i, row in enumerate(rows) if (row == k).all()) for k in kept]
    assert positions == sorted(positions)


def test_the_known_trap_of_tail_alignment() -> None:
    """Row k-1 comes with token k: aligned by tails, one zero row is kept and the last frame is lost.

    That is why our servers use ``real_frames`` on a cursor, and why clients drop all-zero frames.
    """
    real, prefill = frames(3), np.zeros((2, 16), np.int16)
    after_three_steps = np.concatenate([prefill, real[:2]])
    assert not p.align(after_three_steps, [11, 12, 13], 2048)[0].any()
    np.testing.assert_array_equal(p.real_frames(after_three_steps, 2048), real[:2])


def test_real_frames_keeps_equal_frames_and_drops_what_no_talker_sampled() -> None:
    """All zero, negative, or beyond the codebook."""
    a = frames(1)
    bad = [np.zeros((1, 16)), np.full((1, 16), -1), np.full((1, 16), 2048)]
    rows = np.concatenate([a, *bad, a, a]).astype(np.int16)
    np.testing.assert_array_equal(p.real_frames(rows, 2048), np.repeat(a, 3, axis=0))
