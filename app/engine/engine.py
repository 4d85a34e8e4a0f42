"""The engine: takes texts, has them spoken, and tells what happens. All of it in one event loop.

Texts are spoken one after the other. While one is heard, the next is already being received, so that
there is no pause between them; no more than one is ahead.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.audio.resample import StreamResampler
from app.engine.events import (
    DecoderState,
    EngineEvent,
    LinkStatus,
    Notice,
    Progress,
    Severity,
    StageChanged,
    UtteranceDone,
)
from app.engine.state import Stage
from app.engine.utterance import Utterance
from app.errors import NearfieldError
from app.metrics.meter import Meter
from app.playback import facts
from app.playback.decode_worker import DecodeWorker
from app.playback.pcm_source import PcmSource
from app.playback.speech_job import Context, End, Frames, NewUnit, PcmSink, Samples, SpeechJob
from app.playback.track import Track
from app.session.session import BytesArrived, LinkChanged, LinkState, Session, SessionEvent
from app.text import clean, is_speakable
from decoder.wire import events as wire
from decoder.wire.assembler import Anomaly, AnomalyKind
from decoder.wire.budget import expected_s
from decoder.wire.messages import SessionConfig

log = logging.getLogger("nearfield.engine")

MONITOR_S = 0.02
PROGRESS_EVERY = 5
"""Progress is told with every fifth look: ten times a second."""
CLOSE_S = 2.0
TRIES = 2
"""A text that was lost with its link before anything came of it is sent once more, then dropped."""


_AUDIBLE_ANOMALIES = {
    AnomalyKind.GAP,
    AnomalyKind.REFUSED,
    AnomalyKind.STEP_BACK,
    AnomalyKind.BAD_PACKET,
    AnomalyKind.BAD_CONTEXT,
}


class SoundOutput(Protocol):
    """What the engine needs of the sound output's keeper."""

    async def start(self) -> None:
        """Open the output."""
        ...

    async def between_utterances(self) -> None:
        """Follow a changed default device; called while nothing is played."""
        ...

    async def aclose(self) -> None:
        """Close the output."""
        ...


@dataclass(frozen=True)
class Parts:
    """What an engine is made of; see :mod:`app.engine.build`."""

    session: Callable[[Callable[[SessionEvent], None]], Session]
    worker: Callable[[Callable[[facts.DecodeFact], None]], DecodeWorker]
    output: Callable[[PcmSource, Callable[[EngineEvent], None]], SoundOutput]
    source: PcmSource


