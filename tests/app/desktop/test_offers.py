from __future__ import annotations

from dataclasses import replace

import pytest

from app.desktop.offers import offers
from app.desktop.player_state import Phase, PlayerState, Sentence

THREE = tuple(Sentence(10 * i, 10 * i + 9, 4.0 * i) for i in range(3))
PLAYING = PlayerState(
    Phase.PLAYING, reading=1, text="t", heard_s=4.5, decoded_s=12.0, sentences=THREE, sentence=1
)


def test_nothing_is_offered_where_nothing_is() -> None:
    can = offers(PlayerState())
    assert not any((can.pause, can.resumes, can.stop, can.save))
    assert can.back_to is can.forward_to is None


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.IDLE])
def test_all_that_is_under_way_can_be_held_and_stopped(phase: Phase) -> None:
    can = offers(replace(PLAYING, phase=phase))
    assert can.pause
    assert can.stop
    assert can.resumes is (phase is Phase.PAUSED)


@pytest.mark.parametrize(
    ("is_whole", "phase", "can_save"),
    [(False, Phase.PLAYING, False), (True, Phase.PLAYING, True), (False, Phase.IDLE, True)],
)
def test_it_can_be_saved_once_there_is_all_of_it(is_whole: bool, phase: Phase, can_save: bool) -> None:
    state = replace(PLAYING, is_whole=is_whole, phase=phase)
    assert offers(state).save is can_save
    assert not offers(replace(state, decoded_s=0.0)).save


@pytest.mark.parametrize(
    ("sentence", "heard_s", "back_to", "forward_to"),
    [(0, 0.2, 0, 1), (1, 4.5, 0, 2), (1, 6.0, 1, 2), (2, 8.1, 1, None), (2, 11.0, 2, None)],
)
def test_back_goes_to_the_beginning_of_this_or_of_the_one_before(
    sentence: int, heard_s: float, back_to: int, forward_to: int | None
) -> None:
    can = offers(replace(PLAYING, sentence=sentence, heard_s=heard_s))
    assert (can.back_to, can.forward_to) == (back_to, forward_to)


def test_back_from_the_end_is_the_last_sentence() -> None:
    assert offers(replace(PLAYING, phase=Phase.IDLE, sentence=None)).back_to == 2
