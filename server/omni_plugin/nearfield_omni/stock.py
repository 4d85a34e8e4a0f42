"""PCM sessions: the stock loop over the stock handler's methods, with an inbox in front of it.

The stock loop awaits each generation before it reads the next message, so that no cancel can reach it. Here
what a client says waits in an inbox and is taken in the same order, at the same moments as there; only a
cancel goes past the queue. Whoever sends none cannot tell the two apart.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from decoder.wire.messages import (
    InputCancel,
    InputCancelled,
    InputDone,
    InputText,
    SessionDone,
    well_formed,
)
from decoder.wire.server import CONFIG_OUT_OF_PLACE

from .outgoing import Cut, Outgoing

_FORGOTTEN = (InputText.TYPE, InputDone.TYPE)
"""What a cancel takes out of the inbox."""


class StockSocket:
    """What the stock methods send to: a queue, in the shape of a WebSocket."""

    def __init__(self, outgoing: Outgoing) -> None:
        self._outgoing = outgoing
        self.marks_cancelled = False
        """The next ``audio.done`` says that it was cancelled."""

    async def send_json(self, message: dict[str, Any]) -> None:
        """Send a message."""
        if self.marks_cancelled and message.get("type") == "audio.done":
            message = {**message, "cancelled": True}
        self._outgoing.put(well_formed(json.dumps(message, separators=(",", ":"), ensure_ascii=False)))

    async def send_bytes(self, data: bytes) -> None:
        """Send sound; returns when it has left, so that the engine is read no faster than the client."""
        self._outgoing.put(data)
        await self._outgoing.drained()


class StockSession:
    """A session of PCM on a connection that has had ``utterances`` so far.

    :meth:`run` is a task of its own; cancelled, it stops what is being spoken and waits until the engine has.
    ``changed`` is called when :attr:`deadline_s` may have moved by itself.
    """

    def __init__(
        self, handler: Any, outgoing: Outgoing, utterances: int, changed: Callable[[], None]
    ) -> None:
        self.utterances = utterances
        """Utterances of the connection so far."""
        self._handler = handler
        self._outgoing = outgoing
        self._socket = StockSocket(outgoing)
        self._changed = changed
        self._config: Any = None
        self._splitter: Any = None
        self._sentences = 0
        self._is_open = False
        self._inbox: deque[tuple[Any, str]] = deque()
        """Messages, each with its type: a cancel looks for some of them, and they may be long."""
        self._arrived = asyncio.Event()
        self._is_at_rest = True
        self._generating: asyncio.Task[None] | None = None
        self._is_cancelled = False
        self._further_cancels = 0
        self._last_heard_s = time.monotonic()

    @property
    def is_busy(self) -> bool:
        """Whether an utterance is open: it is being spoken, or has text and waits for more."""
        return self._is_open or not self._is_at_rest or bool(self._inbox)

    @property
    def deadline_s(self) -> float | None:
        """The instant at which a client that says nothing is given up; ``None`` while it is being served."""
        if self._inbox or not self._is_at_rest:
            return None
        return self._last_heard_s + float(self._handler._idle_timeout)

    async def configure(self, message: dict[str, Any]) -> bool:
        """Take a ``session.config`` now; false if it was refused, and told so."""
        self._last_heard_s = time.monotonic()
        config = await self._handler._build_config(self._socket, message)
        if config is None:
            return False
        self._config = config
        self._renew_splitter()
        return True

    def receive(self, raw: str, kind: Any) -> None:
        """Take a message of the type ``kind``: a cancel at once, any other in its turn."""
        self._last_heard_s = time.monotonic()
        if kind == InputCancel.TYPE:
            self._cancel()
        else:
            self._inbox.append((kind, raw))
            self._arrived.set()

    async def run(self) -> None:
        """Do what the client says, one after the other, until it closes the session."""
        while True:
            while not self._inbox:
                self._is_at_rest = True
                self._last_heard_s = time.monotonic()
                self._changed()
                self._arrived.clear()
                await self._arrived.wait()
            self._is_at_rest = False
            if not await self._take(self._inbox.popleft()[1]):
                self._outgoing.put(Cut(1000))
                return

    # -- what a client says -----------------------------------------------------------------------------

    async def _take(self, raw: str) -> bool:
        """Do what a message asks for; false if that is the end."""
        try:
            message = await self._handler._parse_message(self._socket, raw)
        except RecursionError:  # nested deeper than the parser goes
            await self._error("Invalid JSON message")
            return True
        if message is None:
            return True
        kind = message.get("type")
        if kind == "session.close":
            return False
        if kind == "session.config":
            if self._is_open:
                await self._error(f"{CONFIG_OUT_OF_PLACE}; send input.done first")
            else:
                await self.configure(message)
        elif kind == "input.text":
            await self._append(message.get("text", ""))
        elif kind == "input.done":
            if await self._speak(self._splitter.flush()):
                self._end()
        else:
            await self._error(f"Unknown message type: {kind}")
        return True

    async def _append(self, text: Any) -> None:
        if not isinstance(text, str):
            await self._error("input.text requires a string value")
            return
        self._is_open = self._is_open or bool(text)
        await self._speak(self._splitter.feed(text))

    async def _speak(self, texts: list[str]) -> bool:
        """Speak units one after the other; false if they were cancelled, and the utterance has ended."""
        for text in texts:
            self._generating = task = asyncio.ensure_future(
                self._handler._generate_and_send(
                    self._socket,
                    self._config,
                    text,
                    utterance_index=self.utterances,
                    sentence_index=self._sentences,
                )
            )
            self._sentences += 1
            try:
                await asyncio.wait([task])
            finally:
                self._generating = None
                if not task.done():  # the connection is over
                    task.cancel()
                    await asyncio.wait([task])
            if self._is_cancelled:
                self._end_cancelled()
                return False
            task.result()
        return True

    # -- ends -------------------------------------------------------------------------------------------

    def _cancel(self) -> None:
        """Abort what is being spoken, and forget what was to follow it."""
        flushed = any(kind == InputDone.TYPE for kind, _ in self._inbox)
        self._inbox = deque((kind, raw) for kind, raw in self._inbox if kind not in _FORGOTTEN)
        if self._is_cancelled:
            self._further_cancels += 1
        elif self._generating is not None:
            self._is_cancelled = True
            self._socket.marks_cancelled = True
            self._generating.cancel()
        elif flushed:
            self._end()
        else:
            self._renew_splitter()
            self._sentences = 0
            self._is_open = False
            self._outgoing.put(InputCancelled().to_json())

    def _end_cancelled(self) -> None:
        self._is_cancelled = False
        self._socket.marks_cancelled = False
        self._end()
        for _ in range(self._further_cancels):
            self._outgoing.put(InputCancelled().to_json())
        self._further_cancels = 0

    def _end(self) -> None:
        """End the utterance."""
        self._outgoing.put(SessionDone(self.utterances, self._sentences).to_json())
        self.utterances += 1
        self._sentences = 0
        self._is_open = False
        self._renew_splitter()

    def _renew_splitter(self) -> None:
        from vllm_omni.entrypoints.openai.speech_text_splitter import SpeechTextSplitter

        self._splitter = SpeechTextSplitter(self._config.split_granularity)

    async def _error(self, text: str) -> None:
        await self._socket.send_json({"type": "error", "message": text})
