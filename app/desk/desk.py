"""The desk: takes requests of every source, has them spoken, and tells each what became of it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from app.config import Config
from app.desk.checking import checked
from app.desk.events import DeskEvent, Failed, Interrupted, Queued, SentenceAudible, Started
from app.desk.feeding import Feeding
from app.desk.numbers import joined
from app.desk.overview import status
from app.desk.pieces import Pieces
from app.desk.request import Request
from app.desk.status import Status
from app.desk.taken import Part, Taken
from app.desk.ticket import Final, Ticket
from app.engine.events import (
    GroupEnded,
    PauseChanged,
    SentenceHeard,
    Severity,
    StageChanged,
    UtteranceDone,
)
from app.engine.host import EngineReplaced, Host, HostEvent
from app.engine.state import Stage
from app.errors import BadField, ConfigError, DeskClosing, QueueFull
from app.metrics.report import Report
from app.text import utterances
from decoder.wire.events import Outcome
from decoder.wire.messages import SessionConfig

log = logging.getLogger("nearfield.desk")
E = TypeVar("E")

STOPPED, ABORTED, CLOSING, SETTINGS = "stopped", "aborted", "closing", "settings changed"


class Desk:
    """One in front of one host; all of it in the event loop. Sources know the desk and nothing behind it."""

    def __init__(self, host: Host, clock: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._clock = clock
        self._kiosk = host.effective.kiosk
        self._listeners: list[Callable[[DeskEvent], None]] = []
        self._watchers: list[Callable[[HostEvent], None]] = []
        self._taken: dict[str, Taken] = {}
        """Requests that are not over, by id, oldest first."""
        self._by_group: dict[str, Taken] = {}
        self._pieces: dict[str, Pieces] = {}
        """Of requests whose text is still arriving, by group."""
        self._feeding = Feeding(lambda: host.engine, clock)
        self._count = 0
        self._is_paused = False
        self._is_moving = False
        """The engine is about to be replaced: it is given nothing more."""
        self._is_closing = False
        self._broken = ""
        """Why there is no engine, if none can be made."""
        self._last: Report | None = None
        self._moved = asyncio.Event()
        """Set whenever a request begins to be heard, or is over."""
        host.subscribe(self._observe)

    @property
    def config(self) -> Config:
        """The configuration in use; with the demo it has the demo's address, voice and decoder."""
        return replace(self._host.effective, voice=self._host.voice, kiosk=self._kiosk)

    # -- what a source does -----------------------------------------------------------------------------

    def speak(self, request: Request) -> Ticket:
        """Take a request, to be heard here.

        ``Queued`` is told before this returns. It never waits: without a server, a decoder or a sound device
        the request waits in the queue, for as long as ``ttl_s`` and ``server.patience_s`` let it.

        Raises:
            RequestError: BadField, NothingToSay, TextTooLong, QueueFull or DeskClosing; nothing was taken.

        """
        taken = self._take(checked(request), is_open=False)
        taken.unsent.extend(Part(text, taken.taken_s) for text in utterances(taken.text))
        self._give(taken)
        return taken.ticket

    def open(self, request: Request) -> Pieces:
        """Take a request whose text arrives in pieces; its own text, if any, is the first of them.

        Raises:
            RequestError: as :meth:`speak`, except NothingToSay: then it ends as failed.

        """
        request = checked(request, in_pieces=True)
        taken = self._take(replace(request, text=""), is_open=True)
        pieces = Pieces(
            taken, lambda: self._give(taken), lambda: self._end_early(taken, ABORTED), self._clock
        )
        self._pieces[taken.group] = pieces
        self._give(taken)
        if request.text:
            pieces.write(request.text)
        return pieces

    async def room(self) -> None:
        """Wait until another request may wait, or the desk closes."""
        while not self._is_closing and self._count_waiting() >= self._kiosk.queue_limit:
            self._moved.clear()
            await self._moved.wait()

    def stop(self, id: str | None = None) -> bool:  # noqa: A002  # the word of every source
        """End one request in whatever state it is, or with ``None`` all of them, the queue too.

        What is heard of it is silent within a few milliseconds, with a short fade; other requests go on. It
        is told as interrupted before this returns. False if there is no such request, or none at all.
        """
        ended = [taken for taken in self._taken.values() if id in (None, taken.id)]
        if id is None and self._host.engine is not None:
            self._host.engine.stop()
        for taken in ended:
            self._end_early(taken, STOPPED)
        return bool(ended)

    def pause(self) -> None:
        """Hold the sound where it is; no sample is lost, and requests are taken as ever. Repeatable."""
        self._is_paused = True
        if self._host.engine is not None:
            self._host.engine.pause()

    def resume(self) -> None:
        """Go on where the sound was held. Repeatable; a stop of everything ends a pause, too."""
        self._is_paused = False
        if self._host.engine is not None:
            self._host.engine.resume()

    def status(self) -> Status:
        """Return what the desk is doing now."""
        return status(
            self._host, self._taken.values(), self._clock(), is_paused=self._is_paused, last=self._last
        )

    def subscribe(self, listener: Callable[[DeskEvent], None]) -> Callable[[], None]:
        """Have ``listener`` called with every event of every request, in the event loop.

        Returns what ends that. A listener that raises is logged and called again.
        """
        return _added(self._listeners, listener)

    def watch(self, listener: Callable[[HostEvent], None]) -> Callable[[], None]:
        """Have ``listener`` called with what the engine tells, in the event loop; returns what ends that.

        For logs and metrics: the link, the decoder, the output, notices, and ``UtteranceDone`` with the
        numbers of every single utterance.
        """
        return _added(self._watchers, listener)

    # -- what its owner does ----------------------------------------------------------------------------

    async def apply(self, config: Config, is_demo: bool) -> None:
        """Use ``config`` from now on.

        Voice, volume, device and limits change at once. Where another engine is needed, the sentence that is
        heard is finished (bounded by ``kiosk.grace_s``), and what waits is kept and heard by the new one.
        What stands in the way is told as a notice, never raised, and all stays as it was.
        """
        if fault := self._host.fault(config, is_demo):
            self._host.notify(Severity.ERROR, f"the settings stay as they were: {fault}")
            return
        if self._host.needs_new_engine(config, is_demo):
            self._is_moving = True
            try:
                self._take_back()
                await self._finish_sentences(self._kiosk.grace_s, SETTINGS)
                self._kiosk = config.kiosk
                await self._host.apply(config, is_demo)
            finally:
                self._is_moving = False
            self._give_all()
            return
        self._kiosk = config.kiosk
        await self._host.apply(config, is_demo)

    async def aclose(self, grace_s: float) -> None:
        """Take nothing more, finish the sentence that is heard within ``grace_s``, and end all requests.

        The host is left running; its owner closes it.
        """
        self._is_closing = True
        self._moved.set()
        for taken in tuple(self._taken.values()):
            if not taken.has_started:
                self._end_early(taken, CLOSING)
        await self._finish_sentences(grace_s, CLOSING)
        for taken in tuple(self._taken.values()):
            self._end_early(taken, CLOSING)

    # -- taking -----------------------------------------------------------------------------------------

    def _take(self, request: Request, *, is_open: bool) -> Taken:
        if self._is_closing:
            raise DeskClosing("the program is about to end")
        if request.id in self._taken:
            raise BadField("id", f"the request {request.id} is not over yet")
        waiting = self._count_waiting()
        if waiting >= self._kiosk.queue_limit:
            raise QueueFull(f"{waiting} requests wait already")
        how = self._how(request)
        self._count += 1
        ticket = Ticket(request.id or self._free_id(), asyncio.get_running_loop().create_future())
        taken = Taken(
            request, ticket, f"{self._count}", how, self._clock(), request.text, is_open, in_pieces=is_open
        )
        self._taken[taken.id] = self._by_group[taken.group] = taken
        if request.ttl_s is not None:
            taken.deadline = asyncio.get_running_loop().call_later(request.ttl_s, self._expire, taken)
        self._tell(Queued(taken.id, request.source, request.text, request.priority))
        return taken

    def _count_waiting(self) -> int:
        return sum(not taken.has_started for taken in self._taken.values())

    def _free_id(self) -> str:
        name = f"r{self._count}"
        return name if name not in self._taken else f"{name}-{self._count}"

    def _how(self, request: Request) -> SessionConfig:
        voice = self._host.voice
        wanted = replace(
            voice,
            name=voice.name if request.voice is None else request.voice,
            language=voice.language if request.language is None else request.language,
            instructions=voice.instructions if request.instructions is None else request.instructions,
        )
        try:
            return self._host.how(wanted)
        except ConfigError as error:
            raise BadField("voice", str(error).removeprefix("voice: ")) from error

    # -- giving to the engine ---------------------------------------------------------------------------

    def _give(self, taken: Taken) -> None:
        """Give the engine what it can use of ``taken`` now, or tell its end if there is nothing left."""
        if taken.is_over:
            return
        if self._broken:
            taken.reason = taken.reason or self._broken
            self._finish(taken, taken.final())
        elif taken.is_exhausted:
            self._finish(taken, taken.final())
        elif self._host.engine is not None and not self._is_moving:
            self._feeding.give(self._host.engine, taken)

    def _give_all(self) -> None:
        for taken in tuple(self._taken.values()):
            self._give(taken)

    # -- what the engine tells --------------------------------------------------------------------------

    def _observe(self, event: HostEvent) -> None:
        match event:
            case EngineReplaced():
                self._on_engine(event)
            case PauseChanged() if not self._is_moving:
                self._is_paused = event.is_paused
            case StageChanged() if event.stage in (Stage.PLAYING, Stage.DRAINING):
                self._on_start(event.group)
            case SentenceHeard():
                self._on_sentence(event)
            case UtteranceDone():
                self._on_end(event)
            case GroupEnded():
                self._on_group_end(event)
        for watcher in tuple(self._watchers):
            _call(watcher, event)

    def _on_engine(self, event: EngineReplaced) -> None:
        self._broken = event.reason
        if event.engine is not None:
            if self._is_paused:
                event.engine.pause()
            self._give_all()
        elif event.reason:
            self._give_all()

    def _on_start(self, group: str) -> None:
        taken = self._by_group.get(group)
        if taken is not None and not taken.has_started:
            taken.has_started = True
            self._moved.set()
            self._tell(Started(taken.id, taken.request.source))

    def _on_sentence(self, event: SentenceHeard) -> None:
        self._on_start(event.group)
        taken = self._by_group.get(event.group)
        if taken is not None:
            taken.sentence, taken.sentences = event.text, taken.sentences + 1
            self._tell(SentenceAudible(taken.id, taken.request.source, event.text, taken.sentences - 1))

    def _on_end(self, done: UtteranceDone) -> None:
        taken = self._by_group.get(done.group)
        if taken is None or not taken.given:  # it was taken back
            return
        # The engine is replaced or about to be: what it has not begun is for the next one.
        is_left = self._host.engine is None or self._is_moving
        if is_left and done.outcome is Outcome.CANCELLED and not taken.why_ended:
            if not taken.has_started:
                taken.take_back()
                return
            taken.why_ended = SETTINGS
        taken.note_end(done)
        if taken.why_ended or done.reason == "expired":
            taken.is_open = False
            taken.unsent.clear()
        self._give(taken)

    def _on_group_end(self, event: GroupEnded) -> None:
        taken = self._by_group.get(event.group)
        is_taken_back = self._is_moving and taken is not None and not taken.has_started
        if taken is None or is_taken_back or not (taken.is_open or taken.unsent):
            return
        taken.why_ended = taken.why_ended or event.reason
        taken.is_open = False
        taken.unsent.clear()
        self._give(taken)

    # -- ending -----------------------------------------------------------------------------------------

    def _take_back(self) -> None:
        """Take from the engine what it has not begun, for the next one."""
        for taken in tuple(self._taken.values()):
            if self._host.engine is not None and not taken.has_started:
                self._host.engine.stop(taken.group)

    async def _finish_sentences(self, grace_s: float, why: str) -> None:
        """End what is heard after its sentence, and wait for that for at most ``grace_s``."""
        engine = self._host.engine
        heard = [taken for taken in self._taken.values() if taken.has_started]
        if engine is None or self._is_paused:
            return
        for taken in heard:
            engine.stop_after_sentence(taken.group, why)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._until_over(heard), grace_s)

    async def _until_over(self, requests: list[Taken]) -> None:
        while not all(taken.is_over for taken in requests):
            self._moved.clear()
            await self._moved.wait()

    def _expire(self, taken: Taken) -> None:
        """End what has not begun in time and of which the engine, which sees to the rest, knows nothing."""
        if not taken.has_started and not taken.given and not taken.is_over:
            self._finish(taken, Failed(taken.id, taken.request.source, 0.0, "expired"))

    def _end_early(self, taken: Taken, why: str) -> None:
        if taken.is_over:
            return
        taken.why_ended = taken.why_ended or why
        taken.is_open = False
        taken.unsent.clear()
        if self._host.engine is not None:
            self._host.engine.stop(taken.group, why)  # which tells the ends of what it has
        if not taken.is_over:
            self._finish(taken, Interrupted(taken.id, taken.request.source, taken.played_s, taken.why_ended))

    def _finish(self, taken: Taken, event: Final) -> None:
        if taken.is_over:
            return
        del self._taken[taken.id], self._by_group[taken.group]
        if pieces := self._pieces.pop(taken.group, None):
            pieces.forget()
        self._feeding.forget(taken)
        if taken.deadline is not None:
            taken.deadline.cancel()
        if taken.ends:
            self._last = joined([done.report for done in taken.ends])
        taken.ticket.done.set_result(event)
        self._moved.set()
        self._tell(event)

    # -- telling ----------------------------------------------------------------------------------------

    def _tell(self, event: DeskEvent) -> None:
        for listener in tuple(self._listeners):
            _call(listener, event)


def _added(listeners: list[Callable[[E], None]], listener: Callable[[E], None]) -> Callable[[], None]:
    listeners.append(listener)

    def remove() -> None:
        with contextlib.suppress(ValueError):
            listeners.remove(listener)

    return remove


def _call(listener: Callable[[E], None], event: E) -> None:
    try:
        listener(event)
    except Exception:
        log.exception("a listener failed on %r", event)
