"""The engine: takes texts, has them spoken, and tells what happens. All of it in one event loop.

Texts are spoken one after the other. While one is heard, the next is already being received, so that
there is no pause between them; no more than one is ahead.

::

    speak ─▶ waiting ─▶ session ──events──▶ arrivals ──items──▶ decode thread ──ring──▶ sound output
                                               │                  │ facts                  │ track
                                               ▼                  ▼                        ▼
                                           utterance ◀──────── decoding               hearing ─▶ finished
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from app.engine.agenda import Agenda
from app.engine.arrivals import Arrivals
from app.engine.decoding import Decoding
from app.engine.events import EngineEvent, PauseChanged, StageChanged, UtteranceDone
from app.engine.expiring import Expiring
from app.engine.giving_way import GivingWay
from app.engine.hearing import LOOK_S, Hearing
from app.engine.keeping import Keeping
from app.engine.listeners import Listeners
from app.engine.order import Order
from app.engine.parts import Parts, SoundOutput
from app.engine.patience import Patience
from app.engine.reading import KeptSound, Reading
from app.engine.seeking import Seeking
from app.engine.sending import Sending
from app.engine.state import Stage
from app.engine.utterance import Utterance
from app.errors import NearfieldError
from app.metrics.meter import Meter
from app.playback.speech_job import End, PcmSink
from app.session.events import SessionEvent
from app.text import clean, is_speakable
from decoder.errors import DecoderError
from decoder.wire.events import Mode, Outcome
from decoder.wire.messages import SessionConfig

__all__ = ["Engine", "Parts", "SoundOutput"]

log = logging.getLogger("nearfield.engine")

CLOSE_S = 2.0
MODE_S = 2.0
"""How long a server without a decoder on this side may take to say that it decodes itself."""


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
        self._patience = Patience(patience_s)
        self._clock = clock
        self._listeners = Listeners()
        self._count = 0
        self._readings = 0
        self._waiting: Agenda[Utterance] = Agenda()
        self._active: list[Utterance] = []
        """Utterances that were begun and are not done, oldest first."""
        self._changed = asyncio.Event()
        self._closing = False
        self._tasks: set[asyncio.Task[None]] = set()
        tell = self._listeners.tell
        self._source = parts.source
        self._decoding = Decoding(
            self._active, tell, self._on_decode_failure, lambda u: self._giving_way.sentence_is_known(u)
        )
        self._worker = parts.worker(self._decoding.emit)
        self._arrivals = Arrivals(self._worker, self._source.rate_hz, self._patience, clock, tell)
        self._giving_way = GivingWay(
            self._active,
            self._waiting,
            self._arrivals,
            self._worker,
            parts.source,
            self._finish,
            lambda: self._spawn(self._session.cancel()),
            tell,
        )
        self._expiring = Expiring(self._active, self._waiting, clock, self._giving_way.expire)
        self._session = parts.session(self._take)
        self._keeping = Keeping(self._session, session_config, tell, clock)
        self._hearing = Hearing(self._active, clock, tell, self._finish, lambda: self._output.underflows)
        self._seeking = Seeking(self._active, parts.source, clock, tell)
        self._output = parts.output(parts.source, tell)
        self._sending = Sending(
            self._session,
            self._keeping,
            self._arrivals,
            self._patience,
            self.prepared,
            self._worker,
            self._source,
            self._output,
            clock,
        )

    # -- what a front end does --------------------------------------------------------------------------

    def subscribe(self, listener: Callable[[EngineEvent], None]) -> None:
        """Have ``listener`` called with every event, in the event loop."""
        self._listeners.add(listener)

    async def start(self) -> None:
        """Open the sound output and begin to prepare the decoder; returns before that is ready."""
        self._decoding.start()
        self._worker.start()
        await self._output.start()
        self._spawn(self._speak_all())
        self._spawn(self._monitor())

    async def connect(self) -> None:
        """Connect to the server now rather than with the first text; may precede :meth:`start`.

        Raises:
            SessionError: it cannot be reached, or it refuses.
            ConfigError: the file of the private authority cannot be used.

        """
        with self._keeping.standing_aside():
            await self._session.ensure_ready(self._session_config)

    def stay_connected(self) -> None:
        """Connect now and again after each loss, told as link statuses; called once, after :meth:`start`.

        A link that is dropped because nobody speaks sleeps until the next text, and a server that refuses
        is not asked again; :meth:`try_now` and any text end both.
        """
        self._spawn(self._keeping.run())

    def empty_output(self) -> None:
        """Have what the device was given and has not played thrown away, whatever of it was not stopped.

        After a stop the sound then ends within a few milliseconds, and without its fade; else it ends, faded,
        only once the device has played what it has: up to its latency later.
        """
        self._spawn(self._output.drop())

    def try_now(self) -> None:
        """Have the wait for the next try to connect ended at once."""
        self._keeping.try_now()

    async def use_device(self, device: str) -> None:
        """Go on at another sound device, named as in the configuration; no sample is lost.

        If it cannot be opened the present one goes on; either is told.
        """
        await self._output.use(device)

    @property
    def asked_s(self) -> float:
        """When the output last asked for samples, on the clock's scale; at first, when this was made."""
        return self._source.asked_s

    async def prepared(self) -> None:
        """Wait until the decoder is warm, or is not needed because the server decodes.

        Raises:
            NearfieldError: the engine was closed, or the decoder cannot be loaded.
            DecoderError: the decoder cannot be loaded.

        """
        try:
            await self._decoding.prepared()
        except (NearfieldError, DecoderError):
            if self._closing or await self._arrivals.mode(MODE_S) is not Mode.PCM:
                raise

    def speak(
        self,
        text: str,
        sinks: Sequence[PcmSink] = (),
        reading: Reading | None = None,
        how: SessionConfig | None = None,
        order: Order = Order(),  # noqa: B008  # frozen
    ) -> asyncio.Future[UtteranceDone]:
        """Queue ``text``; the future ends when the last of it was heard, however it ended.

        It is spoken as ``how`` says, or as the engine's configuration does, and when ``order`` says: what it
        interrupts gives way before this returns.
        As a part of ``reading`` its sound is kept there, and it may be heard from any place.
        A text that comes while the engine is closed ends as cancelled, like those that waited then.

        Raises:
            ValueError: there is nothing to say in ``text``.

        """
        text = clean(text)
        if not is_speakable(text):
            raise ValueError("there is nothing to say in this text")
        now_s = self._clock()
        self._count += 1
        part = None if reading is None else reading.new_part()
        utterance = Utterance(
            number=self._count,
            text=text,
            meter=Meter(now_s - order.age_s, self._source.rate_hz),
            sinks=sinks if part is None else (part, *sinks),
            requested_s=now_s - order.age_s,
            finished=asyncio.get_running_loop().create_future(),
            tell=self._listeners.tell,
            how=how or self._session_config,
            reading=reading,
            part=part,
            place=self._waiting.place(order, now_s),
        )
        self._waiting.put(utterance)
        self._listeners.tell(StageChanged(utterance.number, text, Stage.QUEUED, order.group))
        self._giving_way.make_way(utterance.place)
        self._changed.set()
        self._expiring.watch()
        if self._closing:
            self._stop_all()
        return utterance.finished

    def new_reading(self, sound: KeptSound, sink: PcmSink | None = None) -> Reading:
        """Return a reading: its utterances' sound goes through ``sink`` into ``sound``, or is there."""
        self._readings += 1
        return Reading(self._readings, sound, sink)

    def seek(self, reading: Reading, to_samples: int) -> None:
        """Have ``reading`` heard from ``to_samples`` of its sound on, whether it is in flight or over.

        What has not been decoded yet cannot be reached. Anything else that is heard is stopped.
        """
        if any(u.reading is not reading for u in (*self._active, *self.upcoming())):
            self.stop()
        self._seeking.seek(reading, to_samples)
        self._changed.set()

    def hold(self, group: str) -> None:
        """Keep the floor for ``group`` once it is heard: more of it is to come, however long that takes."""
        self._waiting.hold(group)

    def release(self, group: str) -> None:
        """Let others be heard once what has come of ``group`` is over."""
        self._waiting.release(group)
        self._changed.set()

    def upcoming(self) -> list[Utterance]:
        """Return what is not heard yet, in the order in which it would be if nothing else came."""
        return [*(u for u in self._active if not u.is_heard), *self._waiting.upcoming(self._clock())]

    def heard_s(self, group: str) -> float:
        """Return how many seconds have left the device of the utterances of ``group`` that are not over."""
        return sum(self._heard_s(u) for u in self._active if u.place.group == group)

    def stop(self, group: str | None = None, reason: str = "stopped") -> bool:
        """Be silent at once: stop what is heard, forget what waits; the server is told in a moment.

        With ``group`` only what is of it, and what is heard of others goes on; false if nothing is.
        """
        if group is not None:
            return self._giving_way.end(group, reason)
        was_busy = bool(self._active or self._waiting)
        self._stop_all()
        if not self._closing:
            self._spawn(self._session.cancel())
        return was_busy

    def stop_after_sentence(self, group: str, reason: str = "stopped") -> bool:
        """End what is heard of ``group`` where its next sentence begins, and all else of it at once.

        False if there is nothing of it.
        """
        return self._giving_way.end_after_sentence(group, reason)

    async def cancel(self) -> None:
        """Be silent at once as :meth:`stop` is, and return when the server was told."""
        self._stop_all()
        await self._session.cancel()

    def pause(self) -> None:
        """Hold the sound where it is; no sample is lost."""
        self._hold(True)

    def resume(self) -> None:
        """Go on where the sound was held."""
        self._hold(False)

    def set_volume(self, volume: float) -> None:
        """Scale the sound, 0..1, whatever is heard; recordings keep their level.

        Raises:
            ValueError: it is outside 0..1.

        """
        if not 0.0 <= volume <= 1.0:
            raise ValueError(f"volume {volume} is outside 0..1")
        self._source.set_volume(volume)

    async def aclose(self) -> None:
        """Stop everything, tell the server, release the device; within a few seconds."""
        self._closing = True
        self._expiring.close()
        self._keeping.stop()
        await self.cancel()
        self._decoding.close()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        closing = (self._session.aclose(), self._output.aclose(), self._close_worker())
        for failure in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(failure, Exception):
                log.error("a part of the engine could not be closed", exc_info=failure)

    def _take(self, event: SessionEvent) -> None:
        self._keeping.observe(event)
        self._arrivals.take(event)

    # -- speaking ---------------------------------------------------------------------------------------

    async def _speak_all(self) -> None:
        while True:
            utterance = await self._next()
            utterance.follows = self._active[-1] if self._active else None
            self._active.append(utterance)
            self._changed.set()
            try:
                await self._sending.send(utterance)
            except (NearfieldError, DecoderError) as error:
                self._fail(utterance, str(error))
            except Exception as error:
                log.exception("utterance %d ended in an unexpected way", utterance.number)
                self._fail(utterance, f"unexpected: {error!r}")

    async def _next(self) -> Utterance:
        while True:
            self._changed.clear()
            self._giving_way.note_floor()
            if len(self._active) < 2 and (utterance := self._waiting.next(self._clock())) is not None:
                return utterance
            await self._changed.wait()

    # -- ending -----------------------------------------------------------------------------------------

    def _hold(self, paused: bool) -> None:
        if paused == self._source.is_paused:
            return
        if paused:
            self._source.pause()
        else:
            self._source.resume()
        self._listeners.tell(PauseChanged(paused))

    def _stop_all(self) -> None:
        was_paused = self._source.is_paused
        self._source.stop()
        self._seeking.forget()
        if was_paused:
            self._listeners.tell(PauseChanged(False))
        # Taken first: a listener that is told of an end may ask for the next text.
        stopped = [*self._active, *self._waiting.end_all()]
        for utterance in stopped:
            if utterance.job is not None:
                self._worker.cancel(utterance.job)
            utterance.stop()
        for utterance in stopped:
            self._finish(utterance)

    def _fail(self, utterance: Utterance, reason: str) -> None:
        """End an utterance that cannot go on; what came of it is still heard."""
        self._arrivals.end(utterance)
        utterance.conclude(Outcome.FAILED, reason)
        if utterance.job is None:
            self._finish(utterance)
        else:
            self._worker.put(utterance.job, End())

    def _on_decode_failure(self, utterance: Utterance) -> None:
        if self._arrivals.end(utterance):
            self._spawn(self._session.cancel())

    def _finish(self, utterance: Utterance) -> None:
        """Tell the end of ``utterance``, once."""
        if utterance.is_done:
            return
        self._hearing.measure(utterance)
        self._giving_way.note_floor()
        utterance.advance(Stage.DONE)
        utterance.follows = None
        self._arrivals.end(utterance)
        utterance.received.set()
        with contextlib.suppress(ValueError):
            self._active.remove(utterance)
        self._changed.set()
        done = UtteranceDone(
            utterance.number,
            utterance.text,
            utterance.outcome or Outcome.COMPLETE,
            utterance.reason,
            utterance.meter.report(),
            utterance.place.order.group,
            self._heard_s(utterance),
        )
        self._listeners.tell(done)
        if not utterance.finished.done():
            utterance.finished.set_result(done)

    def _heard_s(self, utterance: Utterance) -> float:
        if utterance.job is None:
            return 0.0
        return utterance.job.track.heard_samples(self._clock()) / self._source.rate_hz

    async def _close_worker(self) -> None:
        # Not in a thread of asyncio's pool: those may all be stuck in looking up names.
        give_up_s = time.monotonic() + CLOSE_S
        while not self._worker.close(0.0):
            if time.monotonic() > give_up_s:
                log.warning("the decode thread is stuck and is left behind")
                return
            await asyncio.sleep(LOOK_S)

    # -- tasks ------------------------------------------------------------------------------------------

    async def _monitor(self) -> None:
        while True:
            await self._wait_for(lambda: bool(self._active) or self._seeking.is_replaying)
            await asyncio.sleep(LOOK_S)
            self._seeking.look()
            self._hearing.look()
            self._giving_way.note_floor()

    async def _wait_for(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_end)

    def _on_task_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            log.error("a task of the engine ended in an unexpected way", exc_info=error)
