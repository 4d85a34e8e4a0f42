"""Events on their way to readers: each has a short queue, and who does not keep up is dropped."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from app.desk.desk import Desk
from app.desk.events import DeskEvent
from app.headless.http.told import event_of

MOST_BEHIND = 256
"""Events that a reader may be behind."""
REMEMBERED = 256
"""Events that a reader who comes back is told again."""


@dataclass(frozen=True)
class Told:
    """An event as readers get it."""

    number: int
    name: str
    body: dict[str, Any]
    is_last: bool
    """Whether nothing more will be told of its request."""


@dataclass(eq=False)
class Reader:
    """One who follows the events; made by :meth:`Feed.reader`."""

    on_lost: Callable[[], None]
    only_id: str | None
    _waiting: deque[Told] = field(default_factory=deque)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False
    """Whether nothing more will come: the reader was lost, or the feed was closed."""

    @property
    def behind(self) -> int:
        """How many events wait to be read."""
        return len(self._waiting)

    async def next(self) -> Told | None:
        """Return the next event, or ``None`` once nothing more will come."""
        while not self._waiting:
            if self.is_over:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()

    def put(self, told: Told) -> None:
        """Add an event; drops the reader if it is too far behind."""
        if self.is_over or (self.only_id is not None and told.body["id"] != self.only_id):
            return
        if len(self._waiting) >= MOST_BEHIND:
            self._waiting.clear()
            self.end()
            self.on_lost()
            return
        self._waiting.append(told)
        self._changed.set()

    def end(self) -> None:
        """Say that nothing more will come."""
        self.is_over = True
        self._changed.set()


class Feed:
    """Follows a desk; nobody who reads it can hold it up."""

    def __init__(self, desk: Desk) -> None:
        self.boot = secrets.token_hex(4)
        """Changes with each start of the program: event numbers begin anew then."""
        self._readers: set[Reader] = set()
        self._told: deque[Told] = deque(maxlen=REMEMBERED)
        self._count = 0
        self._is_closed = False
        self._unsubscribe = desk.subscribe(self._take)

    @property
    def readers(self) -> int:
        """How many read now."""
        return len(self._readers)

    @contextmanager
    def reader(
        self,
        on_lost: Callable[[], None] = lambda: None,
        *,
        after: int | None = None,
        only_id: str | None = None,
    ) -> Iterator[Reader]:
        """Follow the events for as long as the block does; first what is remembered ``after`` a number.

        ``on_lost`` is called if the reader was dropped. With ``only_id`` it is told of one request only.
        """
        reader = Reader(on_lost, only_id)
        if after is not None:
            for told in self._told:
                if told.number > after:
                    reader.put(told)
        if self._is_closed:
            reader.end()
        self._readers.add(reader)
        try:
            yield reader
        finally:
            self._readers.discard(reader)

    def close(self) -> None:
        """End all readers, who first get what was told."""
        self._is_closed = True
        self._unsubscribe()
        for reader in tuple(self._readers):
            reader.end()

    def _take(self, event: DeskEvent) -> None:
        told = event_of(event)
        if told is None:
            return
        self._count += 1
        name, body = told
        is_last = name in ("finished", "interrupted", "failed")
        self._told.append(Told(self._count, name, body, is_last))
        for reader in tuple(self._readers):
            reader.put(self._told[-1])
