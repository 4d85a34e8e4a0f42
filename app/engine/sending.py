"""The way of a text to the server: a link, a decoder, a track, and a second try if all was lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from app.engine.arrivals import Arrivals
from app.engine.keeping import Keeping
from app.engine.parts import SoundOutput
from app.engine.patience import Patience
from app.engine.state import Stage
from app.engine.utterance import Utterance
from app.errors import Unreachable
from app.playback.decode_worker import DecodeWorker
from app.playback.pcm_source import PcmSource
from app.playback.speech_job import End, SpeechJob
from app.playback.track import Track
from app.session.session import Session
from decoder.wire.budget import expected_s

log = logging.getLogger("nearfield.engine")

TRIES = 2
"""A text that was lost with its link before anything came of it is sent once more, then dropped."""


class Sending:
    """Sends one utterance at a time."""

    def __init__(
        self,
        session: Session,
        keeping: Keeping,
        arrivals: Arrivals,
        patience: Patience,
        prepared: Callable[[], Awaitable[None]],
        worker: DecodeWorker,
        source: PcmSource,
        output: SoundOutput,
        clock: Callable[[], float],
    ) -> None:
        # prepared waits for the decoder, if one is needed.
        self._session = session
        self._keeping = keeping
        self._arrivals = arrivals
        self._patience = patience
        self._prepared = prepared
        self._worker = worker
        self._source = source
        self._output = output
        self._clock = clock

    async def send(self, utterance: Utterance) -> None:
        """Send the text, and once more if it was lost with its link; return when nothing more will come.

        Raises:
            NearfieldError: the server or the decoder cannot be used.
            DecoderError: the decoder cannot be used.

        """
        for tries_left in reversed(range(TRIES)):
            utterance.advance(Stage.CONNECTING)
            await self._unless_stopped(utterance, self._send(utterance))
            await utterance.received.wait()
            if utterance.is_done:
                return
            if not tries_left or not utterance.was_lost_unheard:
                break
            log.info("the link was lost before anything came, sending the text once more")
            utterance.start_over()
        if utterance.job is not None:
            self._worker.put(utterance.job, End())

    async def _send(self, utterance: Utterance) -> None:
        """Have a decoder and a link, send the text, and have its track played.

        A changed default device is followed meanwhile: the first sound is later than the text.
        """
        is_first_try = utterance.job is None
        output = asyncio.create_task(self._follow_device(utterance.follows is None))
        try:
            await self._send_text(utterance)
            await output
            if is_first_try and utterance.job is not None and not utterance.is_done:
                self._source.add(utterance.job.track)
        finally:
            output.cancel()

    async def _follow_device(self, is_silent: bool) -> None:
        if not is_silent:
            return
        try:
            await self._output.between_utterances()
        except Exception:
            log.exception("the default device could not be followed, the open one is used")

    async def _send_text(self, utterance: Utterance) -> None:
        await self._reach(utterance)
        await self._prepared()
        await self._reach(utterance)  # at once, unless the link was lost meanwhile
        if not utterance.is_done:
            self._begin(utterance)

    async def _reach(self, utterance: Utterance) -> None:
        if reason := self._patience.why_dropped(utterance.requested_s, self._clock()):
            raise Unreachable(reason)
        give_up_s = self._patience.give_up_s(utterance.requested_s)
        with self._keeping.standing_aside():
            await self._session.ensure_ready(utterance.how, give_up_s)

    async def _unless_stopped(self, utterance: Utterance, work: Coroutine[Any, Any, None]) -> None:
        """Do ``work``, but only until the utterance is stopped."""
        task = asyncio.create_task(work)
        stopped = asyncio.create_task(utterance.received.wait())
        try:
            await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not utterance.is_done:
                await task
        finally:
            for each in (task, stopped):
                each.cancel()
            await asyncio.gather(task, stopped, return_exceptions=True)

    def _begin(self, utterance: Utterance) -> None:
        """Send the text; from here on what the session tells is of this utterance."""
        if utterance.job is None:
            track = Track(self._source.rate_hz)
            utterance.job = SpeechJob(utterance.number, track, expected_s(utterance.text), utterance.sinks)
            self._worker.submit(utterance.job)
        self._arrivals.begin(utterance)
        utterance.advance(Stage.WAITING)
        utterance.meter.text_was_sent(self._clock())
        self._session.speak(utterance.text)
        self._keeping.text_was_sent()
