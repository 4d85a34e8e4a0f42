"""One utterance of codec tokens: from the engine's outputs to the messages of a session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from decoder.wire.coalescing import Coalescer, Lead
from decoder.wire.packets import Flags
from decoder.wire.server import NO_CODEC_MODE, ServerSession, UtteranceRequested

from .pipeline import ROUTE_VARIABLE
from .rows import RowReader
from .service import Generation, Service

log = logging.getLogger("vllm.nearfield_omni")

NO_ROWS = f"no codec tokens came out of the engine: start it with another value of {ROUTE_VARIABLE}"
LAST_WORD_S = 1.0
"""After an abort was acknowledged, so long may the end of its outputs take."""


class EngineFailure(Exception):
    """The engine has delivered an error in place of an output."""


def refuse_failure(output: Any) -> None:
    """Raise :class:`EngineFailure` if ``output`` says that the request has failed."""
    if error := getattr(output, "error", None):
        raise EngineFailure(str(error))
    reasons = {getattr(completion, "finish_reason", None) for completion in output.outputs}
    if broken := reasons & {"abort", "error"}:
        raise EngineFailure(f"the engine ended the request with {broken.pop()!r}")


class Speech:
    """Speaks one request into a session; :meth:`run` is a task of its own.

    ``flush`` passes on what the session wants to send, ``drained`` returns when it has left.
    """

    def __init__(
        self,
        request: UtteranceRequested,
        session: ServerSession,
        service: Service,
        flush: Callable[[], None],
        drained: Callable[[], Awaitable[None]],
    ) -> None:
        self._request = request
        self._session = session
        self._service = service
        self._flush = flush
        self._drained = drained
        self._generation: Generation | None = None
        self._unit_is_open = False
        self._is_over = False
        is_asked = request.config.packet_frames is not None
        self._lead = Lead(session.spec.frame_s) if is_asked else None

    async def run(self) -> None:
        """Speak every unit; what fails is told to the client. Does not end the utterance."""
        if self._is_over:
            return
        if not self._service.sends_codec:
            self._session.send_error(NO_CODEC_MODE)
            return
        config = self._request.config
        for number, text in enumerate(
            self._service.split(self._request.text, config.split_granularity or "none")
        ):
            try:
                await self._speak_unit(text)
            except Exception as error:  # whatever the engine raises, the session goes on
                self._fail(number, error)
            if self._is_over:
                return

    def end_cancelled(self) -> None:
        """End the unit at hand, if there is one, as cancelled; nothing is sent after that."""
        self._is_over = True
        self._end_unit(cancelled=True)

    async def abort(self, task: asyncio.Task[None]) -> None:
        """Have the engine stop, and the ``task`` that runs this speech; returns when both have."""
        self._is_over = True
        try:
            if self._generation is not None:
                await self._generation.abort()
                # The engine's last word is on its way: a generator that reads it ends without another abort.
                await asyncio.wait([task], timeout=LAST_WORD_S)
        finally:
            task.cancel()
        await asyncio.wait([task])

    async def _speak_unit(self, text: str) -> None:
        self._session.start_unit(text)
        self._unit_is_open = True
        self._flush()
        self._generation = generation = await self._service.begin(text, self._request.config)
        try:
            async with generation as outputs:
                generation.is_complete = await self._send_all(generation, outputs)
        finally:
            self._generation = None
        if not self._is_over:
            self._end_unit()

    async def _send_all(self, generation: Generation, outputs: Any) -> bool:
        """Send what the engine delivers, to the end of ``outputs``; true if that was all of it.

        Outputs closed before their end count as a client that has left, in the log and metrics of the engine.
        """
        spec = self._session.spec
        reader = RowReader(spec)
        coalescer = Coalescer(self._request.config.packet_frames)
        has_begun = has_ended = False
        if self._is_over:
            return False
        async for output in outputs:
            if self._is_over or has_ended:
                continue
            refuse_failure(output)
            payload, is_last = output.multimodal_output, bool(output.finished)
            fault = generation.fault(output) if is_last else None
            frames = reader.take(payload, is_last=is_last)
            if len(frames) and not has_begun:
                has_begun = True
                if (reference := reader.reference(payload)) is not None:
                    self._session.send_context(reference)
            packets = coalescer.take(frames)
            if is_last and (rest := coalescer.flush()) is not None:
                packets.append(rest)
            for packet in packets:
                if self._lead is not None:
                    await asyncio.sleep(self._lead.hold_s(len(packet), asyncio.get_running_loop().time()))
                    if self._is_over:
                        break
                ends = is_last and fault is None and packet is packets[-1]
                self._session.send_frames(packet, Flags.EOS if ends else Flags.NONE)
                self._flush()
            self._flush()
            if fault is not None:
                raise fault
            has_ended = is_last
            await self._drained()
        if not self._is_over and not has_ended:
            raise EngineFailure("the engine ended the request before its last output")
        if has_ended and not reader.seen:
            raise EngineFailure(NO_ROWS)
        return has_ended

    def _fail(self, number: int, error: Exception) -> None:
        if self._is_over:
            return
        where = f"utterance {self._request.utterance_index}, sentence {number}"
        log.error("generation failed for %s: %s: %s", where, type(error).__name__, error)
        self._is_over = True
        self._session.send_error(f"Generation failed for {where}: {error}")
        self._end_unit(error=True)

    def _end_unit(self, *, error: bool = False, cancelled: bool = False) -> None:
        if self._unit_is_open:
            self._unit_is_open = False
            self._session.end_unit(error=error, cancelled=cancelled)
            self._flush()
