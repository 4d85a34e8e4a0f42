"""The decode thread: takes frames from jobs, decodes them in chunks and writes the samples into rings.

One long-lived thread, because the libraries behind a decoder keep caches and thread pools for each thread
that calls them. It loads the decoder, so nothing else waits for torch.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

import numpy as np

from app.playback.chunk_policy import CHUNK_FRAMES, DecodeCost, StartBuffer
from app.playback.decoder import BrokenDecoder, Codes, Decoder, DecodeStream
from app.playback.facts import DecodeFact, DecodeFailed, DecoderBroken, DecoderReady
from app.playback.speech_job import Item, SpeechJob
from app.playback.utterance_decoder import UtteranceDecoder
from decoder.spec import CodecSpec

log = logging.getLogger("nearfield.decode")

_FULL_RING_POLL_S = 0.02
_WARM_UP_ROUNDS = 3


class DecodeWorker:
    """Works off jobs in the order they were submitted, in a thread of its own."""

    def __init__(
        self,
        open_decoder: Callable[[], Decoder],
        emit: Callable[[DecodeFact], None],
        start_buffer: StartBuffer,
        clock: Callable[[], float] = time.perf_counter,
        *,
        measures: bool = True,
    ) -> None:
        """``emit`` is called from the decode thread with every fact; it must not block or raise.

        With ``measures`` false the decoder is taken as warm, and what it costs is learnt from the work.
        """
        self._open_decoder = open_decoder
        self._emit = emit
        self._clock = clock
        self._start_buffer = start_buffer
        self._measures = measures
        self._cost = DecodeCost()
        self._jobs: deque[SpeechJob] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="nearfield-decode", daemon=True)

    def start(self) -> None:
        """Start the thread, which first loads and warms the decoder."""
        self._thread.start()

    def submit(self, job: SpeechJob) -> None:
        """Queue a new job; its items follow through :meth:`put`."""
        with self._wake:
            self._jobs.append(job)
            self._wake.notify()

    def put(self, job: SpeechJob, item: Item) -> None:
        """Give ``job`` its next item."""
        with self._wake:
            job.inbox.append(item)
            self._wake.notify()

    def cancel(self, job: SpeechJob) -> None:
        """Drop ``job``; a chunk that is being decoded is thrown away."""
        with self._wake:
            job.cancelled = True
            job.inbox.clear()
            self._wake.notify()

    def close(self, timeout_s: float) -> bool:
        """End the thread; false if it is stuck in the decoder (it is a daemon and will not hold up exit)."""
        with self._wake:
            self._closing = True
            for job in self._jobs:
                job.cancelled = True
            self._wake.notify()
        if self._thread.ident is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    # -- decode thread ----------------------------------------------------------------------------------

    def _run(self) -> None:
        decoder: Decoder
        try:
            decoder = self._prepare()
        except Exception as error:
            log.warning("decoder cannot be loaded: %s", error)
            self._emit(DecoderBroken(error))
            decoder = BrokenDecoder(error, CodecSpec())
        while (job := self._next_job()) is not None:
            try:
                work = UtteranceDecoder(job, decoder, self._cost, self._start_buffer, self._emit, self._clock)
                self._work_off(job, work)
            except Exception as error:
                log.exception("utterance %d cannot be decoded", job.utterance)
                job.track.end()  # what is in the ring may still be heard
                self._emit(DecodeFailed(job.utterance, error))

    def _prepare(self) -> Decoder:
        """Load the decoder and run every chunk length once, which also measures it."""
        loading_s = self._clock()
        decoder = self._open_decoder()
        warming_s = self._clock()
        # The first pass of a length pays for caches and pages; the cheapest of a few is its true cost.
        for frames in CHUNK_FRAMES if self._measures else ():
            codes = np.ones((frames, decoder.spec.codebooks), np.int16)
            stream = decoder.new_stream()
            rounds = [self._timed(stream, codes) for _ in range(_WARM_UP_ROUNDS if frames < 8 else 2)]
            self._cost.observe(frames, min(rounds))
            if self._closing:
                break
        ready_s = self._clock()
        rtf = self._cost.rtf(decoder.spec.frame_s)
        self._emit(DecoderReady(warming_s - loading_s, ready_s - warming_s, rtf))
        return decoder

    def _timed(self, stream: DecodeStream, codes: Codes) -> float:
        started_s = self._clock()
        stream.decode(codes)
        return self._clock() - started_s

    def _next_job(self) -> SpeechJob | None:
        with self._wake:
            while not self._jobs and not self._closing:
                self._wake.wait()
            return None if self._closing else self._jobs.popleft()

    def _work_off(self, job: SpeechJob, work: UtteranceDecoder) -> None:
        while not work.is_done:
            with self._wake:
                while not self._has_work(job, work):
                    self._wake.wait(_FULL_RING_POLL_S if work.is_blocked else None)
                if job.cancelled or self._closing:
                    return
                items = list(job.inbox)
                job.inbox.clear()
            for item in items:
                work.take(item)
            work.advance()

    def _has_work(self, job: SpeechJob, work: UtteranceDecoder) -> bool:
        if job.cancelled or self._closing or job.inbox:
            return True
        return work.can_advance
