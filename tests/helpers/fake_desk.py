"""A desk for the tests of sources: it takes, checks and queues like the real one, and speaks when told to.

Not realistic: nothing is decoded or heard. A sentence is a second long; the server, the decoder and
the output are what the test sets; a more urgent request waits for its turn like any other, whatever it asked
to interrupt; time to live is not looked at; and `apply` only notes what it was given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from app.config import Config
from app.desk.checking import checked
from app.desk.events import (
    DeskEvent,
    Failed,
    Finished,
    Interrupted,
    Queued,
    SentenceAudible,
    Started,
)
from app.desk.request import Request
from app.desk.status import Speaking, Status, Waiting
from app.desk.ticket import Final, Ticket
from app.errors import BadField, DeskClosing, QueueFull
from app.metrics.report import LatencyParts, Report
from app.session.events import LinkState
from app.text import clean, utterances
from decoder.wire.events import Mode

REPORT = Report(
    ttfa_s=0.2,
    parts=LatencyParts(0.1, 0.0, 0.02, 0.0, 0.03, 0.05),
    before_sent_s=0.01,
    leading_silence_s=0.03,
    rtf=0.5,
    frames=25,
    audio_s=2.0,
    buffered_s=0.0,
    highest_buffer_s=1.0,
    lowest_buffer_s=0.3,
    underruns=0,
    gap_s=0.0,
    device_underflows=0,
    wire_bytes=1000,
    pcm_bytes=96_000,
)
READY = Status(
    link=LinkState.READY,
    link_detail="ws://127.0.0.1:8001",
    mode=Mode.CODEC,
    decoder_ready=True,
    decoder_detail="warm",
    decoder_rtf=0.5,
    output="ALSA: fake",
    output_detail="opened",
    audible=True,
    paused=False,
    speaking=None,
    queue=(),
    last=None,
)


@dataclass(eq=False)
class FakeRequest:
    """A request that was taken."""

    request: Request
    ticket: Ticket
    text: str
    is_open: bool = False
    """More of its text may come."""
    begun: bool = False
    sentences: int = 0


class FakePieces:
    """Text in pieces, kept as one string."""

    def __init__(self, desk: FakeDesk, taken: FakeRequest) -> None:
        self._desk = desk
        self._taken = taken
        self.written: list[str] = []

    @property
    def ticket(self) -> Ticket:
        return self._taken.ticket

    def write(self, text: str) -> None:
        if not self.ticket.done.done():
            self.written.append(text)
            self._taken.text += text

    def close(self) -> None:
        self._taken.is_open = False
        self._desk.look()

    def abort(self) -> None:
        self._desk.end(self._taken, Interrupted(self.ticket.id, self._taken.request.source, 0.0, "aborted"))


@dataclass
class FakeDesk:
    """Speaks what it is given in the loop's next turn if ``at_once``, else when `speak_next` is called."""

    config: Config = field(default_factory=Config)
    at_once: bool = True
    now: Status = READY
    """What `status` returns, but for the queue, what is spoken and the pause."""
    requests: list[FakeRequest] = field(default_factory=list)
    """All that were taken, over or not."""
    events: list[DeskEvent] = field(default_factory=list)
    opened: list[FakePieces] = field(default_factory=list)
    watchers: list[Callable[[object], None]] = field(default_factory=list)
    applied: list[tuple[Config, bool]] = field(default_factory=list)
    paused: bool = False
    closed_with_grace_s: float | None = None
    _listeners: list[Callable[[DeskEvent], None]] = field(default_factory=list)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    # -- what a source does -----------------------------------------------------------------------------

    def speak(self, request: Request) -> Ticket:
        taken = self._take(checked(request), clean(request.text))
        self.look()
        return taken.ticket

    def open(self, request: Request) -> FakePieces:
        taken = self._take(checked(request, in_pieces=True), request.text, is_open=True)
        self.opened.append(FakePieces(self, taken))
        return self.opened[-1]

    async def room(self) -> None:
        while self.closed_with_grace_s is None and self._waiting() >= self.config.kiosk.queue_limit:
            self._moved.clear()
            await self._moved.wait()

    def stop(self, id: str | None = None) -> bool:  # noqa: A002
        ended = [t for t in self.in_flight if id in (None, t.ticket.id)]
        for taken in ended:
            self.end(taken, Interrupted(taken.ticket.id, taken.request.source, 0.0, "stopped"))
        if id is None:
            self.paused = False
        return bool(ended)

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        self.look()

    def status(self) -> Status:
        heard = [t for t in self.in_flight if t.begun]
        waiting = sorted((t for t in self.in_flight if not t.begun), key=lambda t: -t.request.priority)
        return replace(
            self.now,
            paused=self.paused,
            speaking=next(
                (Speaking(t.ticket.id, t.request.source, t.text, t.text, 0.5) for t in heard), None
            ),
            queue=tuple(
                Waiting(t.ticket.id, t.request.source, t.text, t.request.priority, 1.0) for t in waiting
            ),
        )

    def subscribe(self, listener: Callable[[DeskEvent], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def watch(self, listener: Callable[[object], None]) -> Callable[[], None]:
        self.watchers.append(listener)
        return lambda: self.watchers.remove(listener)

    async def apply(self, config: Config, is_demo: bool) -> None:
        self.applied.append((config, is_demo))
        self.config = config

    async def aclose(self, grace_s: float) -> None:
        self.closed_with_grace_s = grace_s
        self._moved.set()
        self.stop()

    # -- what a test does -------------------------------------------------------------------------------

    @property
    def texts(self) -> list[str]:
        """Every text that was taken, in order."""
        return [t.text for t in self.requests]

    @property
    def in_flight(self) -> list[FakeRequest]:
        """Requests that are not over."""
        return [t for t in self.requests if not t.ticket.done.done()]

    def tell_watchers(self, event: object) -> None:
        """Tell what the engine would."""
        for watcher in self.watchers:
            watcher(event)

    def begin_next(self) -> FakeRequest:
        """Have the next request heard, all but its end."""
        taken = max((t for t in self.in_flight if not t.begun), key=lambda t: t.request.priority)
        taken.begun = True
        self._tell(Started(taken.ticket.id, taken.request.source))
        for index, sentence in enumerate(utterances(clean(taken.text))):
            self._tell(SentenceAudible(taken.ticket.id, taken.request.source, sentence, index))
            taken.sentences += 1
        return taken

    def speak_next(self) -> None:
        """Have the next request heard to its end."""
        taken = self.begin_next()
        self.end(
            taken, Finished(taken.ticket.id, taken.request.source, float(max(1, taken.sentences)), REPORT)
        )

    def fail(self, taken: FakeRequest, reason: str) -> None:
        """Have a request fail."""
        self.end(taken, Failed(taken.ticket.id, taken.request.source, float(taken.sentences), reason))

    def end(self, taken: FakeRequest, event: Final) -> None:
        """Tell the end of a request, once."""
        if not taken.ticket.done.done():
            self._tell(event)
            taken.ticket.done.set_result(event)
            self._moved.set()

    def look(self) -> None:
        """Have what can be heard be heard, soon."""
        if self.at_once and not self.paused:
            asyncio.get_running_loop().call_soon(self._speak_all)

    # -- inside -----------------------------------------------------------------------------------------

    def _take(self, request: Request, text: str, is_open: bool = False) -> FakeRequest:
        if self.closed_with_grace_s is not None:
            raise DeskClosing("the program is about to end")
        if (waiting := self._waiting()) >= self.config.kiosk.queue_limit:
            raise QueueFull(f"{waiting} requests wait already")
        name = request.id or f"r{len(self.requests) + 1}"
        if name in [t.ticket.id for t in self.in_flight]:
            raise BadField("id", f"{name} is in use")
        ticket = Ticket(name, asyncio.get_running_loop().create_future())
        taken = FakeRequest(request, ticket, text, is_open)
        self.requests.append(taken)
        self._tell(Queued(name, request.source, text, request.priority))
        return taken

    def _waiting(self) -> int:
        return sum(not t.begun for t in self.in_flight)

    def _speak_all(self) -> None:
        while not self.paused and any(not t.begun and not t.is_open for t in self.in_flight):
            self.speak_next()

    def _tell(self, event: DeskEvent) -> None:
        self.events.append(event)
        self._moved.set()
        for listener in tuple(self._listeners):
            listener(event)
