"""One utterance as the client sees it: its units, how long the next message is waited for, how it ends.

What is waited for, and how long (``deadline_s``):

- the first packet of a unit: as long as it takes, a loaded server may need a minute;
- the packet after a packet: ``QUIET_S``, then the utterance is incomplete. A packet that brings nothing
  new (a repeat, or no packet at all) starts this clock but never puts it off;
- the rest after the end of a unit, and after an ``error``: a short grace, then it ends as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from decoder.errors import MessageError, PacketError
from decoder.spec import CodecSpec
from decoder.wire.assembler import Anomaly, AnomalyKind, FrameRun, UnitAssembler
from decoder.wire.budget import SilenceWatch, budget_s
from decoder.wire.events import (
    ContextArrived,
    Event,
    FramesArrived,
    Mode,
    Outcome,
    PcmArrived,
    UnitEnded,
    UnitStarted,
    UtteranceEnded,
)
from decoder.wire.messages import CodecContext
from decoder.wire.packets import placeholder_rows, unpack, valid_rows
from decoder.wire.rules import MAX_NEW_TOKENS

QUIET_S = 10.0
"""After the last packet, with neither EOS nor codec.done, the utterance ends as incomplete."""
END_GRACE_S = 0.5
"""After EOS or codec.done of an utterance that is one unit, the rest is not waited for any longer."""
ERROR_GRACE_S = 2.0
"""After an ``error`` in mid-utterance, the same."""
RAN_AWAY = "the talker did not stop: far more speech than the text needs"
UNIT_FAILED = "the server could not finish the sentence"

_DROPPED_KINDS = (AnomalyKind.PLACEHOLDER, AnomalyKind.REFUSED)


@dataclass
class _FrameUnit:
    """A unit of codec tokens in flight."""

    sentence_index: int
    assembler: UnitAssembler
    primed: bool = False


@dataclass
class _PcmUnit:
    """A unit of PCM in flight."""

    sentence_index: int
    rate_hz: int
    bytes_arrived: int = 0
    odd_byte: bytes = b""


@dataclass
class Utterance:
    """The utterance in flight: messages in, events out; one object an utterance."""

    spec: CodecSpec
    text: str
    single_unit: bool
    index: int | None = None
    """The server's number of it, once a message has named one."""
    mode_refusal: str = ""
    """What the server said when the loaded model could not send codec tokens."""
    delivered: bool = False
    """Something audible has come."""
    ran_away: bool = False
    """The talker speaks on and on: cancel it."""
    deadline_s: float | None = None
    _unit: _FrameUnit | _PcmUnit | None = None
    _failure: str = ""
    _unit_failure: str = ""
    _damage: str = ""
    _quiet_damage: str = ""
    _frames_left: int = field(init=False)
    _pcm_s_left: float = field(init=False)
    _dropped_left: int = MAX_NEW_TOKENS
    _silence: SilenceWatch = field(init=False)

    def __post_init__(self) -> None:
        """Set the budgets that follow from the text."""
        self._pcm_s_left = budget_s(self.text)
        self._frames_left = math.ceil(self._pcm_s_left * self.spec.frame_rate_hz)
        self._silence = SilenceWatch(self.spec.frame_rate_hz)

    # -- units ------------------------------------------------------------------------------------------

    def start_frames(self, sentence_index: int, text: str) -> list[Event]:
        """Begin a unit of codec tokens."""
        return self._start(_FrameUnit(sentence_index, UnitAssembler(self.spec)), text)

    def start_pcm(self, sentence_index: int, text: str, rate_hz: int) -> list[Event]:
        """Begin a unit of PCM."""
        return self._start(_PcmUnit(sentence_index, rate_hz), text)

    def _start(self, unit: _FrameUnit | _PcmUnit, text: str) -> list[Event]:
        ended = self.close_unit()
        self._unit = unit
        self.deadline_s = None
        return [*ended, UnitStarted(unit.sentence_index, text)]

    def end_unit(
        self, now_s: float, *, total: int | None, failed: bool | None, cancelled: bool | None
    ) -> list[Event]:
        """Take the server's word that the unit has ended, with its ``total`` of frames or PCM bytes."""
        if failed:
            self._unit_failure = UNIT_FAILED
        elif cancelled:
            self._damage = self._damage or "the server cancelled it"
        was_pcm = isinstance(self._unit, _PcmUnit)
        ended = self.close_unit(total)
        # A stock server may still think about its next sentence; only it can say that there is none.
        self._await_end(now_s, QUIET_S if was_pcm else self._end_grace_s)
        return ended

    def close_unit(self, total: int | None = None) -> list[Event]:
        """End the unit, if there is one; a ``total`` that differs from what came makes it incomplete."""
        unit, self._unit = self._unit, None
        if unit is None:
            return []
        if isinstance(unit, _FrameUnit):
            arrived, frames, what = unit.assembler.frames_arrived, unit.assembler.frames_arrived, "frames"
            self._damage = self._damage or unit.assembler.damage
        else:
            arrived, frames, what = unit.bytes_arrived, 0, "bytes"
        events: list[Event] = []
        if total is not None and total != arrived:
            detail = f"{arrived} {what} arrived, the server sent {total}"
            self._damage = self._damage or detail
            events.append(Anomaly(AnomalyKind.TOTALS, 1, detail))
        return [*events, UnitEnded(unit.sentence_index, frames)]

    # -- what a unit brings -----------------------------------------------------------------------------

    def take_bytes(self, data: bytes, now_s: float) -> list[Event]:
        """Take a binary message of the unit in flight."""
        if isinstance(self._unit, _FrameUnit):
            return self._take_packet(self._unit.assembler, data, now_s)
        if isinstance(self._unit, _PcmUnit):
            return self._take_pcm(self._unit, data, now_s)
        self._await_packet(now_s, is_news=False)
        return [Anomaly(AnomalyKind.LATE, 1, f"{len(data)} bytes outside of a unit")]

    def take_context(self, message: CodecContext) -> list[Event]:
        """Take reference codes; what cannot be used is reported, and the unit is decoded cold."""
        unit = self._unit
        if not isinstance(unit, _FrameUnit):
            return [Anomaly(AnomalyKind.BAD_CONTEXT, 1, "it came outside of a unit")]
        try:
            codes = message.codes(self.spec.codebooks)
        except MessageError as error:
            return [Anomaly(AnomalyKind.BAD_CONTEXT, 1, str(error))]
        outside = (codes < 0) | (codes >= self.spec.codebook_size)
        if outside.any():
            detail = f"code {codes[outside][0]}, the codebook has 0..{self.spec.codebook_size - 1}"
            return [Anomaly(AnomalyKind.BAD_CONTEXT, 1, detail)]
        if unit.assembler.packets_arrived or unit.primed:
            return [Anomaly(AnomalyKind.BAD_CONTEXT, 1, "only one is taken, before the first packet")]
        kept = codes[valid_rows(codes, self.spec.codebook_size) & ~placeholder_rows(codes)]
        if len(kept) == 0:
            return []
        unit.primed = True
        return [ContextArrived(kept)]

    def _take_packet(self, assembler: UnitAssembler, data: bytes, now_s: float) -> list[Event]:
        try:
            packet = unpack(data, self.spec.codebooks)
        except PacketError as error:
            self._await_packet(now_s, is_news=False)
            return [Anomaly(AnomalyKind.BAD_PACKET, 1, str(error))]
        before = assembler.packets_arrived
        events: list[Event] = []
        for found in assembler.take(packet):
            events += [found] if isinstance(found, Anomaly) else self._deliver(found)
            if isinstance(found, Anomaly) and found.kind in _DROPPED_KINDS:
                self._dropped_left -= found.count
            if self.ran_away or self._dropped_left < 0:
                self.ran_away = True
                break
        is_news = assembler.packets_arrived > before
        if assembler.ended and is_news:
            self._await_end(now_s, self._end_grace_s)
        elif not assembler.ended:
            self._await_packet(now_s, is_news=is_news)
        return events

    def _deliver(self, run: FrameRun) -> list[Event]:
        codes = run.codes[: self._frames_left]
        self._frames_left -= len(run.codes)
        self.ran_away = self._frames_left < 0 or self._silence.is_stuck(codes)
        if len(codes) == 0:
            return []
        self.delivered = True
        return [FramesArrived(codes, run.fresh)]

    def _take_pcm(self, unit: _PcmUnit, data: bytes, now_s: float) -> list[Event]:
        self._await_packet(now_s, is_news=bool(data))
        unit.bytes_arrived += len(data)
        data = unit.odd_byte + data
        whole = len(data) // 2 * 2
        unit.odd_byte = data[whole:]
        pcm = np.frombuffer(data[:whole], "<i2").astype(np.float32) / 32768.0
        kept = pcm[: math.ceil(self._pcm_s_left * unit.rate_hz)]
        self.ran_away = len(kept) < len(pcm)
        self._pcm_s_left = max(0.0, self._pcm_s_left - len(kept) / unit.rate_hz)
        if len(kept) == 0:
            return []
        self.delivered = True
        return [PcmArrived(kept, unit.rate_hz)]

    # -- how it ends ------------------------------------------------------------------------------------

    def fail(self, reason: str) -> None:
        """Note why the utterance has failed; the first reason is the one that is told."""
        self._failure = self._failure or reason

    def take_error(self, text: str, now_s: float) -> None:
        """Take an ``error`` of the server: what has come may finish."""
        self.fail(text)
        self.await_rest_after_error(now_s)

    def await_rest_after_error(self, now_s: float) -> None:
        """Wait a moment for the messages that follow an ``error``."""
        self.deadline_s = now_s + ERROR_GRACE_S

    def cut(self, reason: str) -> None:
        """Note that the utterance was not brought to its end."""
        if self.mode_refusal:
            self.fail(self.mode_refusal)
        self._damage = self._damage or reason

    def time_out(self) -> None:
        """Note that the deadline has passed."""
        self.cut(self._quiet_damage)

    def outcome(self, mode: Mode) -> UtteranceEnded:
        """Say how it ended; ``mode`` is the connection's."""
        if failure := self._failure or self._unit_failure:
            return UtteranceEnded(Outcome.FAILED, failure)
        if self._damage:
            return UtteranceEnded(Outcome.INCOMPLETE, self._damage)
        if self.delivered:
            return UtteranceEnded(Outcome.COMPLETE, "")
        if mode is Mode.PCM:
            return UtteranceEnded(Outcome.EMPTY, "the server produced neither audio nor codec frames")
        return UtteranceEnded(Outcome.EMPTY, "the server sent no audio")

    # -- deadlines --------------------------------------------------------------------------------------

    @property
    def _end_grace_s(self) -> float:
        return END_GRACE_S if self.single_unit else QUIET_S

    def _await_packet(self, now_s: float, *, is_news: bool) -> None:
        if is_news or self.deadline_s is None:
            self.deadline_s = now_s + QUIET_S
            self._quiet_damage = f"the server fell silent for {QUIET_S:.0f} s"

    def _await_end(self, now_s: float, grace_s: float) -> None:
        self.deadline_s = now_s + grace_s
        self._quiet_damage = ""
