"""One utterance: its deadlines, its budget, and how it ends."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from decoder.wire.assembler import AnomalyKind
from decoder.wire.budget import budget_s
from decoder.wire.events import Event, Mode, Outcome
from decoder.wire.packets import MAX_PACKET_FRAMES
from decoder.wire.utterance import END_GRACE_S, ERROR_GRACE_S, QUIET_S, Utterance
from tests.decoder.wire.lines import EOS, NOW_S, SPEC, anomalies, frames, heard, packet, samples


def utterance(text: str = "Hello there, my old friend.", *, single_unit: bool = True) -> Utterance:
    return Utterance(SPEC, text, single_unit)


def started(text: str = "Hello there, my old friend.", *, single_unit: bool = True) -> Utterance:
    found = utterance(text, single_unit=single_unit)
    found.start_frames(0, text)
    return found


# -- deadlines ----------------------------------------------------------------------------------------


def test_the_first_frame_is_waited_for_as_long_as_it_takes() -> None:
    """Neither before nor after codec.start is there a time-out (CASES C10)."""
    found = utterance()
    assert found.deadline_s is None
    found.start_frames(0, "")
    assert found.deadline_s is None
    found.close_unit()
    found.start_pcm(1, "", 24_000)
    assert found.deadline_s is None


def test_every_packet_puts_the_deadline_off() -> None:
    """Ten seconds after the last one."""
    found = started()
    found.take_bytes(packet(0, frames(1)), NOW_S)
    assert found.deadline_s == NOW_S + QUIET_S
    found.take_bytes(packet(1, frames(1, 1)), NOW_S + 9)
    assert found.deadline_s == NOW_S + 9 + QUIET_S


@pytest.mark.parametrize("useless", [b"", b"junk", packet(0, frames(1)), bytes(6)])
def test_a_packet_without_news_starts_the_clock_and_never_puts_it_off(useless: bytes) -> None:
    """Else a server that repeats itself would hold the utterance for ever."""
    found = started()
    found.take_bytes(packet(0, frames(1)), NOW_S)
    found.take_bytes(useless, NOW_S + 9)
    assert found.deadline_s == NOW_S + QUIET_S
    found = started()
    found.take_bytes(b"", NOW_S)
    assert found.deadline_s == NOW_S + QUIET_S


def test_the_end_of_the_only_unit_leaves_a_short_grace() -> None:
    """EOS or codec.done, and what comes after EOS without news does not lengthen it."""
    found = started()
    found.take_bytes(packet(0, frames(1), EOS), NOW_S)
    assert found.deadline_s == NOW_S + END_GRACE_S
    found.take_bytes(packet(0, frames(1), EOS), NOW_S + 0.4)
    found.take_bytes(b"", NOW_S + 0.4)
    assert found.deadline_s == NOW_S + END_GRACE_S
    found.end_unit(NOW_S + 0.4, total=1, failed=False, cancelled=False)
    assert found.deadline_s == NOW_S + 0.4 + END_GRACE_S


def test_between_units_there_is_more_time() -> None:
    """The server may still prefill its next sentence; then the next first frame has no time-out."""
    found = started(single_unit=False)
    found.take_bytes(packet(0, frames(1), EOS), NOW_S)
    assert found.deadline_s == NOW_S + QUIET_S
    found.end_unit(NOW_S, total=1, failed=False, cancelled=False)
    assert found.deadline_s == NOW_S + QUIET_S
    found.start_frames(1, "")
    assert found.deadline_s is None


def test_pcm_has_the_same_clock() -> None:
    """Also for a second unit that lasts longer than the pause before it."""
    found = utterance("A long text. " * 50)
    for unit in range(2):
        found.start_pcm(unit, "", 24_000)
        for second in range(12):
            found.take_bytes(bytes(48_000), NOW_S + second)
            assert found.deadline_s == NOW_S + second + QUIET_S
        found.end_unit(NOW_S + 12, total=12 * 48_000, failed=False, cancelled=None)
    assert found.outcome(Mode.PCM).outcome is Outcome.COMPLETE


def test_after_an_error_the_rest_may_come() -> None:
    """For two seconds, and longer while it comes."""
    found = started()
    found.take_error("out of memory", NOW_S)
    assert found.deadline_s == NOW_S + ERROR_GRACE_S
    assert len(heard(found.take_bytes(packet(0, frames(2)), NOW_S + 1))) == 2
    assert found.deadline_s == NOW_S + 1 + QUIET_S
    assert found.outcome(Mode.CODEC).reason == "out of memory"


def test_bytes_outside_of_a_unit_are_late_and_start_the_clock() -> None:
    """A start that never came must not be waited for."""
    found = utterance()
    assert anomalies(found.take_bytes(packet(0, frames(1)), NOW_S)) == {AnomalyKind.LATE: 1}
    assert found.deadline_s == NOW_S + QUIET_S
    found.start_frames(0, "")
    assert found.deadline_s is None


# -- the budget ---------------------------------------------------------------------------------------


def feed(found: Utterance, count: int, per_packet: int, *, code: int | None = None) -> list[Event]:
    events: list[Event] = []
    for seq, start in enumerate(range(0, count, per_packet)):
        codes = frames(min(per_packet, count - start), seq)
        if code is not None:
            codes[:] = code
        events += found.take_bytes(packet(seq, codes), NOW_S)
        if found.ran_away:
            break
    return events


@pytest.mark.parametrize("text", ["two words", "1", "Huh?", "."])
@pytest.mark.parametrize("count", [2048, 8192])
@pytest.mark.parametrize("per_packet", [1, 25, 8192])
def test_endless_speech_is_cut_at_the_budget(text: str, count: int, per_packet: int) -> None:
    """Two words and 2048 or 8192 frames, in packets of any size (CASES B7, B20)."""
    found = started(text)
    events = feed(found, count, per_packet)
    assert found.ran_away
    assert len(heard(events)) == 63  # 5 s


def test_a_long_text_may_take_long() -> None:
    """65,535 frames in one packet (CASES B15, C3)."""
    text = "A very long chapter. " * 20_000
    assert budget_s(text) > 65_535 * 0.08
    found = started(text)
    events = found.take_bytes(packet(0, frames(MAX_PACKET_FRAMES)), NOW_S)
    assert not found.ran_away
    assert len(heard(events)) == MAX_PACKET_FRAMES


@pytest.mark.parametrize("code", [0, 2150])
def test_endless_frames_that_are_dropped_are_cut_too(code: int) -> None:
    """Not a sample of them is heard, but they must not come for ever."""
    found = started()
    feed(found, 4_000, 25, code=code)
    assert not found.ran_away
    found = started()
    feed(found, 5_000, 25, code=code)
    assert found.ran_away


def test_a_talker_stuck_on_one_code_is_cut() -> None:
    """Long before the budget of a long text."""
    found = started("A long text. " * 100)
    events = feed(found, 2_000, 1, code=5)
    assert found.ran_away
    assert len(heard(events)) == 100


@pytest.mark.parametrize("rate_hz", [8_000, 24_000, 48_000])
def test_endless_pcm_is_cut_at_the_budget(rate_hz: int) -> None:
    """In seconds, whatever the rate."""
    found = utterance("two words")
    found.start_pcm(0, "", rate_hz)
    events: list[Event] = []
    while not found.ran_away:
        events += found.take_bytes(bytes(rate_hz), NOW_S)
        assert len(samples(events)) <= 5 * rate_hz
    assert len(samples(events)) == 5 * rate_hz


def test_memory_stays_flat_however_much_comes() -> None:
    """An utterance keeps no frame but the last packet's."""
    found = started("A long text. " * 1_000)
    feed(found, 3_000, 25)
    held = sum(sys.getsizeof(v) for name, v in vars(found).items() if name != "text")
    kept = sum(a.nbytes for a in vars(found._unit.assembler).values() if isinstance(a, np.ndarray))  # type: ignore[union-attr]
    assert held < 2_000
    assert kept <= 25 * 32


