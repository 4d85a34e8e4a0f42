"""Whatever is asked, in whatever order: what holds for every sound that was heard."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.desk.desk import Desk
from app.desk.events import Failed, Finished, Interrupted
from app.desk.request import Interrupt, Request
from app.desk.ticket import Ticket
from server.emulator import Scenario
from tests.helpers.counting_talker import text_for
from tests.helpers.desk_rig import desk_rig

EACH = 100
"""Request number n says frames from n times this on."""


@dataclass(frozen=True)
class Wish:
    frames: tuple[int, ...]
    """Of each of its sentences."""
    priority: int
    interrupt: Interrupt
    ttl_s: float | None
    then_wait_s: float
    stop: int | None
    """Which request is stopped after that."""
    piece_chars: int
    """How much of its text comes at once; 0 for all."""

    def text(self, number: int) -> str:
        first, parts = EACH * number, []
        for count in self.frames:
            parts.append(text_for(count, first))
            first += count
        return " ".join(parts)


WISHES = st.builds(
    Wish,
    frames=st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple),
    priority=st.integers(-1, 1),
    interrupt=st.sampled_from(Interrupt),
    ttl_s=st.sampled_from([None, None, 0.05]),
    then_wait_s=st.sampled_from([0.0, 0.0, 0.03, 0.1]),
    stop=st.none() | st.none() | st.integers(1, 8),
    piece_chars=st.sampled_from([0, 0, 1, 15, 1000]),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(wishes=st.lists(WISHES, min_size=1, max_size=8), pace=st.sampled_from([0.0, 12.0]))
def test_every_request_is_heard_as_it_was_told(wishes: list[Wish], pace: float) -> None:
    asyncio.run(_hear(wishes, pace))


def _ask(desk: Desk, wish: Wish, number: int) -> Ticket:
    text = wish.text(number)
    request = Request(text, str(number), priority=wish.priority, interrupt=wish.interrupt, ttl_s=wish.ttl_s)
    if not wish.piece_chars:
        return desk.speak(request)
    pieces = desk.open(replace(request, text=""))
    for at in range(0, len(text), wish.piece_chars):
        pieces.write(text[at : at + wish.piece_chars])
    pieces.close()
    return pieces.ticket


async def _hear(wishes: list[Wish], pace: float) -> None:
    async with desk_rig(Scenario(pace=pace), speed=10.0) as r:
        tickets: list[Ticket] = []
        for number, wish in enumerate(wishes, 1):
            tickets.append(_ask(r.desk, wish, number))
            await asyncio.sleep(wish.then_wait_s)
            if wish.stop is not None:
                r.desk.stop(str(wish.stop))
        ends = [await r.end(ticket) for ticket in tickets]
        heard = r.heard_frames
        assert r.desk.status().queue == ()
        assert r.host.engine is not None
        assert r.host.engine.upcoming() == []
    runs = [(number, list(group)) for number, group in itertools.groupby(heard, lambda f: f // EACH)]
    assert len({number for number, _ in runs}) == len(runs), f"nobody is heard between two parts: {heard}"
    by_number = dict(runs)
    for number, (wish, end) in enumerate(zip(wishes, ends, strict=True), 1):
        whole = list(range(EACH * number, EACH * number + sum(wish.frames)))
        of_it = by_number.get(number, [])
        if isinstance(end, Finished):
            assert of_it == whole
        elif isinstance(end, Interrupted):
            assert of_it == whole[: len(of_it)]
        else:
            assert isinstance(end, Failed)
            assert (end.reason, of_it) == ("expired", [])
