"""What the server brings: a session's events become items for the decode thread, and events for people."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.audio.resample import StreamResampler
from app.engine.events import EngineEvent, LinkStatus, Notice, Severity
from app.engine.patience import Patience
from app.engine.state import Stage
from app.engine.utterance import Utterance
from app.playback.decode_worker import DecodeWorker
from app.playback.speech_job import Context, Frames, NewUnit, Samples
from app.session.events import BytesArrived, LinkChanged, LinkState, SessionEvent
from app.within import within
from decoder.wire import events as wire
from decoder.wire.assembler import Anomaly, AnomalyKind

log = logging.getLogger("nearfield.engine")

_AUDIBLE_ANOMALIES = {
    AnomalyKind.GAP,
    AnomalyKind.REFUSED,
    AnomalyKind.STEP_BACK,
    AnomalyKind.BAD_PACKET,
    AnomalyKind.BAD_CONTEXT,
}

_IDLE = "Idle timeout"
"""Nothing is wrong: the link's state says all there is to know."""


class Arrivals:
    """Knows which utterance is being received, and what is known of the link."""

    def __init__(
        self,
        worker: DecodeWorker,
        rate_hz: int,
        patience: Patience,
        clock: Callable[[], float],
        tell: Callable[[EngineEvent], None],
    ) -> None:
        self._worker = worker
        self._rate_hz = rate_hz
        self._patience = patience
        self._clock = clock
        self._tell = tell
        self._receiving: Utterance | None = None
        self._to_our_rate = _ToRate(rate_hz)
        self._mode = wire.Mode.UNKNOWN
        self._mode_known = asyncio.Event()
        self._told_mode = ""
        self._anomalies_told: set[AnomalyKind] = set()

    async def mode(self, wait_s: float) -> wire.Mode:
        """Return who decodes, as soon as the server has said it, or after ``wait_s``."""
        with contextlib.suppress(asyncio.TimeoutError):
            await within(wait_s, self._mode_known.wait())
        return self._mode

    def begin(self, utterance: Utterance) -> None:
        """From here on what the session tells is of ``utterance``."""
        self._receiving = utterance
        self._to_our_rate = _ToRate(self._rate_hz)

    def end(self, utterance: Utterance) -> bool:
        """Have nothing more of ``utterance`` taken; false if it is not the one that is received."""
        if self._receiving is not utterance:
            return False
        self._receiving = None
        utterance.received.set()
        return True

    def take(self, event: SessionEvent) -> None:
        """Take an event of the session."""
        match event:
            case LinkChanged():
                self._on_link(event)
            case wire.ModeKnown():
                self._on_mode(event)
            case wire.ServerSaid() if event.message.startswith(_IDLE):
                log.info("the server dropped the idle link: %s", event.message)
            case wire.ServerSaid():
                self._tell(Notice.of(Severity.INFO, "the server said: {0}", event.message))
            case Anomaly():
                self._on_anomaly(event)
            case _:
                if self._receiving is not None:
                    self._on_utterance_event(self._receiving, event)

    # -- of an utterance --------------------------------------------------------------------------------

    def _on_utterance_event(self, utterance: Utterance, event: SessionEvent) -> None:
        job = utterance.job
        assert job is not None, "an utterance that is received has a job"
        now_s = self._clock()
        match event:
            case BytesArrived():
                utterance.meter.bytes_arrived(event.count)
            case wire.UnitStarted():
                self._worker.put(job, NewUnit(event.text))
            case wire.ContextArrived():
                self._worker.put(job, Context(event.codes))
            case wire.FramesArrived():
                utterance.meter.sound_arrived(now_s, len(event.codes))
                utterance.advance(Stage.BUFFERING)
                self._worker.put(job, Frames(event.codes, now_s, event.fresh))
            case wire.PcmArrived():
                utterance.meter.sound_arrived(now_s, 0)
                utterance.advance(Stage.BUFFERING)
                self._put_samples(utterance, self._to_our_rate.push(event.pcm, event.rate_hz), now_s)
            case wire.UtteranceEnded():
                self._put_samples(utterance, self._to_our_rate.flush(), now_s)
                utterance.conclude(event.outcome, event.reason)
                self.end(utterance)

    def _put_samples(self, utterance: Utterance, pcm: NDArray[np.float32], now_s: float) -> None:
        if utterance.job is not None and len(pcm):
            utterance.meter.samples_arrived(now_s, len(pcm))
            self._worker.put(utterance.job, Samples(pcm, now_s))

    # -- of the link ------------------------------------------------------------------------------------

    def _on_link(self, event: LinkChanged) -> None:
        self._patience.observe(event, self._clock())
        if event.state is LinkState.OFFLINE and self._receiving is not None:
            self._receiving.link_lost = event.trying_again_helps
        if event.state is not LinkState.READY:
            self._mode = wire.Mode.UNKNOWN
            self._mode_known.clear()
        self._tell(LinkStatus(event.state, self._mode, event.detail, event.retry_in_s, event.refused))

    def _on_mode(self, event: wire.ModeKnown) -> None:
        self._mode = event.mode
        self._mode_known.set()
        self._tell(LinkStatus(LinkState.READY, event.mode, event.reason))
        # A stock server is left and probed anew after every stop: that is worth telling once.
        if event.mode is wire.Mode.PCM and event.reason != self._told_mode:
            self._told_mode = event.reason
            self._tell(Notice(Severity.INFO, event.reason))

    def _on_anomaly(self, anomaly: Anomaly) -> None:
        # What a listener cannot hear is no reason to alarm anybody: frames are late after every stop.
        is_news = anomaly.kind in _AUDIBLE_ANOMALIES and anomaly.kind not in self._anomalies_told
        self._anomalies_told.add(anomaly.kind)
        level = logging.WARNING if is_news else logging.DEBUG
        log.log(level, "%s (%d): %s", anomaly.kind.value, anomaly.count, anomaly.detail)
        if is_news:
            text = "the server's stream is damaged: {0} ({1})"
            self._tell(Notice.of(Severity.WARNING, text, anomaly.kind.value, anomaly.detail))


class _ToRate:
    """Brings the PCM of one utterance to one rate, without a seam while the server keeps to its own."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._from_hz = rate_hz
        self._resampler: StreamResampler | None = None

    def push(self, pcm: NDArray[np.float32], from_hz: int) -> NDArray[np.float32]:
        """Return ``pcm`` at our rate; it lags behind."""
        tail = np.zeros(0, np.float32)
        if from_hz != self._from_hz:
            tail = self.flush()
            self._from_hz = from_hz
        if from_hz == self._rate_hz:
            return np.concatenate([tail, pcm])
        if self._resampler is None:
            self._resampler = StreamResampler(from_hz, self._rate_hz)
        return np.concatenate([tail, self._resampler.push(pcm)])

    def flush(self) -> NDArray[np.float32]:
        """Return what lagged behind."""
        resampler, self._resampler = self._resampler, None
        return np.zeros(0, np.float32) if resampler is None else resampler.flush()
