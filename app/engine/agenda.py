"""Which text comes next: the queue's rules, pure. No clock, no loop; instants are arguments.

- Higher priority goes first. Among equals the order is first come, first heard, but a text that interrupts
  goes in front of those that do not, and the newest that interrupts *now* in front of all.
- The texts of a group are heard together: once one is heard, the rest of its group has the floor. A group
  that is held open because more of it is to come keeps the floor while nothing of it waits, except
  against what is more urgent.
- An order ends the group that has the floor if it interrupts now or after the sentence, and that group is
  no more urgent. What has the floor is never put behind anything otherwise.
- What has not begun to be heard when its time is over is handed out as expired and never as the next.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from app.engine.order import Interrupt, Order

_RANK = {Interrupt.NO: 0, Interrupt.AFTER_UTTERANCE: 1, Interrupt.AFTER_SENTENCE: 1, Interrupt.NOW: 2}
_ENDS_THE_FLOOR = (Interrupt.NOW, Interrupt.AFTER_SENTENCE)


@dataclass(frozen=True)
class Place:
    """Where a text stands among all others, for as long as it is not over."""

    order: Order
    group: str
    """The order's, or one that no other text has."""
    group_number: int
    """Counts groups as they came."""
    number: int
    """Counts texts as they came."""
    expires_s: float = math.inf
    """When it is dropped, unless it has begun to be heard."""

    @property
    def key(self) -> tuple[int, int, int, int]:
        """Smaller goes first."""
        rank = _RANK[self.order.interrupt]
        newest_first = self.order.interrupt is Interrupt.NOW
        since = -self.group_number if newest_first else self.group_number
        return (-self.order.priority, -rank, since, self.number)


class Placed(Protocol):
    """What an agenda holds."""

    @property
    def place(self) -> Place:
        """Where it stands."""
        ...


P = TypeVar("P", bound=Placed)


@dataclass
class _Held:
    """A group of which more is to come."""

    group_number: int
    has_begun: bool = False


class Agenda(Generic[P]):
    """The texts that wait, and who has the floor."""

    def __init__(self) -> None:
        self._waiting: list[P] = []
        """Sorted by key."""
        self._held: dict[str, _Held] = {}
        self._floor: Place | None = None
        self._groups = 0
        self._texts = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    # -- coming -----------------------------------------------------------------------------------------

    def place(self, order: Order, now_s: float) -> Place:
        """Return the place of a text that comes now."""
        self._texts += 1
        group = order.group or f"\0{self._texts}"
        held = self._held.get(group)
        number = held.group_number if held else self._number_of(group)
        return Place(order, group, number, self._texts, now_s + order.ttl_s)

    def put(self, item: P) -> None:
        """Have ``item`` wait; also one that was begun and gave way, which is then where it was before."""
        bisect.insort(self._waiting, item, key=lambda one: one.place.key)

    def hold(self, group: str) -> None:
        """Keep the floor for ``group``, should it come to have it, until :meth:`release`."""
        self._held.setdefault(group, _Held(self._number_of(group), self.has_begun(group)))

    def release(self, group: str) -> None:
        """Nothing more will come of ``group``, or it lets others go first until it does."""
        self._held.pop(group, None)

    # -- going ------------------------------------------------------------------------------------------

    def next(self, now_s: float) -> P | None:
        """Take out the text to be sent now; ``None`` if nothing waits, or the floor is kept for its owner."""
        item = next(iter(self.upcoming(now_s)), None)
        if item is not None and self._is_kept_from(item.place):
            return None
        if item is not None:
            self._waiting.remove(item)
        return item

    def upcoming(self, now_s: float) -> list[P]:
        """Return what waits and has not expired, in the order in which it would be heard."""
        alive = [item for item in self._waiting if not self.is_expired(item.place, now_s)]
        return sorted(alive, key=lambda item: not self.has_floor(item.place.group))

    def expire(self, now_s: float) -> list[P]:
        """Take out what has waited too long."""
        expired = [item for item in self._waiting if self.is_expired(item.place, now_s)]
        self._waiting = [item for item in self._waiting if item not in expired]
        return expired

    @property
    def next_expiry_s(self) -> float:
        """When something that waits will have waited too long; infinite if nothing will."""
        waiting = (item.place for item in self._waiting if not self.has_begun(item.place.group))
        return min((place.expires_s for place in waiting), default=math.inf)

    def is_expired(self, place: Place, now_s: float) -> bool:
        """Whether what is at ``place`` has waited too long; what has begun to be heard never has."""
        return place.expires_s <= now_s and not self.has_begun(place.group)

    def end(self, group: str) -> list[P]:
        """Take out all that waits of ``group``, which is over."""
        ended = [item for item in self._waiting if item.place.group == group]
        self._waiting = [item for item in self._waiting if item.place.group != group]
        self._held.pop(group, None)
        return ended

    def end_all(self) -> list[P]:
        """Take out everything."""
        ended, self._waiting, self._floor = self._waiting, [], None
        self._held.clear()
        return ended

    # -- what is heard ----------------------------------------------------------------------------------

    def heard(self, place: Place) -> None:
        """Give the floor to the group of ``place``, which is heard now and cannot expire any more."""
        self._floor = place
        if place.group in self._held:
            self._held[place.group].has_begun = True

    def has_floor(self, group: str) -> bool:
        """Whether ``group`` is, or was last, what is heard."""
        return self._floor is not None and self._floor.group == group

    def has_begun(self, group: str) -> bool:
        """Whether something of ``group`` was heard, and more of it may come."""
        held = self._held.get(group)
        return self.has_floor(group) or (held is not None and held.has_begun)

    def ends_floor(self, place: Place) -> str | None:
        """Return the group that a text at ``place`` ends by coming, if it ends one."""
        floor = self._floor
        if floor is None or floor.group == place.group or place.order.interrupt not in _ENDS_THE_FLOOR:
            return None
        return floor.group if floor.order.priority <= place.order.priority else None

    def goes_before(self, place: Place, begun: Place) -> bool:
        """Whether what was ``begun``, and not heard so far, gives way to a text at ``place``."""
        return place.group != begun.group and not self.has_floor(begun.group) and place.key < begun.key

    # -- inside -----------------------------------------------------------------------------------------

    def _number_of(self, group: str) -> int:
        for item in self._waiting:
            if item.place.group == group:
                return item.place.group_number
        if self._floor is not None and self._floor.group == group:
            return self._floor.group_number
        self._groups += 1
        return self._groups

    def _is_kept_from(self, place: Place) -> bool:
        floor = self._floor
        if floor is None or floor.group == place.group or floor.group not in self._held:
            return False
        return place.order.priority <= floor.order.priority
