"""One utterance in the decode thread: frames in, chunk after chunk decoded, samples into ring and sinks."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

import numpy as np

from app.playback.chunk_policy import DecodeCost, StartBuffer, Waits, next_chunk_frames
from app.playback.decoder import Codes, Decoder, DecodeStream, Pcm
from app.playback.facts import (
    ChunkDecoded,
    DecodeFact,
    LeadingSilence,
    PcmRepaired,
    SamplesMissing,
    SinkFailed,
    UnitBegins,
    UtteranceDecoded,
)
from app.playback.speech_job import Context, End, Frames, Item, NewUnit, PcmSink, Samples, SpeechJob

log = logging.getLogger("nearfield.decode")

AUDIBLE = 10 ** (-50 / 20)
"""Samples beyond -50 dBFS count as audible."""
SPLICE_S = 0.005


class UtteranceDecoder:
    """Made new for each job and thrown away with it; runs in the decode thread only."""

    def __init__(
        self,
        job: SpeechJob,
        decoder: Decoder,
        cost: DecodeCost,
        start_buffer: StartBuffer,
        emit: Callable[[DecodeFact], None],
        clock: Callable[[], float],
    ) -> None:
        self._job = job
        self._track = job.track
        self._decoder = decoder
        self._spec = decoder.spec
        self._cost = cost
        self._start_buffer = start_buffer
        self._emit = emit
        self._clock = clock
        self._sinks: list[PcmSink] = list(job.sinks)
        self._stream: DecodeStream = decoder.new_stream()
        self._pending: deque[Frames] = deque()
        self._after: deque[Item] = deque()
        self._unwritten: Pcm = np.zeros(0, np.float32)
        self._ending = False
        self._finished = False
        self._splice_from = 0.0
        self._splicing = False
        self._last_sample = 0.0
        self._samples = 0
        self._samples_due = 0
        self._heard = False
        self._not_finite = 0
        self._clipped = 0
        self._last_arrival_s: float | None = None
        self._waits = Waits()
        self._decodes = False
        self._learnt_from_samples = 0
        """Where in the sound the gap was from which the start buffer learnt last."""

    @property
    def is_done(self) -> bool:
        """Whether everything is decoded and in the ring."""
        return self._finished

    @property
    def is_blocked(self) -> bool:
        """Whether samples wait for room in the ring."""
        return len(self._unwritten) > 0

    @property
    def can_advance(self) -> bool:
        """Whether :meth:`advance` would do something now."""
        if self.is_blocked:
            return self._track.ring.writable_samples > 0
        return bool(self._pending or self._after or self._ending)

    def take(self, item: Item) -> None:
        """Take the next item of the job's inbox."""
        if isinstance(item, Frames | Samples):
            if self._last_arrival_s is not None:
                self._waits.note(item.arrived_s - self._last_arrival_s)
            self._last_arrival_s = item.arrived_s
        self._decodes = self._decodes or isinstance(item, Frames)
        # Frames that continue what is pending join it; everything else waits until that is decoded.
        if isinstance(item, Frames) and not item.fresh and not self._after:
            self._add_pending(item)
        else:
            self._after.append(item)

    def advance(self) -> None:
        """Do one thing: write what waits, decode one chunk, take what comes after it, or end."""
        if self.is_blocked:
            self._write(self._unwritten)
        elif self._pending:
            self._decode_chunk()
        elif self._after:
            self._take_after(self._after.popleft())
        elif self._ending:
            self._finish()
        self._open_gate()

    # -- inside -----------------------------------------------------------------------------------------

    def _take_after(self, item: Item) -> None:
        match item:
            case NewUnit():
                self._stream = self._decoder.new_stream()
                self._emit(UnitBegins(self._job.utterance, item.text, self._samples))
            case Context():
                self._stream.prime(item.codes)
            case Samples():
                self._samples_due += len(item.pcm)
                self._accept(item.pcm)
            case Frames():
                if item.fresh:
                    self._stream = self._decoder.new_stream()
                    self._splicing, self._splice_from = True, self._last_sample
                self._add_pending(item)
            case End():
                self._ending = True
        # Whatever was held back only by this item may now join.
        while self._after and isinstance(self._after[0], Frames) and not self._after[0].fresh:
            following = self._after.popleft()
            assert isinstance(following, Frames)
            self._add_pending(following)

    def _add_pending(self, item: Frames) -> None:
        if len(item.codes):
            self._pending.append(item)

    def _decode_chunk(self) -> None:
        buffered_s = self._track.buffered_s
        frames = self._next_chunk_frames(buffered_s)
        arrived_s = self._pending[0].arrived_s
        codes = self._cut(frames)
        started_s = self._clock()
        pcm = self._stream.decode(codes)
        ended_s = self._clock()
        if self._job.cancelled:
            return
        self._cost.observe(frames, ended_s - started_s)
        self._samples_due += frames * self._spec.samples_per_frame
        self._accept(pcm)
        self._emit(
            ChunkDecoded(self._job.utterance, started_s, ended_s, frames, len(pcm), arrived_s, buffered_s)
        )

    def _next_chunk_frames(self, buffered_s: float) -> int:
        pending_frames = sum(len(f.codes) for f in self._pending)
        return next_chunk_frames(pending_frames, buffered_s, self._cost, self._spec.frame_s)

    def _cut(self, frames: int) -> Codes:
        """Take ``frames`` frames from the front of what is pending."""
        taken = []
        while frames:
            head = self._pending.popleft()
            taken.append(head.codes[:frames])
            if len(head.codes) > frames:
                self._pending.appendleft(Frames(head.codes[frames:], head.arrived_s))
            frames -= len(taken[-1])
        return np.concatenate(taken)

    def _accept(self, pcm: Pcm) -> None:
        """Make samples fit to be heard, and hand them to the sinks and the ring."""
        pcm = self._repaired(pcm)
        if len(pcm) == 0:
            return
        if self._splicing:
            self._splice(pcm)
        self._note_leading_silence(pcm)
        self._last_sample = float(pcm[-1])
        self._samples += len(pcm)
        for sink in list(self._sinks):
            try:
                sink.write(pcm)
            except Exception as error:
                self._sinks.remove(sink)
                self._emit(SinkFailed(self._job.utterance, error))
        self._write(pcm)

    def _write(self, pcm: Pcm) -> None:
        self._unwritten = pcm[self._track.ring.write(pcm) :]

    def _repaired(self, pcm: Pcm) -> Pcm:
        pcm = np.array(pcm, np.float32)
        finite = np.isfinite(pcm)
        if not finite.all():
            self._not_finite += int((~finite).sum())
            pcm[~finite] = 0.0
        beyond = np.abs(pcm) > 1.0
        if beyond.any():
            self._clipped += int(beyond.sum())
            np.clip(pcm, -1.0, 1.0, out=pcm)
        return pcm

    def _splice(self, pcm: Pcm) -> None:
        """Let what was heard before a hole run out under the first samples after it."""
        ramp = np.linspace(
            0.0, 1.0, min(len(pcm), round(SPLICE_S * self._spec.sample_rate_hz)), dtype=np.float32
        )
        pcm[: len(ramp)] *= ramp
        pcm[: len(ramp)] += (1.0 - ramp) * self._splice_from
        self._splicing = False

    def _note_leading_silence(self, pcm: Pcm) -> None:
        if self._heard:
            return
        audible = np.flatnonzero(np.abs(pcm) > AUDIBLE)
        if len(audible):
            self._heard = True
            silence_s = (self._samples + int(audible[0])) / self._spec.sample_rate_hz
            self._emit(LeadingSilence(self._job.utterance, silence_s))

    def _open_gate(self) -> None:
        """Let the sound start, or go on after a gap, as soon as it will last."""
        track = self._track
        if self._finished:
            return
        if track.is_open:
            track.open()
            return
        if track.is_dry and track.ring.readable_samples and self._learnt_from_samples != track.dry_at_samples:
            self._learnt_from_samples = track.dry_at_samples
            self._start_buffer.after_underrun(self._waits.usual_s)
        buffered_s, waiting_s = track.buffered_s, self._waiting_s()
        next_frames = self._next_chunk_frames(buffered_s)
        if self.is_blocked or self._start_buffer.may_start(
            buffered_s=buffered_s,
            waiting_s=waiting_s,
            next_chunk_s=self._cost.chunk_s(next_frames) if next_frames else 0.0,
            decode_rtf=self._cost.rtf(self._spec.frame_s) if self._decodes else 0.0,
            expected_s=self._remaining_s(buffered_s + waiting_s),
        ):
            track.open()

    def _waiting_s(self) -> float:
        """Sound of the frames that arrived and are not decoded."""
        waiting = (len(item.codes) for item in (*self._pending, *self._after) if isinstance(item, Frames))
        return sum(waiting) * self._spec.frame_s

    def _remaining_s(self, arrived_s: float) -> float:
        """Sound that is still to be heard: what has arrived, or more as long as the end has not."""
        if self._ending or (self._after and isinstance(self._after[-1], End)):
            return arrived_s
        heard_s = self._track.ring.read_samples / self._track.rate_hz
        return max(arrived_s, self._job.expected_s - heard_s)

    def _finish(self) -> None:
        if missing := self._samples_due - self._samples:
            self._emit(SamplesMissing(self._job.utterance, missing))
        if self._not_finite or self._clipped:
            log.warning("%d samples were not finite, %d beyond full scale", self._not_finite, self._clipped)
            self._emit(PcmRepaired(self._job.utterance, self._not_finite, self._clipped))
        if not self._learnt_from_samples:
            self._start_buffer.after_clean_utterance(self._waits.usual_s)
        self._finished = True
        self._track.end()
        self._emit(UtteranceDecoded(self._job.utterance, self._samples))
