"""Every way from one stage to the next, and none besides."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from app.engine.events import EngineEvent, StageChanged
from app.engine.state import TRANSITIONS, Stage, may_follow
from app.engine.utterance import Utterance
from app.metrics.meter import Meter
from decoder.wire.events import Outcome

LEGAL = {
    ("QUEUED", "CONNECTING"), ("QUEUED", "DONE"),
    ("CONNECTING", "WAITING"), ("CONNECTING", "DONE"),
    ("WAITING", "BUFFERING"), ("WAITING", "CONNECTING"), ("WAITING", "DONE"),
    ("BUFFERING", "PLAYING"), ("BUFFERING", "DRAINING"), ("BUFFERING", "DONE"),
    ("PLAYING", "STALLED"), ("PLAYING", "DRAINING"), ("PLAYING", "DONE"),
    ("STALLED", "PLAYING"), ("STALLED", "DRAINING"), ("STALLED", "DONE"),
    ("DRAINING", "DONE"),
}  # fmt: skip


@pytest.mark.parametrize(("one", "other"), list(itertools.product(Stage, Stage)))
def test_exactly_these_stages_may_follow_each_other(one: Stage, other: Stage) -> None:
    assert may_follow(one, other) == ((one.name, other.name) in LEGAL)


def test_every_stage_can_be_left_but_the_last_and_reached_but_the_first() -> None:
    assert set(TRANSITIONS) == set(Stage)
    assert [s for s in Stage if not TRANSITIONS[s]] == [Stage.DONE]
    reached = set().union(*TRANSITIONS.values())
    assert set(Stage) - reached == {Stage.QUEUED}
    assert all(Stage.DONE in following for s, following in TRANSITIONS.items() if s is not Stage.DONE)


@pytest.fixture
def told() -> list[EngineEvent]:
    return []


@pytest.fixture
async def utterance(told: list[EngineEvent]) -> Utterance:
    finished = asyncio.get_running_loop().create_future()
    return Utterance(7, "Hello", Meter(0.0, 24_000), (), 0.0, finished, told.append)


async def test_an_utterance_tells_each_stage_once_and_refuses_what_may_not_follow(
    utterance: Utterance, told: list[EngineEvent]
) -> None:
    for stage in (Stage.PLAYING, Stage.CONNECTING, Stage.CONNECTING, Stage.BUFFERING, Stage.WAITING):
        utterance.advance(stage)
    assert told == [StageChanged(7, "Hello", s) for s in (Stage.CONNECTING, Stage.WAITING)]


async def test_the_first_conclusion_stands_but_a_failure_replaces_a_good_end(utterance: Utterance) -> None:
    utterance.conclude(Outcome.COMPLETE, "")
    utterance.conclude(Outcome.FAILED, "the decoder failed")
    utterance.conclude(Outcome.INCOMPLETE, "the link was lost")
    assert (utterance.outcome, utterance.reason) == (Outcome.FAILED, "the decoder failed")


async def test_a_stop_is_a_stop_whatever_went_before(utterance: Utterance) -> None:
    utterance.conclude(Outcome.INCOMPLETE, "the link was lost")
    utterance.stop()
    assert (utterance.outcome, utterance.reason) == (Outcome.CANCELLED, "stopped")


async def test_starting_over_forgets_the_try_that_was_lost(utterance: Utterance) -> None:
    utterance.advance(Stage.CONNECTING)
    utterance.advance(Stage.WAITING)
    utterance.link_lost = True
    utterance.conclude(Outcome.INCOMPLETE, "the link was lost")
    utterance.received.set()
    assert utterance.was_lost_unheard
    utterance.start_over()
    assert (utterance.outcome, utterance.reason, utterance.link_lost) == (None, "", False)
    assert not utterance.received.is_set()
    utterance.link_lost = True
    utterance.advance(Stage.BUFFERING)
    assert not utterance.was_lost_unheard