class Engine:
    """Speaks texts; made once, started once, closed once."""

    def __init__(
        self,
        parts: Parts,
        session_config: SessionConfig,
        patience_s: float = 0.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._session_config = session_config
        self._patience_s = patience_s
        self._clock = clock
        self._source = parts.source
        self._session = parts.session(self._on_session_event)
        self._worker = parts.worker(self._on_decode_fact)
        self._output = parts.output(parts.source, self._tell)
        self._listeners: list[Callable[[EngineEvent], None]] = []
        self._count = 0
        self._waiting: deque[Utterance] = deque()
        self._active: list[Utterance] = []
        """Utterances that were begun and are not done, oldest first."""
        self._receiving: Utterance | None = None
        self._changed = asyncio.Event()
        self._mode = wire.Mode.UNKNOWN
        self._decoder: asyncio.Future[None] | None = None
        self._anomalies_told: set[AnomalyKind] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    # -- what a front end does --------------------------------------------------------------------------

    def subscribe(self, listener: Callable[[EngineEvent], None]) -> None:
        """Have ``listener`` called with every event, in the event loop."""
        self._listeners.append(listener)

    async def start(self) -> None:
        """Open the sound output and begin to prepare the decoder; returns before that is ready."""
        self._loop = asyncio.get_running_loop()
        self._decoder = self._loop.create_future()
        self._tell(DecoderState(False, "preparing"))
        self._worker.start()
        await self._output.start()
        self._spawn(self._speak_all())
        self._spawn(self._monitor())

    async def connect(self) -> None:
        """Connect to the server now rather than with the first text.

        Raises:
            SessionError: it cannot be reached, or it refuses.

        """
        await self._session.ensure_ready(self._session_config)

    async def prepared(self) -> None:
        """Wait until the decoder is warm.

        Raises:
            NearfieldError: it cannot be loaded.

        """
        assert self._decoder is not None, "the engine is started first"
        await asyncio.shield(self._decoder)

    def speak(self, text: str, sinks: Sequence[PcmSink] = ()) -> asyncio.Future[UtteranceDone]:
        """Queue ``text``; the future ends when the last of it was heard, however it ended.

        Raises:
            ValueError: there is nothing to say in ``text``.

        """
        text = clean(text)
        if not is_speakable(text):
            raise ValueError("there is nothing to say in this text")
        now_s = self._clock()
        self._count += 1
        finished: asyncio.Future[UtteranceDone] = asyncio.get_running_loop().create_future()
        utterance = Utterance(
            number=self._count,
            text=text,
            meter=Meter(now_s, self._source.rate_hz),
            sinks=sinks,
            give_up_s=now_s + self._patience_s,
            finished=finished,
        )
        self._waiting.append(utterance)
        self._tell(StageChanged(utterance.number, text, Stage.QUEUED))
        self._changed.set()
        return finished

    async def cancel(self) -> None:
        """Be silent at once: stop what is heard, forget what waits, tell the server."""
        self._source.stop()
        for utterance in [*self._active, *self._waiting]:
            self._stop(utterance)
        self._waiting.clear()
        await self._session.cancel()

    def pause(self) -> None:
        """Hold the sound where it is; no sample is lost."""
        self._source.pause()

    def resume(self) -> None:
        """Go on where the sound was held."""
        self._source.resume()

    async def aclose(self) -> None:
        """Stop everything, tell the server, release the device; within a few seconds."""
        await self.cancel()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._session.aclose()
        await self._output.aclose()
        if not await asyncio.to_thread(self._worker.close, CLOSE_S):
            log.warning("the decode thread is stuck and is left behind")

    # -- speaking ---------------------------------------------------------------------------------------

    async def _speak_all(self) -> None:
        while True:
            await self._wait_for(lambda: bool(self._waiting) and len(self._active) < 2)
            utterance = self._waiting.popleft()
            if not self._active:
                await self._output.between_utterances()
            self._active.append(utterance)
            self._changed.set()
            try:
                await self._speak(utterance)
            except NearfieldError as error:
                self._fail(utterance, str(error))
            except Exception as error:
                log.exception("utterance %d ended in an unexpected way", utterance.number)
                self._fail(utterance, f"unexpected: {error!r}")

    async def _speak(self, utterance: Utterance) -> None:
        for _ in range(TRIES):
            self._advance(utterance, Stage.CONNECTING)
            if not await self._unless_stopped(utterance, self._get_ready(utterance.give_up_s)):
                return
            self._begin(utterance)
            await utterance.received.wait()
            if not self._was_lost_unheard(utterance):
                break
            log.info("the link was lost before anything came, sending the text once more")
            utterance.outcome, utterance.link_lost = None, False
            utterance.received.clear()
        if utterance.job is not None:
            self._worker.put(utterance.job, End())

    async def _get_ready(self, give_up_s: float) -> None:
        await self.prepared()
        await self._session.ensure_ready(self._session_config, give_up_s)

    async def _unless_stopped(self, utterance: Utterance, work: Coroutine[None, None, None]) -> bool:
        """Do ``work`` unless the utterance is stopped meanwhile; false if it was."""
        task = asyncio.create_task(work)
        stopped = asyncio.create_task(utterance.received.wait())
        try:
            await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if utterance.is_done:
                return False
            await task
            return True
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
            self._source.add(track)
        self._receiving = utterance
        self._advance(utterance, Stage.WAITING)
        utterance.meter.text_was_sent(self._clock())
        self._session.speak(utterance.text)

    def _was_lost_unheard(self, utterance: Utterance) -> bool:
        return (
            utterance.link_lost
            and utterance.outcome is wire.Outcome.INCOMPLETE
            and utterance.stage is Stage.WAITING
        )

    def _stop(self, utterance: Utterance) -> None:
        if utterance.job is not None:
            self._worker.cancel(utterance.job)
        utterance.conclude(wire.Outcome.CANCELLED, "stopped")
        utterance.outcome = wire.Outcome.CANCELLED
        self._finish(utterance)

    def _fail(self, utterance: Utterance, reason: str) -> None:
        utterance.conclude(wire.Outcome.FAILED, reason)
        if utterance.job is None:
            self._finish(utterance)
        else:
            self._worker.put(utterance.job, End())

    def _finish(self, utterance: Utterance) -> None:
        """Tell the end of ``utterance``, once."""
        if utterance.is_done:
            return
        self._look_at_track(utterance)
        self._advance(utterance, Stage.DONE)
        utterance.received.set()
        if self._receiving is utterance:
            self._receiving = None
        with contextlib.suppress(ValueError):
            self._active.remove(utterance)
        self._changed.set()
        done = UtteranceDone(
            utterance.number,
            utterance.text,
            utterance.outcome or wire.Outcome.COMPLETE,
            utterance.reason,
            utterance.meter.report(),
        )
        self._tell(done)
        if not utterance.finished.done():
            utterance.finished.set_result(done)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _wait_for(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    # -- what the server brings -------------------------------------------------------------------------

    def _on_session_event(self, event: SessionEvent) -> None:
        match event:
            case LinkChanged():
                self._on_link(event)
            case wire.ModeKnown():
                self._mode = event.mode
                self._tell(LinkStatus(LinkState.READY, event.mode, event.reason))
                if event.mode is wire.Mode.PCM:
                    self._tell(Notice(Severity.INFO, event.reason))
            case wire.ServerSaid():
                log.info("the server said: %s", event.message)
            case Anomaly():
                self._on_anomaly(event)
            case _:
                if self._receiving is not None:
                    self._on_utterance_event(self._receiving, event)

    def _on_utterance_event(self, utterance: Utterance, event: SessionEvent) -> None:
        job = utterance.job
        assert job is not None, "an utterance that is received has a job"
        now_s = self._clock()
        match event:
            case BytesArrived():
                utterance.meter.bytes_arrived(event.count)
            case wire.UnitStarted():
                self._worker.put(job, NewUnit())
            case wire.ContextArrived():
                self._worker.put(job, Context(event.codes))
            case wire.FramesArrived():
                utterance.meter.sound_arrived(now_s, len(event.codes))
                self._advance(utterance, Stage.BUFFERING)
                self._worker.put(job, Frames(event.codes, now_s, event.fresh))
            case wire.PcmArrived():
                utterance.meter.sound_arrived(now_s, 0)
                self._advance(utterance, Stage.BUFFERING)
                self._put_samples(utterance, self._at_our_rate(utterance, event.pcm, event.rate_hz), now_s)
            case wire.UtteranceEnded():
                if utterance.resampler is not None:
                    self._put_samples(utterance, utterance.resampler.flush(), now_s)
                utterance.conclude(event.outcome, event.reason)
                self._receiving = None
                utterance.received.set()

    def _at_our_rate(
        self, utterance: Utterance, pcm: NDArray[np.float32], rate_hz: int
    ) -> NDArray[np.float32]:
        if rate_hz == self._source.rate_hz:
            return pcm
        if utterance.resampler is None:
            utterance.resampler = StreamResampler(rate_hz, self._source.rate_hz)
        return utterance.resampler.push(pcm)

    def _put_samples(self, utterance: Utterance, pcm: NDArray[np.float32], now_s: float) -> None:
        if utterance.job is not None and len(pcm):
            utterance.meter.samples_arrived(now_s, len(pcm))
            self._worker.put(utterance.job, Samples(pcm, now_s))

    def _on_link(self, event: LinkChanged) -> None:
        if event.state is LinkState.OFFLINE and self._receiving is not None:
            self._receiving.link_lost = True
        if event.state is not LinkState.READY:
            self._mode = wire.Mode.UNKNOWN
        self._tell(LinkStatus(event.state, self._mode, event.detail, event.retry_in_s))

    def _on_anomaly(self, anomaly: Anomaly) -> None:
        known = anomaly.kind in self._anomalies_told
        self._anomalies_told.add(anomaly.kind)
        level = logging.DEBUG if known else logging.WARNING
        log.log(level, "%s (%d): %s", anomaly.kind.value, anomaly.count, anomaly.detail)
        if not known and anomaly.kind in _AUDIBLE_ANOMALIES:
            text = f"the server's stream is damaged: {anomaly.kind.value} ({anomaly.detail})"
            self._tell(Notice(Severity.WARNING, text))

    # -- what the decode thread tells -------------------------------------------------------------------

    def _on_decode_fact(self, fact: facts.DecodeFact) -> None:
        """Hop from the decode thread, which calls this, to the event loop."""
        assert self._loop is not None, "the worker is started by the engine"
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody is left to be told
            self._loop.call_soon_threadsafe(self._take_fact, fact)

    def _take_fact(self, fact: facts.DecodeFact) -> None:
        match fact:
            case facts.DecoderReady():
                self._on_decoder_ready(fact)
            case facts.DecoderBroken():
                self._on_decoder_broken(fact.error)
            case _:
                utterance = next((u for u in self._active if u.number == fact.utterance), None)
                if utterance is not None:
                    self._take_utterance_fact(utterance, fact)

    def _take_utterance_fact(self, utterance: Utterance, fact: facts.DecodeFact) -> None:
        match fact:
            case facts.ChunkDecoded():
                utterance.meter.chunk_was_decoded(fact.started_s, fact.ended_s, fact.samples)
            case facts.LeadingSilence():
                utterance.meter.leading_silence_s = fact.silence_s
            case facts.UtteranceDecoded():
                utterance.decoded = True
            case facts.DecodeFailed():
                utterance.decoded = True
                utterance.conclude(wire.Outcome.FAILED, f"the decoder failed: {fact.error}")
                if self._receiving is utterance:
                    self._receiving = None
                    utterance.received.set()
                    self._spawn(self._session.cancel())
            case facts.SinkFailed():
                self._tell(Notice(Severity.ERROR, f"the recording stopped: {fact.error}"))
            case facts.PcmRepaired():
                what = f"{fact.not_finite} samples were no numbers, {fact.clipped} beyond full scale"
                self._tell(Notice(Severity.WARNING, f"the decoder's sound was mended: {what}"))
            case facts.SamplesMissing():
                self._tell(Notice(Severity.WARNING, f"the decoder left out {fact.samples} samples"))

    def _on_decoder_ready(self, fact: facts.DecoderReady) -> None:
        detail = f"loaded in {fact.load_s:.1f} s, warm in {fact.warm_up_s:.1f} s, RTF {fact.rtf:.2f}"
        self._tell(DecoderState(True, detail, fact.rtf))
        if fact.rtf > 1:
            text = f"this machine decodes slower than real time (RTF {fact.rtf:.2f}): speech starts later"
            self._tell(Notice(Severity.WARNING, text))
        if self._decoder is not None and not self._decoder.done():
            self._decoder.set_result(None)

    def _on_decoder_broken(self, error: Exception) -> None:
        self._tell(DecoderState(False, str(error)))
        if self._decoder is not None and not self._decoder.done():
            self._decoder.set_exception(NearfieldError(str(error)))
            self._decoder.exception()  # told here; awaiting it later tells again

    # -- what is heard ----------------------------------------------------------------------------------

    async def _monitor(self) -> None:
        """Look at the tracks while there are any: they are written by threads that tell nobody."""
        looks = 0
        while True:
            await self._wait_for(lambda: bool(self._active))
            await asyncio.sleep(MONITOR_S)
            looks += 1
            for utterance in list(self._active):
                self._look(utterance)
                if looks % PROGRESS_EVERY == 0 and not utterance.is_done:
                    report = utterance.meter.report()
                    self._tell(Progress(utterance.number, utterance.stage, report))

    def _look(self, utterance: Utterance) -> None:
        self._look_at_track(utterance)
        if utterance.job is None:
            return
        track, now_s = utterance.job.track, self._clock()
        if track.finished_dac_s is not None and track.finished_dac_s <= now_s and utterance.outcome:
            self._finish(utterance)
        elif track.first_dac_s is None or track.first_dac_s > now_s:
            return
        elif utterance.decoded:
            self._advance(utterance, Stage.DRAINING)
        else:
            utterance.meter.more_is_to_come(track.buffered_s)
            self._advance(utterance, Stage.STALLED if track.is_dry else Stage.PLAYING)

    def _look_at_track(self, utterance: Utterance) -> None:
        if utterance.job is None:
            return
        track = utterance.job.track
        utterance.meter.sound_was_heard(
            track.first_read_s, track.first_dac_s, track.buffered_s, track.underruns, track.gap_s
        )

    # -- telling ----------------------------------------------------------------------------------------

    def _advance(self, utterance: Utterance, stage: Stage) -> None:
        if utterance.stage is not stage and utterance.may_become(stage):
            utterance.stage = stage
            self._tell(StageChanged(utterance.number, utterance.text, stage))

    def _tell(self, event: EngineEvent) -> None:
        for listener in self._listeners:
            listener(event)
