"""Keeps the link to the server while nobody speaks, for front ends that are open all day."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from app.engine.events import EngineEvent, LinkStatus, Notice, Severity
from app.engine.reconnect_policy import ReconnectPolicy
from app.errors import NearfieldError, Unreachable
from app.session.events import LinkChanged, LinkState, SessionEvent
from app.session.session import Session
from decoder.wire.events import LinkUseless, Mode, UtteranceEnded
from decoder.wire.messages import SessionConfig

log = logging.getLogger("nearfield.engine")

YOUNG_S = 0.5
"""A try of this age is as good as a fresh one; an older one may be stuck until its time is out."""


class Keeping:
    """Connects ahead of need and again after a loss, as :class:`ReconnectPolicy` plans it.

    Whoever needs the link makes a try of their own at once; nothing is tried here meanwhile.
    """

    def __init__(
        self,
        session: Session,
        config: SessionConfig,
        tell: Callable[[EngineEvent], None],
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self._session = session
        self._config = config
        self._tell = tell
        self._clock = clock
        self._sleep = sleep
        self._policy = ReconnectPolicy(rng or random.Random())
        self._is_up = False
        self._is_used = False
        self._others = 0
        """Who makes tries of their own at the moment."""
        self._detail = ""
        self._told_refused: bool | None = None
        """What people were told since the server was reached last: that it is away, or that it refuses."""
        self._trying: asyncio.Task[None] | None = None
        self._began_s = 0.0
        self._changed = asyncio.Event()
        self._is_stopped = False

    async def run(self) -> None:
        """Keep the link until :meth:`stop`."""
        while not self._is_stopped:
            self._changed.clear()
            wait_s = self._policy.due_s - self._clock()
            if self._is_up or self._others:
                await self._changed.wait()
            elif wait_s > 0:
                self._tell_waiting(wait_s)
                await self._wait(wait_s)
            else:
                await self._try()

    def stop(self) -> None:
        """Make no try any more; repeatable."""
        self._is_stopped = True
        self._changed.set()
        self._give_way()

    def try_now(self) -> None:
        """End the wait for the next try, whoever waits for it."""
        self._session.hurry()
        if not self._is_up:
            self._policy.hurry()
            self._changed.set()

    @contextlib.contextmanager
    def standing_aside(self) -> Iterator[None]:
        """Let the block make its own tries: nothing is tried here meanwhile."""
        self._others += 1
        age_s = self._clock() - self._began_s
        timer = None
        if age_s < YOUNG_S:
            timer = asyncio.get_running_loop().call_later(YOUNG_S - age_s, self._give_way)
        else:
            self._give_way()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            self._others -= 1
            self._changed.set()

    def text_was_sent(self) -> None:
        """Take note that an utterance is on the link, until its end is observed."""
        self._is_used = True

    def observe(self, event: SessionEvent) -> None:
        """Take an event of the session, whoever caused it."""
        match event:
            case LinkChanged(state=LinkState.READY):
                self._is_up, self._is_used, self._told_refused = True, False, None
                self._policy.reached(self._clock())
            case LinkChanged(state=LinkState.OFFLINE):
                self._on_offline(event)
            case LinkUseless():
                self._is_up = False
                self._policy.left()
            case UtteranceEnded():
                self._is_used = False
                self._policy.used(self._clock())
                return
            case _:
                return
        self._changed.set()

    # -- inside -----------------------------------------------------------------------------------------

    def _on_offline(self, event: LinkChanged) -> None:
        now_s = self._clock()
        was_up, self._is_up = self._is_up, False
        self._detail = event.detail or self._detail
        if was_up:
            if self._is_used:
                self._policy.used(now_s)
            self._policy.lost(now_s)
        elif event.detail:
            self._on_failure(event.refused)
            # The end of the text that it was tried for says so.
            self._told_refused = event.refused

    def _on_failure(self, refused: bool) -> None:
        if refused:
            self._policy.refused()
        else:
            self._policy.failed(self._clock())

    async def _try(self) -> None:
        self._began_s = self._clock()
        trying = asyncio.create_task(self._session.connect(self._config))
        self._trying = trying
        try:
            await asyncio.wait({trying})
        finally:
            self._trying = None
            trying.cancel()
            await asyncio.gather(trying, return_exceptions=True)
        error = None if trying.cancelled() else trying.exception()
        if error is None:
            return
        if not isinstance(error, NearfieldError):
            log.error("connecting failed in an unexpected way", exc_info=error)
        refused = isinstance(error, NearfieldError) and not isinstance(error, Unreachable)
        self._detail = str(error)
        self._on_failure(refused)
        if self._told_refused is not refused:
            self._told_refused = refused
            text = "{0}" if refused else "{0}; trying again"
            self._tell(Notice.of(Severity.WARNING, text, self._detail))

    def _tell_waiting(self, wait_s: float) -> None:
        if self._policy.is_asleep:
            self._tell(LinkStatus(LinkState.ASLEEP, Mode.UNKNOWN, self._detail))
        elif wait_s < math.inf:
            self._tell(LinkStatus(LinkState.OFFLINE, Mode.UNKNOWN, self._detail, wait_s))
        else:
            self._tell(LinkStatus(LinkState.OFFLINE, Mode.UNKNOWN, self._detail, refused=True))

    async def _wait(self, wait_s: float) -> None:
        """Wait until something has changed, at most for ``wait_s``."""
        waits: set[asyncio.Future[Any]] = {asyncio.ensure_future(self._changed.wait())}
        if wait_s < math.inf:
            waits.add(asyncio.ensure_future(self._sleep(wait_s)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    def _give_way(self) -> None:
        if self._trying is not None:
            self._trying.cancel()
