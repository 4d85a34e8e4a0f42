"""One client: a task that always reads, one that writes, one that speaks; and a timer."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Protocol

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from decoder.wire.server import (
    CancelRequested,
    CloseRequested,
    ServerEvent,
    ServerSession,
    ServerTraits,
    UtteranceRequested,
)
from server.emulator.mutate import Cut, Mutation
from server.emulator.outgoing import OutgoingQueue
from server.emulator.records import SessionRecord, UtteranceRecord
from server.emulator.scenario import Scenario
from server.emulator.speech import Speech
from server.emulator.talkers import Talker

log = logging.getLogger("nearfield.emulator")


class Host(Protocol):
    """What a connection needs from the server around it."""

    @property
    def talker(self) -> Talker:
        """Who speaks."""

    @property
    def scenario(self) -> Scenario:
        """What kind of server this is, now."""

    def begin_utterance(self, session: int, request: UtteranceRequested) -> tuple[Scenario, UtteranceRecord]:
        """Return how the next utterance goes, and where to note it."""


class Connection:
    """Joins one socket to one session; :meth:`run` returns when the connection has to end."""

    def __init__(self, socket: ServerConnection, host: Host, record: SessionRecord) -> None:
        scenario = host.scenario
        self._socket = socket
        self._host = host
        self._record = record
        self._reads_while_speaking = scenario.speaks_codec
        self._session = ServerSession(
            host.talker.spec,
            ServerTraits(
                codec=scenario.speaks_codec,
                pcm=host.talker.speaks_pcm,
                old_generation=scenario.old_generation,
                config_timeout_s=scenario.config_timeout_s,
                idle_timeout_s=scenario.idle_timeout_s,
                model=host.talker.model,
            ),
            opened_s=time.monotonic(),
        )
        self._outgoing = OutgoingQueue(socket)
        self._idle = Mutation(scenario, host.talker.spec)
        self._speech: Speech | None = None
        self._speaking: asyncio.Task[None] | None = None
        self._stopping: set[asyncio.Task[None]] = set()
        self._closing = False
        self._timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Serve until either side ends it, and leave no task behind."""
        tasks = [
            asyncio.create_task(work)
            for work in (self._read(), self._outgoing.run(), self._socket.wait_closed())
        ]
        self._watch()
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._closing = True
            self._watch()
            for task in tasks:
                task.cancel()
            self._stop_speaking()
            results = await asyncio.gather(*tasks, *self._stopping, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, ConnectionClosed):
                raise result

    # -- the tasks --------------------------------------------------------------------------------------

    async def _read(self) -> None:
        while True:
            message = await self._socket.recv()
            if self._closing:
                continue
            self._record.note(message)
            if isinstance(message, str):
                events = self._session.receive_text(message, time.monotonic())
            else:
                events = self._session.receive_bytes(message)
            self._handle(events)
            if self._speaking is not None and not self._reads_while_speaking:
                await asyncio.wait([self._speaking])

    async def _speak(self, speech: Speech) -> None:
        await speech.run()
        self._finish(speech)

    # -- what happens in them ---------------------------------------------------------------------------

    def _watch(self) -> None:
        """Set the timer anew: a client that says nothing until then is given up."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline_s = self._session.deadline_s
        if deadline_s is not None and not self._closing:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, deadline_s - time.monotonic()), self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._handle(self._session.tick(time.monotonic()))

    def _handle(self, events: list[ServerEvent]) -> None:
        self._flush()
        for event in events:
            match event:
                case UtteranceRequested():
                    self._start(event)
                case CancelRequested():
                    self._cancel()
                case CloseRequested():
                    self._close(event.code)
        self._watch()

    def _start(self, request: UtteranceRequested) -> None:
        scenario, record = self._host.begin_utterance(self._record.number, request)
        self._speech = Speech(
            request,
            self._session,
            self._host.talker,
            scenario,
            record,
            self._flush,
            self._outgoing.drained,
        )
        self._speaking = asyncio.create_task(self._speak(self._speech))
        self._speaking.add_done_callback(self._on_spoken)

    def _on_spoken(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:  # a fault of ours: what a talker raises has been dealt with
            log.error("an utterance failed in the server", exc_info=error)
            self._outgoing.put(Cut(1011))

    def _cancel(self) -> None:
        speech = self._speech
        if speech is None or speech.scenario.ignore_cancel:
            return
        self._stop_speaking()
        speech.end_cancelled()
        self._finish(speech)

    def _finish(self, speech: Speech) -> None:
        events = self._session.end_utterance(time.monotonic())
        self._flush()
        speech.record.finished = True
        self._speech = None
        self._handle(events)

    def _close(self, code: int) -> None:
        self._closing = True
        self._stop_speaking()
        self._outgoing.put(Cut(code))

    def _stop_speaking(self) -> None:
        """Cancel the task that speaks, once: it may need a moment for its talker to stop."""
        task, self._speaking = self._speaking, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            self._stopping.add(task)
            task.add_done_callback(self._stopping.discard)

    def _flush(self) -> None:
        """Pass on what the session wants to send, through the mischief of the utterance at hand."""
        mutation = self._idle if self._speech is None else self._speech.mutation
        record = None if self._speech is None else self._speech.record
        for message in self._session.data_to_send():
            for out in mutation.apply(message):
                self._outgoing.put(out, record, mutation.is_pcm)
