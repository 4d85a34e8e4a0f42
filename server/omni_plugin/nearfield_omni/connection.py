"""One connection: a task that always reads, one that writes, those that speak, a timer for silence.

Codec sessions are ``ServerSession``, the very class behind the emulator; PCM sessions are the stock
handler's. A ``session.config`` decides which of them has the connection.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Any

from decoder.spec import CodecSpec
from decoder.wire.messages import MAX_MESSAGE_BYTES, ErrorMessage, SessionConfig
from decoder.wire.rules import PCM_MODE
from decoder.wire.server import (
    CONFIG_OUT_OF_PLACE,
    CancelRequested,
    CloseRequested,
    ServerEvent,
    ServerSession,
    ServerTraits,
    UtteranceRequested,
)

from .outgoing import ABNORMAL, Cut, Outgoing
from .service import Service
from .speech import Speech
from .stock import StockSession

log = logging.getLogger("vllm.nearfield_omni")

MAX_WAITING_MESSAGES = 256
"""So many answers may wait for a client that does not read; then nothing is read from it either."""
MAX_UNSPOKEN_BYTES = 4 * MAX_MESSAGE_BYTES
"""So much may a client say while it is being spoken to: what it says waits in this process."""
MAX_STOPPING = 8
"""So many generations of one client may be on their way to their end; then nothing is read from it either."""
NO_PCM_MODE = (
    "This deployment has no decoder, it cannot send PCM: ask for output_mode='codec_tokens' and decode at "
    "the client, or deploy the pipeline qwen3_tts."
)


class Connection:
    """Joins one socket to one session at a time; :meth:`run` returns when the connection has to end."""

    def __init__(self, handler: Any, websocket: Any, service: Service) -> None:
        self._handler = handler
        self._websocket = websocket
        self._service = service
        self._outgoing = Outgoing(websocket)
        self._codec = self._codec_session(0)
        self._stock: StockSession | None = None
        self._serving_stock: asyncio.Task[None] | None = None
        self._speech: Speech | None = None
        self._speaking: asyncio.Task[None] | None = None
        self._stopping: set[asyncio.Task[None]] = set()
        self._is_closing = False
        self._unspoken_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Serve until either side ends it, and leave no task and no generation behind."""
        await self._websocket.accept()
        self._watch()
        tasks = [asyncio.create_task(work) for work in (self._read(), self._outgoing.run())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._is_closing = True
            self._watch()
            for task in tasks:
                task.cancel()
            self._stop_speaking()
            if self._serving_stock is not None:
                self._serving_stock.cancel()
                tasks.append(self._serving_stock)
            results = await asyncio.gather(*tasks, *self._stopping, return_exceptions=True)
        for result in results[: len(tasks)]:
            if isinstance(result, Exception):
                # A client that has gone is no news; anything else is, but it ends this connection only.
                level = logging.INFO if _is_disconnect(result) else logging.ERROR
                log.log(level, "a speech session has ended: %s: %s", type(result).__name__, result)

    # -- the tasks --------------------------------------------------------------------------------------

    async def _read(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if self._is_closing:
                continue
            try:
                await self._receive(message.get("text"), message.get("bytes") or b"")
            except Exception as error:
                self._fail(error)
            self._watch()
            if self._outgoing.waiting > MAX_WAITING_MESSAGES:
                await self._outgoing.drained()
            if len(self._stopping) > MAX_STOPPING:
                await asyncio.wait(self._stopping, return_when=asyncio.FIRST_COMPLETED)

    async def _speak(self, speech: Speech) -> None:
        await speech.run()
        if speech is self._speech:
            self._finish()

    def _watch(self) -> None:
        """Set the timer anew: a client that says nothing until then is given up."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline_s = (self._stock or self._codec).deadline_s
        if deadline_s is not None and not self._is_closing:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, deadline_s - time.monotonic()), self._tick)

    # -- what a client says -----------------------------------------------------------------------------

    async def _receive(self, text: str | None, data: bytes) -> None:
        if text is None:
            self._handle(self._codec_in_charge().receive_bytes(data))
        elif len(text) > MAX_MESSAGE_BYTES or len(text.encode("utf-8", "replace")) > MAX_MESSAGE_BYTES:
            self._refuse("WebSocket message too large")
        elif self._is_too_much(text):
            self._say("too much text is waiting to be spoken")
            self._cut(ABNORMAL)
        else:
            await self._receive_message(text, _object(text))

    async def _receive_message(self, text: str, message: dict[str, Any]) -> None:
        kind = message.get("type")
        if kind == SessionConfig.TYPE and message.get("output_mode") in (None, PCM_MODE):
            await self._configure_pcm(text, message)
        elif kind == SessionConfig.TYPE:
            await self._configure_codec(text, message)
        elif self._stock is not None:
            self._stock.receive(text, kind)
        else:
            self._handle(self._codec.receive_text(text, time.monotonic()))

    def _is_too_much(self, text: str) -> bool:
        """Whether ``text`` fills what may wait since the session was last at rest."""
        is_busy = (self._stock or self._codec).is_busy
        self._unspoken_bytes = len(text) + (self._unspoken_bytes if is_busy else 0)
        return self._unspoken_bytes > MAX_UNSPOKEN_BYTES

    async def _configure_pcm(self, text: str, config: dict[str, Any]) -> None:
        if self._service.sends_codec:
            self._refuse(NO_PCM_MODE)
        elif self._stock is not None:
            self._stock.receive(text, SessionConfig.TYPE)
        elif self._codec.is_busy:
            self._say(CONFIG_OUT_OF_PLACE)
        else:
            stock = StockSession(self._handler, self._outgoing, self._codec.utterances, self._watch)
            if await stock.configure(config):
                self._enter_stock(stock)
            elif not self._codec.is_configured:
                self._cut(ABNORMAL)

    async def _configure_codec(self, text: str, config: dict[str, Any]) -> None:
        model = config.get("model")
        fault = await self._service.model_fault(model) if isinstance(model, str) else None
        if fault is not None:
            self._refuse(fault)
        elif self._stock is None:
            self._handle(self._codec.receive_text(text, time.monotonic()))
        elif self._stock.is_busy:
            self._say(CONFIG_OUT_OF_PLACE)
        else:
            self._leave_stock(self._stock, text)

    def _enter_stock(self, stock: StockSession) -> None:
        self._stock = stock
        self._serving_stock = asyncio.create_task(stock.run())
        self._serving_stock.add_done_callback(self._on_ended)

    def _leave_stock(self, stock: StockSession, text: str) -> None:
        """Let a codec session go on where a PCM session is, if it takes the config."""
        session = self._codec_session(stock.utterances)
        session.receive_text(text, time.monotonic())
        if session.is_configured:
            self._codec, self._stock = session, None
            if self._serving_stock is not None:
                self._serving_stock.cancel()
        else:
            # Its error stands, its end does not: the session before it goes on.
            for message in session.data_to_send():
                self._outgoing.put(message)

    def _codec_in_charge(self) -> ServerSession:
        """Return the codec session, a new one if PCM is spoken: what it refuses ends the connection."""
        if self._stock is not None:
            self._codec = self._codec_session(self._stock.utterances)
        return self._codec

    def _codec_session(self, utterances: int) -> ServerSession:
        traits = ServerTraits(
            config_timeout_s=float(self._handler._config_timeout),
            idle_timeout_s=float(self._handler._idle_timeout),
            model=self._service.model,
        )
        return ServerSession(CodecSpec(), traits, opened_s=time.monotonic(), utterances=utterances)

    # -- what follows from it ---------------------------------------------------------------------------

    def _handle(self, events: list[ServerEvent]) -> None:
        self._flush()
        for event in events:
            match event:
                case UtteranceRequested():
                    self._start(event)
                case CancelRequested():
                    self._cancel()
                case CloseRequested():
                    self._cut(event.code)
        self._watch()

    def _start(self, request: UtteranceRequested) -> None:
        self._speech = Speech(request, self._codec, self._service, self._flush, self._outgoing.drained)
        self._speaking = asyncio.create_task(self._speak(self._speech))
        self._speaking.add_done_callback(self._on_ended)

    def _on_ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """End the connection over a fault of ours: what the engine raises has been dealt with."""
        log.error("a speech session failed in the plug-in", exc_info=error)
        self._say(f"Internal error: {error}")
        self._cut(ABNORMAL)

    def _cancel(self) -> None:
        if self._speech is not None:
            self._speech.end_cancelled()
            self._stop_speaking()
            self._finish()

    def _finish(self) -> None:
        self._speech = self._speaking = None
        events = self._codec.end_utterance(time.monotonic())
        self._handle(events)

    def _stop_speaking(self) -> None:
        """Have the engine stop, once; what comes of it is waited for elsewhere."""
        speech, task = self._speech, self._speaking
        self._speech = self._speaking = None
        if speech is not None and task is not None:
            stopping = asyncio.create_task(speech.abort(task))
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)

    def _tick(self) -> None:
        self._timer = None
        if self._stock is None:
            self._handle(self._codec.tick(time.monotonic()))
        elif self._stock.deadline_s is not None and time.monotonic() >= self._stock.deadline_s:
            self._say("Idle timeout: no message received")
            self._cut(ABNORMAL)
        self._watch()

    def _refuse(self, text: str) -> None:
        """Tell a client what it cannot have; who has no session yet gets none."""
        self._say(text)
        if self._stock is None and not self._codec.is_configured:
            self._cut(ABNORMAL)

    def _say(self, text: str) -> None:
        self._outgoing.put(ErrorMessage(text).to_json())

    def _cut(self, code: int) -> None:
        self._is_closing = True
        self._stop_speaking()
        self._outgoing.put(Cut(code))
        self._watch()

    def _flush(self) -> None:
        for message in self._codec.data_to_send():
            self._outgoing.put(message)


def _object(text: str) -> dict[str, Any]:
    """Return the JSON object that ``text`` is, an empty one if it is anything else."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _is_disconnect(error: Exception) -> bool:
    """Whether ``error`` is what starlette or uvicorn raise for a client that has gone."""
    return type(error).__name__ in ("WebSocketDisconnect", "ClientDisconnected")