# -- how it ends --------------------------------------------------------------------------------------


def test_the_first_reason_is_the_one_that_is_told() -> None:
    """And the server's own words before ours."""
    found = started()
    found.end_unit(NOW_S, total=0, failed=True, cancelled=False)
    assert found.outcome(Mode.CODEC).reason == "the server could not finish the sentence"
    found.take_error("Generation failed for utterance 0, sentence 0: no", NOW_S)
    found.take_error("and another", NOW_S)
    ended = found.outcome(Mode.CODEC)
    assert ended.outcome is Outcome.FAILED
    assert ended.reason == "Generation failed for utterance 0, sentence 0: no"


def test_pcm_of_any_cut_is_the_same_sound() -> None:
    """A sample may be split between two messages; total_bytes is compared with all of them."""
    data = np.arange(-3_000, 3_000, dtype="<i2").tobytes()
    for size in (1, 3, 7, 5_000):
        found = utterance()
        found.start_pcm(0, "", 24_000)
        events: list[Event] = []
        for start in range(0, len(data), size):
            events += found.take_bytes(data[start : start + size], NOW_S)
        np.testing.assert_array_equal(samples(events), np.arange(-3_000, 3_000) / np.float32(32_768))
        assert not anomalies(found.end_unit(NOW_S, total=len(data), failed=False, cancelled=None))
