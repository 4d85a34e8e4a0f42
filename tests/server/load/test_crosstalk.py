"""Did each session get exactly its own frames?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.spec import CodecSpec
from decoder.wire.packets import Flags, pack
from server.load.crosstalk import (
    OWN,
    Frames,
    Judgement,
    References,
    Verdict,
    codec_frames,
    judge,
    pcm_frames,
    words_of_another,
)

SILENCE = b"silence"


def speech(name: str, count: int = 12) -> Frames:
    """Frames that are nobody else's, and a pause in the middle that everybody has."""
    frames = [f"{name}{number}".encode() for number in range(count)]
    frames[5:7] = [SILENCE, SILENCE]
    return tuple(frames)


REFERENCES = References({0: speech("a"), 1: speech("b"), 2: speech("c", 9)})


def test_ones_own_frames_are_in_order() -> None:
    assert all(judge(index, REFERENCES.run(index), REFERENCES) == OWN for index in range(3))


@given(st.integers(0, 11), st.integers(0, 11), st.sampled_from([1, 2]))
def test_a_single_frame_of_another_is_found_wherever_it_is(at: int, of: int, other: int) -> None:
    theirs = REFERENCES.run(other)
    heard = list(REFERENCES.run(0))
    leaked = theirs[of % len(theirs)]
    heard[at] = leaked
    found = judge(0, tuple(heard), REFERENCES)
    if leaked == SILENCE:
        # Silence is everybody's: that it is in a wrong place is seen, whose it is not. Right before the end
        # there is nothing left to come back to.
        assert found.verdict is (
            Verdict.OWN if at in (5, 6) else Verdict.DISTURBED if at < 9 else Verdict.DIVERGED
        )
    else:
        assert found == Judgement(Verdict.FOREIGN, at, 1, (other,))


def test_whose_most_frames_are_comes_first() -> None:
    heard = (*speech("a")[:3], speech("c", 9)[0], *speech("b")[:3])
    assert judge(0, heard, REFERENCES) == Judgement(Verdict.FOREIGN, 3, 4, (1, 2))


@pytest.mark.parametrize(
    "heard",
    [
        pytest.param((*speech("a")[:4], *speech("a")[5:]), id="one is lost"),
        pytest.param(speech("a")[:-1], id="the last is lost"),
        pytest.param((*speech("a")[:4], *speech("a")[3:]), id="one comes twice"),
        pytest.param((*speech("a"), b"more"), id="one is too many"),
        pytest.param((*speech("a")[:4], b"odd", *speech("a")[5:]), id="one is changed"),
        pytest.param((*speech("a"), *speech("a")), id="all comes twice"),
        pytest.param((), id="nothing comes"),
    ],
)
def test_frames_lost_added_or_changed_are_a_disturbance(heard: Frames) -> None:
    assert judge(0, heard, REFERENCES).verdict is Verdict.DISTURBED


def test_another_turn_for_good_is_no_cross_talk() -> None:
    """Nobody's frames, and never back: a talker that sampled something else, not a server that mixes up."""
    heard = (*speech("a")[:4], *speech("x", 9))
    assert judge(0, heard, REFERENCES) == Judgement(Verdict.DIVERGED, 4)
    assert judge(0, speech("x"), REFERENCES) == Judgement(Verdict.DIVERGED, 0)


def test_the_pause_that_everybody_has_is_no_way_back() -> None:
    heard = (*speech("a")[:4], b"x1", SILENCE, SILENCE, SILENCE, b"x2")
    assert judge(0, heard, REFERENCES).verdict is Verdict.DIVERGED


def test_what_is_known_to_have_broken_off_may_lack_its_end() -> None:
    assert judge(0, speech("a")[:4], REFERENCES, is_complete=False) == OWN
    assert judge(0, (*speech("a")[:4], speech("b")[4]), REFERENCES, is_complete=False).others == (1,)


def test_who_has_no_frame_of_its_own_cannot_be_told_apart() -> None:
    references = References({0: (SILENCE, b"x"), 1: (SILENCE,), 2: (SILENCE, b"y")})
    assert [references.is_distinct(index) for index in range(3)] == [True, False, True]


def test_frames_are_taken_as_they_came_whatever_their_numbers() -> None:
    """A client drops what comes twice; whoever looks for cross-talk must not."""
    rows = np.arange(32, dtype=np.int16).reshape(2, 16)
    messages = [pack(0, rows, 0), pack(0, rows[:1], 0), pack(9, None, Flags.EOS)]
    assert codec_frames(messages, CodecSpec()) == (rows[0].tobytes(), rows[1].tobytes(), rows[0].tobytes())


def test_a_message_that_is_no_packet_stands_for_itself() -> None:
    first, second = (codec_frames([data], CodecSpec()) for data in (b"odd", b"even"))
    assert len(first) == len(second) == 1
    assert first != second


@given(st.lists(st.integers(0, 5000), max_size=6))
def test_samples_are_cut_to_frames_wherever_the_messages_end(lengths: list[int]) -> None:
    data = np.arange(sum(lengths), dtype=np.uint32).astype(np.uint8).tobytes()
    messages, at = [], 0
    for length in lengths:
        messages.append(data[at : at + length])
        at += length
    assert pcm_frames(messages, 24_000, 0.08) == pcm_frames([data], 24_000, 0.08)
    assert len(pcm_frames([data], 24_000, 0.08)) == -(-len(data) // 3840)


def test_the_sentence_that_a_server_names_tells_whose_it_is() -> None:
    texts = {"Amber Bay sings.": 0, "Birch Bay waits.": 1}
    assert words_of_another(["Birch Bay", "waits."], "Amber Bay sings.", texts) == 1
    assert words_of_another(["amber bay  sings."], "Amber Bay sings.", texts) is None
    assert words_of_another([], "Amber Bay sings.", texts) is None
    assert words_of_another(["Amber Bay sings (normalised)."], "Amber Bay sings.", texts) is None
