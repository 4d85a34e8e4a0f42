"""The client's end of one connection, without I/O: messages and instants in, events and messages out.

::

    READY ──speak──▶ SPEAKING ──session.done, error, silence──▶ READY
                        │
                        └─cancel, mismatch, runaway─▶ SETTLING ──session.done, input.cancelled──▶ READY

An utterance ends for the listener (:class:`UtteranceEnded`) when its outcome is known; the wire is free
for the next one (:class:`WireReady`) when the server has confirmed. Frames that arrive in between are of
an ended utterance and are dropped. A server that does not confirm has to be left (:class:`LinkUseless`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto

import numpy as np

from decoder.errors import MessageError, PacketError
from decoder.spec import CodecSpec
from decoder.wire import messages as m
from decoder.wire.assembler import Anomaly, AnomalyKind, FrameRun, UnitAssembler
from decoder.wire.budget import SilenceWatch, budget_s
from decoder.wire.events import (
    ContextArrived,
    Event,
    FramesArrived,
    LinkUseless,
    Mode,
    ModeKnown,
    Outcome,
    PcmArrived,
    ServerSaid,
    UnitEnded,
    UnitStarted,
    UtteranceEnded,
    WireReady,
)
from decoder.wire.packets import unpack
from decoder.wire.rules import CODEC_MODE, PCM_MODE, config_fault

QUIET_S = 10.0
"""After the last packet, with neither EOS nor codec.done, the utterance ends as incomplete."""
END_GRACE_S = 0.5
"""After EOS or codec.done of an utterance that is one unit, the rest is not waited for any longer."""
ERROR_GRACE_S = 2.0
"""After an ``error`` in mid-utterance, the same."""
SETTLE_S = 2.0
"""A cancel that is not confirmed in this time makes the link useless."""
KEEPALIVE_S = 20.0
"""Servers drop a link that says nothing for 30 s; an empty ``input.text`` is harmless."""

_MODE_UNSUPPORTED = "is not supported by the loaded TTS model"
_UNKNOWN_TYPE = "Unknown message type"
_RAN_AWAY = "the talker did not stop: far more speech than the text needs"


class _Phase(Enum):
    READY = auto()
    SPEAKING = auto()
    SETTLING = auto()


@dataclass
class _Unit:
    """One unit in flight: of frames (``assembler``) or of PCM (``pcm_rate_hz``)."""

    sentence_index: int
    assembler: UnitAssembler | None = None
    pcm_rate_hz: int = 0
    odd_byte: bytes = b""


@dataclass
class _Utterance:
    """What is known of the utterance in flight."""

    text: str
    single_unit: bool
    seconds_left: float
    silence: SilenceWatch
    unit: _Unit | None = None
    delivered: bool = False
    failure: str = ""
    damage: str = ""
    retry_as_pcm: bool = False
    deadline_s: float | None = None
    timeout_damage: str = ""


@dataclass
class ClientSession:
    """One connection from its first message to its end; a new connection needs a new object.

    Every method that takes ``now_s`` takes a monotonic clock's seconds. Nothing is sent: what is to be
    sent is in :meth:`data_to_send`, and what happened is in the returned events.
    """

    spec: CodecSpec
    mode: Mode = Mode.UNKNOWN
    keepalive: bool = True
    _config: m.SessionConfig = field(default_factory=m.SessionConfig)
    _phase: _Phase = _Phase.READY
    _utterance: _Utterance | None = None
    _probing: bool = False
    _flushes: int = 0
    _index_base: int | None = None
    _settle_deadline_s: float | None = None
    _last_sent_s: float = 0.0
    _closed: bool = False
    _outbox: list[str] = field(default_factory=list)
    _events: list[Event] = field(default_factory=list)

    # -- what the application wants ---------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether an utterance may be sent now."""
        return self._phase is _Phase.READY and not self._closed

    def send_config(self, config: m.SessionConfig, now_s: float) -> None:
        """Configure the following utterances; asks for codec tokens unless the mode is known to be PCM.

        Raises:
            MessageError: a field the protocol refuses, or an utterance is in flight.

        """
        if self._phase is not _Phase.READY:
            raise MessageError("session.config cannot be sent during an utterance")
        mode = PCM_MODE if self.mode is Mode.PCM else CODEC_MODE
        config = replace(config, output_mode=mode, stream_audio=True, response_format="pcm")
        if fault := config_fault(config):
            raise MessageError(fault)
        self._config = config
        self._send(config, now_s)

    def send_probe(self, now_s: float) -> None:
        """Ask, before any text, whether the server knows codec tokens; needs a config sent before."""
        self._probing = True
        self._send(m.InputCancel(), now_s)

    def send_utterance(self, text: str, now_s: float) -> None:
        """Send ``text`` and flush it.

        Raises:
            MessageError: an utterance is in flight, or the text is empty.

        """
        if not self.ready:
            raise MessageError("an utterance is in flight")
        if not text.strip():
            raise MessageError("there is no text to speak")
        self._phase = _Phase.SPEAKING
        self._utterance = self._new_utterance(text)
        self._flush(text, now_s)

    def send_cancel(self, now_s: float) -> list[Event]:
        """Abort the utterance in flight: it has ended for the listener at once."""
        if self._phase is _Phase.SPEAKING:
            self._end_early(Outcome.CANCELLED, "cancelled", now_s)
        return self._take_events()

    def send_close(self, now_s: float) -> None:
        """Ask the server to close the connection."""
        self._send(m.SessionClose(), now_s)

    def data_to_send(self) -> list[str]:
        """Return, once, the JSON messages to send in this order."""
        data, self._outbox = self._outbox, []
        return data

    # -- what the network brings ------------------------------------------------------------------------

    def receive_text(self, text: str, now_s: float) -> list[Event]:
        """Take a JSON message."""
        try:
            message = m.parse_from_server(text)
        except MessageError as error:
            self._report(AnomalyKind.BAD_MESSAGE, str(error))
            return self._take_events()
        match message:
            case m.ErrorMessage():
                self._on_error(message.message, now_s)
            case m.InputCancelled():
                self._on_input_cancelled()
            case m.SessionDone():
                self._on_session_done(message, now_s)
            case m.CodecStart():
                self._on_codec_start(message, now_s)
            case m.CodecContext():
                self._on_context(message)
            case m.CodecDone():
                self._on_codec_done(message, now_s)
            case m.AudioStart():
                self._on_audio_start(message)
            case m.AudioDone():
                self._on_audio_done(message, now_s)
            case m.Unknown():
                self._report(AnomalyKind.UNKNOWN_MESSAGE, message.type)
        return self._take_events()

    def receive_bytes(self, data: bytes, now_s: float) -> list[Event]:
        """Take a binary message."""
        utterance = self._utterance
        if self._phase is not _Phase.SPEAKING or utterance is None or utterance.unit is None:
            self._report(AnomalyKind.LATE, f"{len(data)} bytes")
        elif utterance.unit.assembler is not None:
            self._on_packet(utterance, utterance.unit.assembler, data, now_s)
        else:
            self._on_pcm(utterance, utterance.unit, data, now_s)
        return self._take_events()

    def receive_eof(self, reason: str) -> list[Event]:
        """Take the end of the connection, whatever its close code; an utterance in flight is incomplete."""
        self._closed = True
        if self._phase is _Phase.SPEAKING and self._utterance is not None:
            self._utterance.damage = self._utterance.damage or f"the connection ended: {reason}"
            self._end_utterance()
        self._phase = _Phase.READY
        return self._take_events()

    # -- time -------------------------------------------------------------------------------------------

    @property
    def deadline_s(self) -> float | None:
        """The instant at which :meth:`tick` has something to do, or ``None``."""
        if self._phase is _Phase.SPEAKING and self._utterance is not None:
            return self._utterance.deadline_s
        if self._phase is _Phase.SETTLING:
            return self._settle_deadline_s
        return self._last_sent_s + KEEPALIVE_S if self.keepalive and not self._closed else None

    def tick(self, now_s: float) -> list[Event]:
        """Let time pass: end what has gone quiet, leave what does not confirm, keep an idle link alive."""
        deadline_s = self.deadline_s
        if deadline_s is None or now_s < deadline_s:
            return []
        if self._phase is _Phase.SPEAKING and self._utterance is not None:
            utterance = self._utterance
            if utterance.retry_as_pcm:
                self._retry_as_pcm(utterance, now_s)
            else:
                utterance.damage = utterance.damage or utterance.timeout_damage
                self._end_utterance()
                self._become_ready()
        elif self._phase is _Phase.SETTLING:
            self._leave("the server did not confirm the cancel")
        else:
            self._send(m.InputText(""), now_s)
        return self._take_events()

    # -- one method a message ---------------------------------------------------------------------------

    def _on_error(self, text: str, now_s: float) -> None:
        if self._probing and text.startswith(_UNKNOWN_TYPE):
            self._probing = False
            self._learn_mode(Mode.PCM, "the server does not know codec tokens, it decodes itself")
        elif self._phase is _Phase.SETTLING and text.startswith(_UNKNOWN_TYPE):
            self._leave("the server cannot cancel")
        elif self._phase is _Phase.SPEAKING and self._utterance is not None:
            if _MODE_UNSUPPORTED in text and self.mode is not Mode.PCM and not self._utterance.delivered:
                self._utterance.retry_as_pcm = True
            else:
                self._utterance.failure = self._utterance.failure or text
            self._utterance.deadline_s = now_s + ERROR_GRACE_S
        elif self._phase is _Phase.READY:
            self._events.append(ServerSaid(text))

    def _on_input_cancelled(self) -> None:
        if self._probing:
            self._probing = False
            self._learn_mode(Mode.CODEC, "the server streams codec tokens")
        elif self._phase is _Phase.SETTLING:
            self._become_ready()

    def _on_session_done(self, message: m.SessionDone, now_s: float) -> None:
        if self._is_stale(message.utterance_index):
            return
        if self._phase is _Phase.SETTLING:
            self._become_ready()
        elif self._phase is _Phase.SPEAKING and self._utterance is not None:
            if self._utterance.retry_as_pcm:
                self._retry_as_pcm(self._utterance, now_s)
                return
            self._close_unit(None)
            self._end_utterance()
            self._become_ready()

    def _on_codec_start(self, message: m.CodecStart, now_s: float) -> None:
        utterance = self._speaking(message.utterance_index)
        if utterance is None:
            return
        self._close_unit(None)
        if fault := message.mismatch(self.spec):
            utterance.failure = fault
            self._end_early(Outcome.FAILED, fault, now_s)
            return
        self._learn_mode(Mode.CODEC, "the server streams codec tokens")
        utterance.deadline_s = None
        utterance.unit = _Unit(message.sentence_index, UnitAssembler(self.spec))
        self._events.append(UnitStarted(message.sentence_index, message.sentence_text or ""))

    def _on_context(self, message: m.CodecContext) -> None:
        unit = self._utterance.unit if self._phase is _Phase.SPEAKING and self._utterance else None
        if unit is None or unit.assembler is None:
            return
        try:
            codes = message.codes(self.spec.codebooks)
        except MessageError as error:
            self._report(AnomalyKind.BAD_CONTEXT, str(error))
            return
        outside = (codes < 0) | (codes >= self.spec.codebook_size)
        if outside.any():
            self._report(AnomalyKind.BAD_CONTEXT, f"code {codes[outside][0]} is outside the codebook")
        elif unit.assembler.frames_arrived:
            self._report(AnomalyKind.BAD_CONTEXT, "it came after the first frames")
        else:
            self._events.append(ContextArrived(codes))

    def _on_codec_done(self, message: m.CodecDone, now_s: float) -> None:
        utterance = self._speaking(message.utterance_index)
        if utterance is None:
            return
        if message.error:
            utterance.failure = utterance.failure or "the server could not finish the sentence"
        elif message.cancelled:
            utterance.damage = utterance.damage or "the server cancelled it"
        self._close_unit(message.total_frames)
        utterance.timeout_damage = ""
        utterance.deadline_s = now_s + (END_GRACE_S if utterance.single_unit else QUIET_S)

    def _on_audio_start(self, message: m.AudioStart) -> None:
        utterance = self._speaking(message.utterance_index)
        if utterance is None:
            return
        self._learn_mode(Mode.PCM, "the server answered with PCM: it decodes itself")
        if message.format not in ("pcm", "pcm16", "s16le") or not 1_000 <= message.sample_rate <= 768_000:
            utterance.failure = (
                f"the server sends {message.format} at {message.sample_rate} Hz, only PCM can be played"
            )
            utterance.unit = None
            return
        utterance.unit = _Unit(message.sentence_index, pcm_rate_hz=message.sample_rate)
        self._events.append(UnitStarted(message.sentence_index, message.sentence_text or ""))

    def _on_audio_done(self, message: m.AudioDone, now_s: float) -> None:
        utterance = self._speaking(message.utterance_index)
        if utterance is None:
            return
        if message.error:
            utterance.failure = utterance.failure or "the server could not finish the sentence"
        self._close_unit(None)
        utterance.deadline_s = now_s + QUIET_S

    def _on_packet(self, utterance: _Utterance, assembler: UnitAssembler, data: bytes, now_s: float) -> None:
        try:
            packet = unpack(data, self.spec.codebooks)
        except PacketError as error:
            self._report(AnomalyKind.BAD_PACKET, str(error))
            return
        utterance.timeout_damage = f"the server fell silent for {QUIET_S:.0f} s"
        utterance.deadline_s = now_s + QUIET_S
        for found in assembler.take(packet):
            if isinstance(found, Anomaly):
                self._events.append(found)
            elif not self._deliver(utterance, found):
                self._end_early(Outcome.CUT_OFF, _RAN_AWAY, now_s)
                return
        if assembler.ended:
            utterance.timeout_damage = ""
            utterance.deadline_s = now_s + (END_GRACE_S if utterance.single_unit else QUIET_S)

    def _deliver(self, utterance: _Utterance, run: FrameRun) -> bool:
        """Hand frames on; false once the talker has run away."""
        codes = run.codes[: round(utterance.seconds_left * self.spec.frame_rate_hz)]
        utterance.seconds_left -= len(codes) * self.spec.frame_s
        utterance.delivered = True
        if len(codes):
            self._events.append(FramesArrived(codes, run.fresh))
        return len(codes) == len(run.codes) and not utterance.silence.is_stuck(codes)

    def _on_pcm(self, utterance: _Utterance, unit: _Unit, data: bytes, now_s: float) -> None:
        data = unit.odd_byte + data
        whole = len(data) // 2 * 2
        unit.odd_byte = data[whole:]
        if not whole:
            return
        utterance.delivered = True
        pcm = np.frombuffer(data[:whole], "<i2").astype(np.float32) / 32768.0
        self._events.append(PcmArrived(pcm, unit.pcm_rate_hz))
        utterance.seconds_left -= len(pcm) / unit.pcm_rate_hz
        if utterance.seconds_left < 0:
            self._end_early(Outcome.CUT_OFF, _RAN_AWAY, now_s)

    # -- the phases -------------------------------------------------------------------------------------

    def _new_utterance(self, text: str) -> _Utterance:
        return _Utterance(
            text=text,
            single_unit=self._config.split_granularity in (None, "none"),
            seconds_left=budget_s(text),
            silence=SilenceWatch(self.spec.frame_rate_hz),
        )

    def _flush(self, text: str, now_s: float) -> None:
        for piece in _pieces(text):
            self._send(m.InputText(piece), now_s)
        self._send(m.InputDone(), now_s)
        self._flushes += 1

    def _retry_as_pcm(self, utterance: _Utterance, now_s: float) -> None:
        self._learn_mode(Mode.PCM, "the loaded model cannot send codec tokens, the server decodes")
        self._config = replace(self._config, output_mode=PCM_MODE)
        self._utterance = self._new_utterance(utterance.text)
        self._send(self._config, now_s)
        self._flush(utterance.text, now_s)

    def _speaking(self, utterance_index: int | None) -> _Utterance | None:
        """Return the utterance in flight if a message with this index can belong to it."""
        stale = self._is_stale(utterance_index)
        return None if stale or self._phase is not _Phase.SPEAKING else self._utterance

    def _is_stale(self, utterance_index: int | None) -> bool:
        """Whether a message is of an utterance before the newest; servers count flushes from some base."""
        if utterance_index is None or not self._flushes:
            return False
        newest = self._flushes - 1
        if self._index_base is None or utterance_index > self._index_base + newest:
            self._index_base = utterance_index - newest
        return utterance_index < self._index_base + newest

    def _close_unit(self, announced_frames: int | None) -> None:
        utterance = self._utterance
        if utterance is None or utterance.unit is None:
            return
        unit, utterance.unit = utterance.unit, None
        frames = 0
        if unit.assembler is not None:
            frames = unit.assembler.frames_arrived
            utterance.damage = utterance.damage or unit.assembler.damage
            if announced_frames is not None and announced_frames != frames:
                detail = f"{frames} frames arrived, the server sent {announced_frames}"
                utterance.damage = utterance.damage or detail
                self._report(AnomalyKind.TOTALS, detail)
        self._events.append(UnitEnded(unit.sentence_index, frames))

    def _end_utterance(self) -> None:
        utterance = self._utterance
        if utterance is None:
            return
        self._close_unit(None)
        if utterance.failure:
            ended = UtteranceEnded(Outcome.FAILED, utterance.failure)
        elif utterance.damage:
            ended = UtteranceEnded(Outcome.INCOMPLETE, utterance.damage)
        elif utterance.delivered:
            ended = UtteranceEnded(Outcome.COMPLETE, "")
        elif self.mode is Mode.PCM:
            ended = UtteranceEnded(Outcome.EMPTY, "the server produced neither audio nor codec frames")
        else:
            ended = UtteranceEnded(Outcome.EMPTY, "the server sent no audio")
        self._utterance = None
        self._events.append(ended)

    def _end_early(self, outcome: Outcome, reason: str, now_s: float) -> None:
        """End the utterance for the listener now; the server has still to confirm the cancel."""
        self._close_unit(None)
        self._utterance = None
        self._events.append(UtteranceEnded(outcome, reason))
        self._phase = _Phase.SETTLING
        self._settle_deadline_s = now_s + SETTLE_S
        if self.mode is Mode.PCM:
            # A stock server does not read while it generates; closing the socket is what stops it.
            self._leave("a server that decodes itself can only be stopped by leaving it")
        else:
            self._send(m.InputCancel(), now_s)

    def _become_ready(self) -> None:
        self._phase = _Phase.READY
        self._events.append(WireReady())

    def _leave(self, reason: str) -> None:
        self._closed = True
        self._phase = _Phase.READY
        self._events.append(LinkUseless(reason))

    def _learn_mode(self, mode: Mode, reason: str) -> None:
        if self.mode is not mode:
            self.mode = mode
            self._events.append(ModeKnown(mode, reason))

    def _report(self, kind: AnomalyKind, detail: str) -> None:
        self._events.append(Anomaly(kind, 1, detail))

    def _send(self, message: m.Message, now_s: float) -> None:
        self._last_sent_s = now_s
        self._outbox.append(message.to_json())

    def _take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events


def _pieces(text: str) -> list[str]:
    """Cut ``text`` into messages of at most 128 KiB of UTF-8, never inside a character."""
    limit_chars = m.MAX_TEXT_BYTES // 4
    return [text[i : i + limit_chars] for i in range(0, len(text), limit_chars)]
