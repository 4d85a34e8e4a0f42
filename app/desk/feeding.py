"""Gives the engine what it can use of a request: what is heard and what is next, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from app.desk.taken import Part, Taken
from app.engine.engine import Engine
from app.text import UTTERANCE_CHARS

AHEAD = 2
"""So many utterances of a request are in the engine: the one that is heard, and the next."""
HOLD_S = 10.0
"""A request that has fallen silent because no more of its text comes keeps the others waiting for so long."""


class Feeding:
    """Keeps others from being heard in the pauses of a request, but not for ever."""

    def __init__(self, engine: Callable[[], Engine | None], clock: Callable[[], float]) -> None:
        # engine returns the one in use.
        self._engine = engine
        self._clock = clock
        self._holds: dict[str, asyncio.TimerHandle] = {}

    def give(self, engine: Engine, taken: Taken) -> None:
        """Give ``engine`` what it can use of ``taken`` now."""
        engine.hold(taken.group)
        while taken.unsent and len(taken.given) < AHEAD and not taken.is_over:
            # The first sentence goes alone, to be heard soon.
            is_first = not (taken.given or taken.has_started)
            part = _grouped(taken) if taken.in_pieces and not is_first else taken.unsent.popleft()
            taken.given.append(part)
            engine.speak(part.text, how=taken.how, order=taken.order(part, self._clock()))
        if not taken.is_over:
            self._keep_floor(engine, taken)

    def forget(self, taken: Taken) -> None:
        """Let others go first: ``taken`` is over."""
        if timer := self._holds.pop(taken.group, None):
            timer.cancel()
        if (engine := self._engine()) is not None:
            engine.release(taken.group)

    def _keep_floor(self, engine: Engine, taken: Taken) -> None:
        if timer := self._holds.pop(taken.group, None):
            timer.cancel()
        if not taken.is_open and not taken.unsent:
            engine.release(taken.group)
        elif not taken.given:
            loop = asyncio.get_running_loop()
            self._holds[taken.group] = loop.call_later(HOLD_S, self.forget, taken)


def _grouped(taken: Taken) -> Part:
    """Take as many sentences that wait as one utterance may have; it is as old as the first of them."""
    first = taken.unsent.popleft()
    text = first.text
    while taken.unsent and len(text) + 1 + len(taken.unsent[0].text) <= UTTERANCE_CHARS:
        text = f"{text} {taken.unsent.popleft().text}"
    return Part(text, first.asked_s)
