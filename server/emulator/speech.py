"""One utterance on its way from text to messages: unit by unit, packet by packet, at its pace."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from decoder.wire.coalescing import Lead, packet_sizes
from decoder.wire.packets import Codes, Flags
from decoder.wire.server import NO_CODEC_MODE, ServerSession, UtteranceRequested
from server.emulator.mutate import Mutation
from server.emulator.pacer import Pacer
from server.emulator.packing import packets
from server.emulator.records import UtteranceRecord
from server.emulator.scenario import Scenario
from server.emulator.sentences import split_units
from server.emulator.source import unit_frames

if TYPE_CHECKING:
    from server.emulator.talkers import Talker

log = logging.getLogger("nearfield.emulator")


class GenerationError(Exception):
    """The talker cannot say this; the text goes to the client."""


class Speech:
    """Speaks one request into a session; :meth:`run` is a task, and may be cancelled at every packet.

    ``flush`` passes on what the session wants to send, ``drained`` returns when it has left.
    """

    def __init__(
        self,
        request: UtteranceRequested,
        session: ServerSession,
        talker: Talker,
        scenario: Scenario,
        record: UtteranceRecord,
        flush: Callable[[], None],
        drained: Callable[[], Awaitable[None]],
    ) -> None:
        self.request = request
        self.scenario = scenario
        self.record = record
        self.mutation = Mutation(scenario, talker.spec)
        self._session = session
        self._talker = talker
        self._flush = flush
        self._drained = drained
        self._rng = random.Random(f"{scenario.seed}/{record.session}/{record.index}")
        self._pacer = Pacer(scenario, talker.spec.frame_rate_hz, self._rng)
        self._pcm = not (scenario.speaks_codec and request.wants_codec)
        self._unit_is_open = False
        self._frames = 0
        self._sizes = packet_sizes(None)
        is_asked = request.config.packet_frames is not None and not self._pcm
        self._lead = Lead(talker.spec.frame_s) if is_asked else None

    async def run(self) -> None:
        """Speak every unit; what fails is told to the client."""
        await asyncio.sleep(self.scenario.first_frame_delay_s)
        if self.scenario.kind == "no-codec-adapter" and self.request.wants_codec:
            self._session.send_error(NO_CODEC_MODE)
            return
        units = split_units(self.request.text, self.request.config.split_granularity)
        for number, text in enumerate(units):
            try:
                await self._speak_unit(text)
            except Exception as error:  # whatever a talker raises, the session goes on
                if not isinstance(error, GenerationError):
                    log.exception("the talker failed")
                where = f"utterance {self.request.utterance_index}, sentence {number}"
                self._session.send_error(
                    self.scenario.error_text or f"Generation failed for {where}: {error}"
                )
                self._end_unit(error=True)
                return

    def end_cancelled(self) -> None:
        """End the unit at hand, if there is one, as cancelled."""
        self.record.cancelled_at = self.record.frames
        self._end_unit(cancelled=True)

    async def _speak_unit(self, text: str) -> None:
        self._start_unit(text)
        self._check_voice()
        if self.scenario.kind == "stock-talker-only":
            self._end_unit()
            return
        await self._send_context(text)
        s = self.scenario
        self._sizes = packet_sizes(None if self._pcm else self.request.config.packet_frames)
        source = unit_frames(self._talker, s, self.request.config, text, pcm=self._pcm)
        sized = packets(
            source,
            self._next_size,
            first_frame=self._frames,
            breaks=[at for at in (s.stall_at_frame, s.error_at_frame) if at is not None],
            mark_last=s.eos == "last",
        )
        async with aclosing(source), aclosing(sized):
            async for frames, is_last in sized:
                if self._frames == s.error_at_frame:
                    raise GenerationError("the scenario says so")
                await self._send(frames, is_last)
        self._end_unit()

    async def _send_context(self, text: str) -> None:
        """Send what the voice was cloned from, if it was and the client takes it."""
        config = self.request.config
        if self._pcm or not config.accept_codec_context:
            return
        codes = await self._talker.context(text, config)
        if codes is not None:
            self._session.send_context(codes)
            self._flush()

    async def _send(self, frames: Codes, is_last: bool) -> None:
        now_s = asyncio.get_running_loop().time()
        due_s = self._pacer.due_s(self._frames, len(frames), now_s)
        if due_s > now_s:
            await asyncio.sleep(due_s - now_s)
        if self._lead is not None:
            await asyncio.sleep(self._lead.hold_s(len(frames), asyncio.get_running_loop().time()))
        self._frames += len(frames)
        if self._pcm:
            self._session.send_pcm(frames.astype("<i2").tobytes())
        else:
            self._session.send_frames(frames, Flags.EOS if is_last else Flags.NONE)
        self._flush()
        await self._drained()

    def _next_size(self) -> int:
        """Return the size of the unit's next packet; a scenario's own sizes go before the client's."""
        low, high = self.scenario.packet_frames, self.scenario.packet_frames_max
        if high is not None:
            return self._rng.randint(low or 1, high)
        return low or next(self._sizes)

    def _start_unit(self, text: str) -> None:
        if self._pcm:
            self._session.start_audio(text, self._talker.spec.sample_rate_hz)
        else:
            self._session.start_unit(text)
            if self.scenario.context_frames:
                self._session.send_context(self._talker.silence(self.scenario.context_frames))
        self._unit_is_open = True
        self.record.units.append(text)
        self._flush()

    def _end_unit(self, *, error: bool = False, cancelled: bool = False) -> None:
        if not self._unit_is_open:
            return
        self._unit_is_open = False
        if self._pcm:
            self._session.end_audio(error=error, cancelled=cancelled)
        else:
            self._session.end_unit(error=error, cancelled=cancelled)
        self._flush()

    def _check_voice(self) -> None:
        voice = (self.request.config.voice or "").strip().lower()
        is_cloned = self.request.config.task_type == "Base"
        if voice and not is_cloned and voice not in self._talker.voices:
            known = ", ".join(self._talker.voices)
            raise GenerationError(f"Invalid voice '{voice}'. Supported: {known}")
