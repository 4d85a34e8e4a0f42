"""The queue's rules, alone: what comes next, what gives way, what expires."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.engine.agenda import Agenda, Place
from app.engine.order import Interrupt, Order

NO, NOW = Interrupt.NO, Interrupt.NOW
AFTER_SENTENCE, AFTER_UTTERANCE = Interrupt.AFTER_SENTENCE, Interrupt.AFTER_UTTERANCE


@dataclass(eq=False)
class Text:
    name: str
    place: Place


@dataclass
class Desk:
    """An agenda, with texts that are put in by name."""

    agenda: Agenda[Text] = field(default_factory=Agenda)
    now_s: float = 0.0

    def put(
        self,
        name: str,
        group: str = "",
        priority: int = 0,
        interrupt: Interrupt = NO,
        ttl_s: float = math.inf,
    ) -> Text:
        text = Text(name, self.agenda.place(Order(group, priority, interrupt, ttl_s), self.now_s))
        self.agenda.put(text)
        return text

    def next(self) -> str | None:
        text = self.agenda.next(self.now_s)
        return None if text is None else text.name

    def all(self) -> str:
        """Everything that comes, in order, each begun to be heard before the next is asked for."""
        names = []
        while (text := self.agenda.next(self.now_s)) is not None:
            names.append(text.name)
            self.agenda.heard(text.place)
        return "".join(names)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_first_come_first_heard(desk: Desk) -> None:
    for name in "abc":
        desk.put(name)
    assert desk.all() == "abc"
    assert desk.next() is None


def test_higher_priority_goes_first_and_equals_keep_their_order(desk: Desk) -> None:
    for name, priority in (("a", 0), ("b", 5), ("c", -1), ("d", 5), ("e", 0)):
        desk.put(name, priority=priority)
    assert desk.all() == "bdaec"


def test_what_interrupts_goes_in_front_of_its_equals_and_of_nothing_more_urgent(desk: Desk) -> None:
    desk.put("a")
    desk.put("b", priority=1)
    desk.put("c", interrupt=AFTER_UTTERANCE)
    desk.put("d", interrupt=AFTER_SENTENCE)
    desk.put("e", interrupt=NOW)
    desk.put("f", interrupt=NOW)
    assert desk.all() == "bfecda"


def test_a_group_that_is_heard_is_heard_to_its_end(desk: Desk) -> None:
    desk.put("a", "A")
    desk.put("b", "A")
    desk.agenda.heard(desk.agenda.next(0.0).place)  # type: ignore[union-attr]
    desk.put("c", "C", priority=9)
    desk.put("d", "A")
    assert desk.all() == "bdc"


def test_a_group_that_is_not_heard_yet_gives_way_as_a_whole(desk: Desk) -> None:
    begun = desk.put("a", "A")
    desk.put("b", "A")
    assert desk.next() == "a"
    urgent = desk.put("c", "C", priority=9)
    assert desk.agenda.goes_before(urgent.place, begun.place)
    desk.agenda.put(begun)
    assert desk.all() == "cab"


@pytest.mark.parametrize("interrupt", [NO, AFTER_UTTERANCE])
def test_nothing_that_is_heard_gives_way_to_what_waits_for_its_end(desk: Desk, interrupt: Interrupt) -> None:
    desk.put("a", "A")
    heard, ahead = desk.agenda.next(0.0), desk.put("b", "A")
    assert heard is not None
    desk.agenda.heard(heard.place)
    assert desk.next() == "b"
    urgent = desk.put("c", "C", 9, interrupt)
    assert desk.agenda.ends_floor(urgent.place) is None
    assert not desk.agenda.goes_before(urgent.place, ahead.place)


@pytest.mark.parametrize("interrupt", [NOW, AFTER_SENTENCE])
@pytest.mark.parametrize(("priority", "ends"), [(-1, None), (0, "A"), (1, "A")])
def test_an_interrupt_ends_what_is_heard_if_that_is_no_more_urgent(
    desk: Desk, interrupt: Interrupt, priority: int, ends: str | None
) -> None:
    desk.put("a", "A")
    desk.put("b", "A")
    desk.agenda.heard(desk.agenda.next(0.0).place)  # type: ignore[union-attr]
    urgent = desk.put("c", "C", priority, interrupt)
    assert desk.agenda.ends_floor(urgent.place) == ends
    if ends:
        assert [text.name for text in desk.agenda.end(ends)] == ["b"]
    assert desk.next() == ("c" if ends else "b")


def test_an_interrupt_leaves_its_own_group_alone(desk: Desk) -> None:
    desk.put("a", "A", interrupt=NOW)
    desk.agenda.heard(desk.agenda.next(0.0).place)  # type: ignore[union-attr]
    assert desk.agenda.ends_floor(desk.put("b", "A", interrupt=NOW).place) is None


def test_what_is_held_keeps_the_floor_from_its_equals_only(desk: Desk) -> None:
    desk.agenda.hold("A")
    desk.put("a", "A")
    assert desk.all() == "a"
    desk.put("b", "B")
    assert desk.next() is None
    desk.put("c", "C", priority=1)
    assert desk.next() == "c"
    desk.put("d", "A")
    assert desk.all() == "d"
    desk.agenda.release("A")
    assert desk.all() == "b"


def test_what_is_held_but_was_never_heard_keeps_nothing(desk: Desk) -> None:
    desk.agenda.hold("A")
    desk.put("b", "B")
    desk.put("a", "A")
    assert [desk.next(), desk.next()] == ["a", "b"], "it has its place from when it was held"


def test_what_has_waited_too_long_is_handed_out_as_expired_and_never_as_next(desk: Desk) -> None:
    desk.put("a", ttl_s=5.0)
    desk.put("b", ttl_s=1.0)
    desk.put("c")
    assert desk.agenda.next_expiry_s == 1.0
    desk.now_s = 1.0
    assert [text.name for text in desk.agenda.upcoming(desk.now_s)] == ["a", "c"]
    assert [text.name for text in desk.agenda.expire(desk.now_s)] == ["b"]
    assert desk.agenda.expire(desk.now_s) == []
    desk.now_s = 9.0
    assert desk.next() == "c"


def test_a_group_that_has_begun_does_not_expire(desk: Desk) -> None:
    desk.put("a", "A", ttl_s=1.0)
    desk.put("b", "A", ttl_s=1.0)
    desk.agenda.heard(desk.agenda.next(0.0).place)  # type: ignore[union-attr]
    desk.now_s = 2.0
    assert desk.agenda.next_expiry_s == math.inf
    assert desk.agenda.expire(desk.now_s) == []
    assert desk.next() == "b"


def test_everything_can_be_ended_at_once(desk: Desk) -> None:
    desk.agenda.hold("A")
    for name in "abc":
        desk.put(name, name.upper())
    assert [text.name for text in desk.agenda.end_all()] == ["a", "b", "c"]
    assert not desk.agenda
    assert desk.next() is None


class AgendaMachine(RuleBasedStateMachine):
    """Texts come, are begun, heard, put back, stopped and grow old in any order; the rules hold."""

    def __init__(self) -> None:
        super().__init__()
        self.agenda: Agenda[Text] = Agenda()
        self.now_s = 0.0
        self.count = 0
        self.waiting: list[Text] = []
        self.begun: Text | None = None
        self.heard: Text | None = None
        self.over: list[Text] = []

    def _remove(self, gone: list[Text]) -> None:
        self.waiting = [text for text in self.waiting if text not in gone]
        self.over += gone

    @rule(
        group=st.sampled_from(["", "A", "B"]),
        priority=st.integers(-1, 1),
        interrupt=st.sampled_from(Interrupt),
        ttl_s=st.sampled_from([math.inf, 1.0, 3.0]),
    )
    def come(self, group: str, priority: int, interrupt: Interrupt, ttl_s: float) -> None:
        self.count += 1
        place = self.agenda.place(Order(group, priority, interrupt, ttl_s), self.now_s)
        text = Text(str(self.count), place)
        self.agenda.put(text)
        self.waiting.append(text)
        ended = self.agenda.ends_floor(place)
        if ended is not None:
            assert self.heard is not None
            assert ended == self.heard.place.group != place.group
            assert self.heard.place.order.priority <= priority
            assert interrupt in (NOW, AFTER_SENTENCE)
            self._remove(self.agenda.end(ended))
            if self.begun is not None and self.begun.place.group == ended:
                self.over.append(self.begun)
                self.begun = None
        if self.begun is not None and self.agenda.goes_before(place, self.begun.place):
            assert place.order.priority >= self.begun.place.order.priority
            self.agenda.put(self.begun)
            self.waiting.append(self.begun)
            self.begun = None

    @precondition(lambda self: self.begun is None)
    @rule()
    def begin(self) -> None:
        text = self.agenda.next(self.now_s)
        if text is None:
            alive = [t for t in self.waiting if not self.agenda.is_expired(t.place, self.now_s)]
            assert not alive or self.agenda.has_begun(self.heard.place.group if self.heard else "")
            return
        assert text in self.waiting, "nothing is sent twice, and nothing that was stopped"
        assert not self.agenda.is_expired(text.place, self.now_s), "nothing that has expired is sent"
        if not self.agenda.has_floor(text.place.group):
            more_urgent = [
                t
                for t in self.waiting
                if t.place.order.priority > text.place.order.priority
                and not self.agenda.is_expired(t.place, self.now_s)
            ]
            assert not more_urgent
            earlier_equals = [
                t
                for t in self.waiting
                if t.place.order == text.place.order and t.place.group_number < text.place.group_number
            ]
            if text.place.order.interrupt is not NOW:
                assert all(self.agenda.is_expired(t.place, self.now_s) for t in earlier_equals)
        same_group = [
            t for t in self.waiting if t.place.group == text.place.group and t.place.order == text.place.order
        ]
        alive_before = [t for t in same_group if t.place.number < text.place.number]
        assert all(self.agenda.is_expired(t.place, self.now_s) for t in alive_before), "in their order"
        self.waiting.remove(text)
        self.begun = text

    @precondition(lambda self: self.begun is not None)
    @rule()
    def hear(self) -> None:
        assert self.begun is not None
        if self.heard is not None:
            self.over.append(self.heard)
        self.heard, self.begun = self.begun, None
        self.agenda.heard(self.heard.place)

    @rule(group=st.sampled_from(["A", "B"]))
    def hold(self, group: str) -> None:
        self.agenda.hold(group)

    @rule(group=st.sampled_from(["A", "B"]))
    def release(self, group: str) -> None:
        self.agenda.release(group)

    @rule(group=st.sampled_from(["A", "B"]))
    def stop_group(self, group: str) -> None:
        ended = self.agenda.end(group)
        assert set(map(id, ended)) == {id(t) for t in self.waiting if t.place.group == group}
        self._remove(ended)

    @rule()
    def stop_all(self) -> None:
        ended = self.agenda.end_all()
        assert set(map(id, ended)) == set(map(id, self.waiting))
        self._remove(ended)
        self.begun = self.heard = None
        assert self.agenda.next(self.now_s) is None

    @rule(seconds=st.sampled_from([0.5, 1.0, 5.0]))
    def grow_old(self, seconds: float) -> None:
        self.now_s += seconds

    @rule()
    def expire(self) -> None:
        expired = self.agenda.expire(self.now_s)
        assert all(t.place.expires_s <= self.now_s for t in expired)
        self._remove(expired)

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        assert len(self.agenda) == len(self.waiting)
        upcoming = self.agenda.upcoming(self.now_s)
        assert len(set(map(id, upcoming))) == len(upcoming)
        assert all(text in self.waiting for text in upcoming)


TestAgenda = AgendaMachine.TestCase
TestAgenda.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
