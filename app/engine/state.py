"""Every stage an utterance can be in, and every way from one to the next."""

from __future__ import annotations

from enum import Enum


class Stage(Enum):
    """Where an utterance is, as one who waits for it would say."""

    QUEUED = "queued"
    CONNECTING = "connecting"
    WAITING = "waiting for the server"
    BUFFERING = "buffering"
    PLAYING = "playing"
    STALLED = "waiting for more"
    DRAINING = "playing the end"
    DONE = "done"


TRANSITIONS: dict[Stage, frozenset[Stage]] = {
    Stage.QUEUED: frozenset({Stage.CONNECTING, Stage.DONE}),
    Stage.CONNECTING: frozenset({Stage.WAITING, Stage.DONE}),
    # Back to CONNECTING: the link was lost before anything came, and the text is sent once more. What gives
    # way to something more urgent becomes another utterance, of the same number, that begins at QUEUED.
    Stage.WAITING: frozenset({Stage.BUFFERING, Stage.CONNECTING, Stage.DONE}),
    Stage.BUFFERING: frozenset({Stage.PLAYING, Stage.DRAINING, Stage.DONE}),
    Stage.PLAYING: frozenset({Stage.STALLED, Stage.DRAINING, Stage.DONE}),
    Stage.STALLED: frozenset({Stage.PLAYING, Stage.DRAINING, Stage.DONE}),
    Stage.DRAINING: frozenset({Stage.DONE}),
    Stage.DONE: frozenset(),
}


def may_follow(stage: Stage, following: Stage) -> bool:
    """Whether an utterance in ``stage`` may go on to ``following``."""
    return following in TRANSITIONS[stage]
