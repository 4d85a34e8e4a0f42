"""A connection on which texts are spoken one after another."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from decoder.errors import MessageError
from decoder.spec import CodecSpec
from decoder.wire import messages as m
from decoder.wire.client import ClientSession
from decoder.wire.events import Event, LinkUseless, Mode, Outcome, ServerSaid
from server.caller.heard import Heard, on_the_wire_bytes


class CallError(Exception):
    """A server cannot be reached, or does not do what is asked of it; the text says what and why."""


class Link(Protocol):
    """An open WebSocket; ``app.session.link.Link`` is one."""

    async def send(self, text: str) -> None:
        """Send a text message; never raises because the link has closed."""
        ...

    async def receive(self) -> str | bytes | None:
        """Return the next message, or ``None`` once the link has closed."""
        ...

    @property
    def close_reason(self) -> str:
        """Say why the link closed."""
        ...

    async def close(self) -> None:
        """Close the link in bounded time."""
        ...


Dial = Callable[[], Awaitable[Link]]
"""Opens a link in bounded time, or raises :class:`CallError`."""


class Caller:
    """One connection; texts are spoken one after another. :meth:`call` makes one.

    ``now`` is a monotonic clock's seconds.
    """

    def __init__(
        self,
        link: Link,
        spec: CodecSpec,
        config: m.SessionConfig,
        *,
        mode: Mode = Mode.UNKNOWN,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.announced: m.CodecStart | None = None
        """The newest ``codec.start``, whether or not it fits."""
        self._link = link
        self._wire = ClientSession(spec, mode)
        self._now = now
        self._heard: Heard | None = None
        self._useless = ""
        self._said = ""
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._wire.send_config(config, now())
        self._tasks = {asyncio.create_task(self._read())}

    @classmethod
    async def call(
        cls,
        dial: Dial,
        spec: CodecSpec,
        config: m.SessionConfig,
        *,
        mode: Mode = Mode.UNKNOWN,
        now: Callable[[], float] = time.perf_counter,
    ) -> Caller:
        """Dial and configure; ``Mode.PCM`` asks a server that could send codec tokens to decode itself.

        Raises:
            CallError: the server is not reached, or would not take ``config``.

        """
        link = await dial()
        try:
            caller = cls(link, spec, config, mode=mode, now=now)
        except BaseException as error:
            await link.close()
            if isinstance(error, MessageError):
                raise CallError(f"the server would not take this configuration: {error}") from None
            raise
        await caller._flush()
        return caller

    @property
    def is_usable(self) -> bool:
        """Whether another text can be asked for on this connection."""
        return self._wire.ready and not self._useless

    @property
    def mode(self) -> Mode:
        """Who decodes, as far as it is known."""
        return self._wire.mode

    async def ask(self, text: str, limit_s: float) -> Heard:
        """Have ``text`` spoken, and return when it has ended and the wire is free, or useless.

        What does not end in ``limit_s`` is incomplete, and leaves the connection useless.

        Raises:
            CallError: there is no connection any more, or no text.

        """
        if not self.is_usable:
            raise CallError(self._said or self._useless or "the connection has ended")
        try:
            self._wire.send_utterance(text, self._now())
        except MessageError as error:
            raise CallError(str(error)) from None
        # Before the flush: a server may answer before all of it is handed over.
        self._heard = heard = Heard(text, self._now())
        await self._flush()
        heard.sent_s = self._now()
        self._set_timer()
        if not await self._wait_for_the_end(heard, limit_s):
            self._useless = f"the server was not done after {limit_s:g} s"
            heard.end(Outcome.INCOMPLETE, self._useless, self._now())
        heard.mode = self._wire.mode
        return heard

    async def hang_up(self) -> None:
        """Close the connection and leave no task behind."""
        if self._timer is not None:
            self._timer.cancel()
        await self._link.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- inside -----------------------------------------------------------------------------------------

    async def _wait_for_the_end(self, heard: Heard, limit_s: float) -> bool:
        until_s = self._now() + limit_s
        alarm = asyncio.get_running_loop().call_later(limit_s, self._changed.set)
        try:
            while heard.outcome is None or not (self._wire.ready or self._useless):
                if self._now() >= until_s:
                    return False
                self._changed.clear()
                for task in self._tasks:
                    if task.done():
                        task.result()  # a mistake in here is not the server's
                await self._changed.wait()
            return True
        finally:
            alarm.cancel()

    async def _read(self) -> None:
        try:
            while (message := await self._link.receive()) is not None:
                now_s = self._now()
                if isinstance(message, str):
                    self._note(len(message.encode()))
                    self._note_start(message)
                    self._take(self._wire.receive_text(message, now_s), now_s)
                else:
                    self._note(len(message), message)
                    self._take(self._wire.receive_bytes(message, now_s), now_s)
                await self._flush()
            self._useless = self._useless or self._link.close_reason
            self._take(self._wire.receive_eof(self._said or self._link.close_reason), self._now())
        finally:
            self._changed.set()

    def _note(self, payload_bytes: int, message: bytes | None = None) -> None:
        if self._heard is None:
            return
        self._heard.received_bytes += on_the_wire_bytes(payload_bytes)
        if message is not None:
            self._heard.messages.append(message)

    def _note_start(self, text: str) -> None:
        if m.CodecStart.TYPE not in text:
            return
        with contextlib.suppress(MessageError):
            message = m.parse_from_server(text)
            if isinstance(message, m.CodecStart):
                self.announced = message

    def _take(self, events: list[Event], now_s: float) -> None:
        for event in events:
            if self._heard is not None:
                self._heard.take(event, self._wire.spec, now_s)
            if isinstance(event, LinkUseless):
                self._useless = event.reason
            elif isinstance(event, ServerSaid):
                self._said = event.message
        if self._heard is None or self._heard.outcome is not None or self._useless:
            self._changed.set()
        self._set_timer()

    async def _flush(self) -> None:
        for text in self._wire.data_to_send():
            await self._link.send(text)

    def _set_timer(self) -> None:
        deadline_s = self._wire.deadline_s
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_s is not None and not self._useless:
            delay_s = max(0.0, deadline_s - self._now())
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        now_s = self._now()
        self._take(self._wire.tick(now_s), now_s)
        task = asyncio.create_task(self._flush())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
