"""From packets to frames: order, gaps, refusals, placeholders, snapshots."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.wire.assembler import Anomaly, AnomalyKind, FrameRun, UnitAssembler
from decoder.wire.packets import SEQ_MODULUS, Codes, Flags, Packet
from tests.decoder.wire.lines import SPEC, cuts, frames

NO_FRAME = np.zeros((0, 16), np.int16)


def packet(seq: int, codes: Codes = NO_FRAME, flags: Flags = Flags.NONE) -> Packet:
    return Packet(seq, codes, flags)


class Unit:
    """An assembler together with all it has returned."""

    def __init__(self) -> None:
        self.assembler = UnitAssembler(SPEC)
        self.runs: list[FrameRun] = []
        self.anomalies: list[Anomaly] = []

    def take(self, *packets: Packet) -> Unit:
        for each in packets:
            for found in self.assembler.take(each):
                if isinstance(found, Anomaly):
                    self.anomalies.append(found)
                else:
                    self.runs.append(found)
        return self

    @property
    def codes(self) -> Codes:
        return np.concatenate([NO_FRAME, *(run.codes for run in self.runs)])

    @property
    def kinds(self) -> list[AnomalyKind]:
        return [a.kind for a in self.anomalies]

    @property
    def fresh(self) -> list[bool]:
        return [run.fresh for run in self.runs]


@settings(max_examples=60, deadline=None)
@given(cuts(200), st.integers(0, 99))
def test_any_packing_brings_the_same_frames(sizes: list[int], seed: int) -> None:
    """200 frames in packets of 1..40 (CASES B10)."""
    codes, unit = frames(200, seed), Unit()
    ends = [0, *accumulate(sizes)]
    for seq, (start, end) in enumerate(pairwise(ends)):
        unit.take(packet(seq, codes[start:end]))
    np.testing.assert_array_equal(unit.codes, codes)
    assert not unit.anomalies
    assert not any(unit.fresh)
    assert not unit.assembler.damage
    assert unit.assembler.frames_arrived == 200


def test_a_gap_is_reported_and_starts_a_new_state() -> None:
    """seq 0, 1, 3, 4 (CASES B11)."""
    codes, unit = frames(5), Unit()
    unit.take(*(packet(seq, codes[seq : seq + 1]) for seq in (0, 1, 3, 4)))
    assert unit.kinds == [AnomalyKind.GAP]
    assert unit.anomalies[0].detail == "seq 3, expected 2"
    assert unit.fresh == [False, False, True, False]
    assert unit.assembler.damage == "1 packet did not arrive"


def test_a_step_back_is_reported_and_dropped() -> None:
    """seq 0, 2, 1, 3 (CASES B11): what is late is never spliced in."""
    codes, unit = frames(4), Unit()
    unit.take(*(packet(seq, codes[seq : seq + 1]) for seq in (0, 2, 1, 3)))
    assert unit.kinds == [AnomalyKind.GAP, AnomalyKind.STEP_BACK]
    np.testing.assert_array_equal(unit.codes, codes[[0, 2, 3]])
    assert unit.fresh == [False, True, False]


def test_a_repeat_is_reported_and_dropped() -> None:
    """An exact duplicate is never heard twice (CASES B9)."""
    unit = Unit().take(packet(0, frames(3)), packet(0, frames(3)), packet(1, frames(2, 1)))
    assert unit.kinds == [AnomalyKind.REPEAT]
    assert len(unit.codes) == 5
    assert not any(unit.fresh)
    assert not unit.assembler.damage


def test_a_gap_at_the_start_or_before_the_end_is_a_loss_too() -> None:
    """Even when no frame follows it."""
    assert Unit().take(packet(2, frames(1))).assembler.damage
    assert Unit().take(packet(0, frames(1)), packet(5, flags=Flags.EOS)).assembler.damage


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), max_size=30))
def test_no_order_of_packets_makes_a_frame_sound_twice(order: list[int]) -> None:
    """Each is heard at most once, and only forward."""
    codes, unit = frames(13), Unit()
    unit.take(*(packet(seq, codes[seq : seq + 1]) for seq in order))
    heard = [next(i for i in range(13) if (codes[i] == row).all()) for row in unit.codes]
    assert heard == sorted(set(heard))
    for (before, _), (after, fresh) in pairwise(zip(heard, unit.fresh, strict=True)):
        assert fresh is (after != before + 1)


def test_seq_wraps_at_2_to_the_32() -> None:
    """4294967295 is followed by 0."""
    assembler = UnitAssembler(SPEC, _next_seq=SEQ_MODULUS - 1)
    assert [type(f) for f in assembler.take(packet(SEQ_MODULUS - 1, frames(1)))] == [FrameRun]
    assert [type(f) for f in assembler.take(packet(0, frames(1, 1)))] == [FrameRun]
    (repeat,) = assembler.take(packet(0, frames(1, 1)))
    assert isinstance(repeat, Anomaly)
    assert repeat.kind is AnomalyKind.REPEAT


@pytest.mark.parametrize("code", [2150, 2048, -1, -32768, 32767])
@pytest.mark.parametrize("codebook", [0, 15])
def test_a_frame_with_an_impossible_code_is_refused(code: int, codebook: int) -> None:
    """In any codebook; what follows starts a new state (CASES B1)."""
    codes, unit = frames(5), Unit()
    codes[2, codebook] = code
    unit.take(packet(0, codes))
    np.testing.assert_array_equal(unit.codes, codes[[0, 1, 3, 4]])
    assert unit.fresh == [False, True]
    assert unit.kinds == [AnomalyKind.REFUSED]
    assert str(code) in unit.anomalies[0].detail
    assert "0..2047" in unit.anomalies[0].detail
    assert unit.assembler.damage


def test_a_stop_token_at_the_end_costs_nothing() -> None:
    """Refused, but no one misses it."""
    codes, unit = frames(3), Unit()
    codes[2, 0] = 2150
    unit.take(packet(0, codes), packet(1, flags=Flags.EOS))
    assert unit.kinds == [AnomalyKind.REFUSED]
    assert not unit.assembler.damage
    assert unit.assembler.frames_arrived == 3


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from("vrz"), max_size=24), cuts(24))
def test_only_valid_frames_come_through_and_only_holes_break_them(kinds: list[str], sizes: list[int]) -> None:
    """Valid, refused and zero frames, in any packing: the same frames, the same breaks."""
    codes = frames(len(kinds))
    for i, kind in enumerate(kinds):
        if kind == "r":
            codes[i, i % 16] = 2048 + i
        elif kind == "z":
            codes[i] = 0
    unit, ends = Unit(), [0, *accumulate(sizes)]
    for seq, (start, end) in enumerate(pairwise(ends)):
        unit.take(packet(seq, codes[start:end]))
    wanted = [i for i, kind in enumerate(kinds) if kind == "v"]
    np.testing.assert_array_equal(unit.codes, codes[wanted])
    firsts = {b for a, b in pairwise(wanted) if "r" in kinds[a:b]}
    starts = [0, *accumulate(len(run.codes) for run in unit.runs)]
    assert {wanted[at] for at, fresh in zip(starts, unit.fresh, strict=False) if fresh} == firsts
    assert sum(a.count for a in unit.anomalies if a.kind is AnomalyKind.REFUSED) == kinds.count("r")
    assert sum(a.count for a in unit.anomalies if a.kind is AnomalyKind.PLACEHOLDER) == kinds.count("z")
    assert bool(unit.assembler.damage) is ("r" in "".join(kinds).rstrip("rz") and bool(wanted))


def test_placeholders_are_counted_and_never_decoded() -> None:
    """All-zero frames are dropped without a break (a codebook-0 zero alone is a frame)."""
    codes, unit = frames(4), Unit()
    codes[0], codes[2] = 0, 0
    codes[3, 1:] = 0
    unit.take(packet(0, codes))
    np.testing.assert_array_equal(unit.codes, codes[[1, 3]])
    assert [(a.kind, a.count) for a in unit.anomalies] == [(AnomalyKind.PLACEHOLDER, 2)]
    assert unit.fresh == [False]
    assert not unit.assembler.damage


def test_two_equal_frames_are_two_frames() -> None:
    """Silence repeats, and so do packets of it: contents say nothing about order."""
    still, unit = np.repeat(frames(1), 3, axis=0), Unit()
    unit.take(packet(0, still[:1]), packet(1, still), packet(2, still), packet(3, still[:2]))
    assert len(unit.codes) == 9
    assert not unit.anomalies


def test_equal_packets_of_a_delta_server_are_kept() -> None:
    """Only what grows is taken for a snapshot."""
    assert len(Unit().take(packet(0, frames(3)), packet(1, frames(3))).codes) == 6


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 8), st.lists(st.integers(0, 5), max_size=12), st.booleans())
def test_cumulative_snapshots_never_double(first: int, growth: list[int], placeholder: bool) -> None:
    """Packets that repeat all frames so far add only what is new (CASES B9)."""
    ends = [0, *accumulate([first, *growth])][1:]
    codes, unit, grew = frames(ends[-1]), Unit(), False
    for seq, end in enumerate(ends):
        grew = grew or end > first
        if seq and not grew:
            continue  # before it has grown, an equal packet is an equal packet
        front = np.zeros((1 if placeholder and seq == 1 else 0, 16), np.int16)
        unit.take(packet(unit.assembler.packets_arrived, np.concatenate([front, codes[:end]])))
    np.testing.assert_array_equal(unit.codes, codes)
    assert set(unit.kinds) <= {AnomalyKind.SNAPSHOT}
    assert unit.assembler.frames_arrived == len(codes)


def test_snapshots_from_a_single_frame_on_repeat_that_frame_only() -> None:
    """It cannot be told from two equal frames; 80 ms are heard twice, never the whole."""
    codes, unit = frames(50), Unit()
    unit.take(*(packet(seq, codes[: seq + 1]) for seq in range(50)))
    np.testing.assert_array_equal(unit.codes, codes[[0, *range(50)]])


def test_reset_starts_a_new_state_before_its_frames() -> None:
    """Also when it comes without a frame; before anything was heard there is none to drop."""
    unit = Unit()
    unit.take(packet(0, frames(1), Flags.RESET), packet(1, frames(1, 1), Flags.RESET))
    unit.take(packet(2, flags=Flags.RESET), packet(3, frames(1, 2)), packet(4, frames(1, 3)))
    assert unit.fresh == [False, True, True, False]
    assert not unit.assembler.damage


@pytest.mark.parametrize("bits", [0x8, 0x40, 0xF8, 0x2])
def test_unknown_flags_are_ignored(bits: int) -> None:
    """And a segment's end changes nothing."""
    unit = Unit().take(packet(0, frames(2), Flags(bits)), packet(1, frames(2, 1), Flags(bits | Flags.EOS)))
    assert len(unit.codes) == 4
    assert not any(unit.fresh)
    assert not unit.anomalies
    assert unit.assembler.ended


def test_the_largest_packet_of_nothing_but_faults_is_quick() -> None:
    """One anomaly, not 65,535."""
    codes = np.full((65_535, 16), 2150, np.int16)
    codes[::2] = frames(1)
    unit = Unit().take(packet(0, codes))
    assert len(unit.codes) == 32_768
    assert unit.kinds == [AnomalyKind.REFUSED]
