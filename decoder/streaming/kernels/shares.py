"""Rows shared out among threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from decoder.streaming.kernels.workspace import Workspace

Plan = TypeVar("Plan")


@dataclass(frozen=True)
class Shares:
    """Part ``i`` of a signal is its rows from ``bounds[i]`` to ``bounds[i + 1]``."""

    bounds: tuple[int, ...]

    @classmethod
    def even(cls, rows: int, parts: int) -> Shares:
        """Cut ``rows`` to ``parts`` about as long."""
        return cls(tuple(rows * part // parts for part in range(parts + 1)))

    @property
    def rows(self) -> int:
        """Of all parts together."""
        return self.bounds[-1]

    @property
    def parts(self) -> int:
        """How many."""
        return len(self.bounds) - 1

    def times(self, stride: int) -> Shares:
        """Return the same parts of a signal with so many rows for each."""
        return Shares(tuple(bound * stride for bound in self.bounds))

    def of(self, part: int) -> slice:
        """Return the rows of a part."""
        return slice(self.bounds[part], self.bounds[part + 1])


class Memory:
    """What all parts see, and what each has for itself."""

    def __init__(self) -> None:
        self.shared = Workspace()
        self._own: list[Workspace] = []

    def own(self, part: int) -> Workspace:
        """Return a part's; ask in the thread that lays out the work."""
        while len(self._own) <= part:
            self._own.append(Workspace())
        return self._own[part]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.shared.nbytes + sum(workspace.nbytes for workspace in self._own)

    @property
    def growths(self) -> int:
        """As ``Workspace.growths``, of all."""
        return self.shared.growths + sum(workspace.growths for workspace in self._own)


class Plans(Generic[Plan]):
    """Views of the memory for each number of rows, made once and again after memory has grown."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._plans: dict[Shares, Plan] = {}
        self._growths = 0

    def of(self, shares: Shares, make: Callable[[Shares], Plan]) -> Plan:
        """Return the plan for a step, by ``make`` if there is none."""
        self._forget_what_is_replaced()
        plan = self._plans.get(shares)
        if plan is None:
            plan = make(shares)
            if self._forget_what_is_replaced():
                plan = make(shares)
            self._plans[shares] = plan
        return plan

    def _forget_what_is_replaced(self) -> bool:
        grown = self._growths != self._memory.growths
        if grown:
            self._plans.clear()
            self._growths = self._memory.growths
        return grown
