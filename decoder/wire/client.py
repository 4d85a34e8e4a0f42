"""The client's end of one connection, without I/O: messages and instants in, events and messages out.

::

    READY ──speak──▶ SPEAKING ──────────────────session.done──────────────────▶ READY
                        │                                                         ▲
         cancel, mismatch, runaway, silence ──▶ SETTLING ──session.done, input.cancelled

An utterance ends for the listener (:class:`UtteranceEnded`) when its outcome is known; the wire is free
for the next one (:class:`WireReady`) when the server has confirmed: by itself, or asked by a cancel. Frames
that arrive in between are of an ended utterance and are dropped. A server that does not confirm has to be
left (:class:`LinkUseless`), and so has one that serves one utterance a connection.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto

from decoder.errors import MessageError
from decoder.spec import CodecSpec
from decoder.wire import messages as m
from decoder.wire.assembler import Anomaly, AnomalyKind
from decoder.wire.events import (
    Event,
    LinkUseless,
    Mode,
    ModeKnown,
    Outcome,
    ServerSaid,
    UtteranceEnded,
    WireReady,
)
from decoder.wire.rules import CODEC_MODE, PCM_MODE, config_fault
from decoder.wire.utterance import RAN_AWAY, Utterance

SETTLE_S = 2.0
"""A cancel that is not confirmed in this time makes the link useless."""
KEEPALIVE_S = 20.0
"""Servers drop a link that says nothing for 30 s; an empty ``input.text`` is harmless."""

MAX_ERROR_CHARS = 2000
"""Of a server's ``error``: it is shown to people."""

_MODE_UNSUPPORTED = "is not supported by the loaded TTS model"
_UNKNOWN_TYPE = "Unknown message type"
_PCM_FORMATS = ("pcm", "pcm16", "s16le")
_PCM_RATES_HZ = range(1_000, 768_001)


class _Phase(Enum):
    READY = auto()
    SPEAKING = auto()
    SETTLING = auto()


@dataclass
class ClientSession:
    """One connection from its first message to its end; a new connection needs a new object.

    Every method that takes ``now_s`` takes a monotonic clock's seconds. Nothing is sent: what is to be
    sent is in :meth:`data_to_send`, and what happened is in the returned events.
    """

    spec: CodecSpec
    mode: Mode = Mode.UNKNOWN
    keepalive: bool = True
    _config: m.SessionConfig | None = None
    _phase: _Phase = _Phase.READY
    _utterance: Utterance | None = None
    """The utterance in flight: there is one if and only if the phase is SPEAKING."""
    _probing: bool = False
    _flushes: int = 0
    _index: int | None = None
    """The server's number of the newest utterance, once a message has named one."""
    _ended_index: int | None = None
    """The highest number that belongs to an utterance before the newest."""
    _cancel_landed: bool = False
    """The cancel met the utterance in flight: no ``input.cancelled`` will answer it."""
    _echo_due: bool = False
    """The utterance ended just before its cancel arrived: an ``input.cancelled`` is still on its way."""
    _settle_deadline_s: float = 0.0
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
            MessageError: a field the protocol refuses, a message beyond 4 MiB, or an utterance is in flight.

        """
        if self._phase is not _Phase.READY:
            raise MessageError("session.config cannot be sent during an utterance")
        mode = PCM_MODE if self.mode is Mode.PCM else CODEC_MODE
        config = replace(config, output_mode=mode, stream_audio=True, response_format="pcm")
        if fault := config_fault(config):
            raise MessageError(fault)
        size_bytes = len(config.to_json().encode())
        if size_bytes > m.MAX_MESSAGE_BYTES:
            limit_bytes = m.MAX_MESSAGE_BYTES
            raise MessageError(f"session.config has {size_bytes} bytes, at most {limit_bytes} are taken")
        self._config = config
        self._send(config, now_s)

    def send_probe(self, now_s: float) -> None:
        """Ask, before any text, whether the server knows codec tokens; needs a config sent before.

        Raises:
            MessageError: an utterance is in flight: the probe would cancel it.

        """
        if not self.ready:
            raise MessageError("an utterance is in flight, or the connection has ended")
        self._probing = True
        self._send(m.InputCancel(), now_s)

    def send_utterance(self, text: str, now_s: float) -> None:
        """Send ``text`` and flush it.

        Raises:
            MessageError: an utterance is in flight, the connection has ended, or the text is empty.

        """
        if not self.ready:
            raise MessageError("an utterance is in flight, or the connection has ended")
        if not text.strip():
            raise MessageError("there is no text to speak")
        self._phase = _Phase.SPEAKING
        self._flush(text, now_s)

    def send_cancel(self, now_s: float) -> list[Event]:
        """Abort the utterance in flight: it has ended for the listener at once."""
        if self._phase is _Phase.SPEAKING:
            self._end_early(UtteranceEnded(Outcome.CANCELLED, "cancelled"), now_s)
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
        """Take a JSON message; one that cannot be read is reported, never raised."""
        if self._closed:
            return []
        try:
            message = m.parse_from_server(text)
        except MessageError as error:
            self._on_unreadable(error, now_s)
            return self._take_events()
        match message:
            case m.ErrorMessage():
                self._on_error(message.message[:MAX_ERROR_CHARS], now_s)
            case m.InputCancelled():
                self._on_input_cancelled()
            case m.SessionDone():
                self._on_session_done(message, now_s)
            case m.CodecStart():
                self._on_codec_start(message, now_s)
            case m.CodecContext():
                self._on_context(message)
            case m.CodecDone():
                self._on_unit_done(message, message.total_frames, now_s)
            case m.AudioStart():
                self._on_audio_start(message, now_s)
            case m.AudioDone():
                self._on_unit_done(message, message.total_bytes, now_s)
            case m.Unknown():
                self._report(AnomalyKind.UNKNOWN_MESSAGE, message.type[: m.MAX_SHOWN_CHARS])
        return self._take_events()

    def receive_bytes(self, data: bytes, now_s: float) -> list[Event]:
        """Take a binary message."""
        if self._closed:
            return []
        if self._utterance is None:
            self._report(AnomalyKind.LATE, f"{len(data)} bytes")
            return self._take_events()
        self._events += self._utterance.take_bytes(data, now_s)
        if self._utterance.ran_away:
            self._end_early(UtteranceEnded(Outcome.CUT_OFF, RAN_AWAY), now_s)
        return self._take_events()

    def receive_eof(self, reason: str) -> list[Event]:
        """Take the end of the connection, whatever its close code; an utterance in flight is incomplete."""
        self._closed = True
        if self._utterance is not None:
            self._utterance.cut(f"the connection ended: {reason}")
            self._end_utterance(self._utterance)
        self._phase = _Phase.READY
        return self._take_events()

    # -- time -------------------------------------------------------------------------------------------

    @property
    def deadline_s(self) -> float | None:
        """The instant at which :meth:`tick` has something to do, or ``None``."""
        if self._utterance is not None:
            return self._utterance.deadline_s
        if self._phase is _Phase.SETTLING:
            return self._settle_deadline_s
        idles = self.keepalive and self._config is not None and not self._closed
        return self._last_sent_s + KEEPALIVE_S if idles else None

    def tick(self, now_s: float) -> list[Event]:
        """Let time pass: end what has gone quiet, leave what does not confirm, keep an idle link alive."""
        deadline_s = self.deadline_s
        if deadline_s is None or now_s < deadline_s:
            return []
        if self._utterance is not None:
            if not self._retry_as_pcm(self._utterance, now_s):
                self._utterance.time_out()
                self._end_early(None, now_s)
        elif self._phase is _Phase.SETTLING:
            self._leave("the server did not confirm the cancel")
        else:
            self._send(m.InputText(""), now_s)
        return self._take_events()

    # -- one method a message ---------------------------------------------------------------------------

    def _on_unreadable(self, error: MessageError, now_s: float) -> None:
        self._report(AnomalyKind.BAD_MESSAGE, str(error))
        if self._utterance is not None and error.message_type in (m.CodecStart.TYPE, m.AudioStart.TYPE):
            # What follows cannot be decoded: better one clear end than a unit that never begins.
            self._end_early(UtteranceEnded(Outcome.FAILED, str(error)), now_s)

    def _on_error(self, text: str, now_s: float) -> None:
        utterance = self._utterance
        if self._probing and text.startswith(_UNKNOWN_TYPE):
            self._probing = False
            self._learn_mode(Mode.PCM, "the server does not know codec tokens, it decodes itself")
        elif self._phase is _Phase.SETTLING and text.startswith(_UNKNOWN_TYPE):
            self._leave("the server cannot cancel")
        elif utterance is not None:
            if _MODE_UNSUPPORTED in text and self.mode is not Mode.PCM and not utterance.delivered:
                utterance.mode_refusal = text
                utterance.await_rest_after_error(now_s)
            else:
                utterance.take_error(text, now_s)
        elif self._phase is _Phase.READY:
            self._events.append(ServerSaid(text))

    def _on_input_cancelled(self) -> None:
        if self._echo_due:
            self._echo_due = False
        elif self._probing:
            self._probing = False
            self._learn_mode(Mode.CODEC, "the server streams codec tokens")
        elif self._phase is _Phase.SETTLING:
            self._become_ready()

    def _on_session_done(self, message: m.SessionDone, now_s: float) -> None:
        if self._phase is _Phase.READY or self._is_stale(message.utterance_index, starts=False):
            return
        if self._phase is _Phase.SETTLING:
            self._echo_due = not self._cancel_landed
        elif self._utterance is not None:
            if self._retry_as_pcm(self._utterance, now_s):
                return
            self._end_utterance(self._utterance)
        if self._index is None and message.utterance_index is None:
            self._leave("an older server ends the connection after one utterance")
        else:
            self._become_ready()

    def _on_codec_start(self, message: m.CodecStart, now_s: float) -> None:
        stale = self._is_stale(message.utterance_index, starts=True)
        utterance = self._utterance
        if stale or utterance is None:
            return
        if fault := message.mismatch(self.spec):
            self._end_early(UtteranceEnded(Outcome.FAILED, fault), now_s)
            return
        self._learn_mode(Mode.CODEC, "the server streams codec tokens")
        self._events += utterance.start_frames(message.sentence_index, message.sentence_text or "")

    def _on_context(self, message: m.CodecContext) -> None:
        if self._utterance is None:
            return
        if self._config is None or not self._config.accept_codec_context:
            self._report(AnomalyKind.BAD_CONTEXT, "it was not asked for")
        else:
            self._events += self._utterance.take_context(message)

    def _on_audio_start(self, message: m.AudioStart, now_s: float) -> None:
        if self._phase is _Phase.READY or self._is_stale(message.utterance_index, starts=True):
            return
        self._learn_mode(Mode.PCM, "the server answered with PCM: it decodes itself")
        if self._utterance is None:
            self._leave_pcm()
        elif message.format not in _PCM_FORMATS or message.sample_rate not in _PCM_RATES_HZ:
            fault = f"the server sends {message.format} at {message.sample_rate} Hz, only PCM can be played"
            self._end_early(UtteranceEnded(Outcome.FAILED, fault), now_s)
        else:
            text = message.sentence_text or ""
            self._events += self._utterance.start_pcm(message.sentence_index, text, message.sample_rate)

    def _on_unit_done(self, message: m.CodecDone | m.AudioDone, total: int | None, now_s: float) -> None:
        if self._phase is _Phase.READY or self._is_stale(message.utterance_index, starts=False):
            return
        if self._utterance is None:
            self._cancel_landed = self._cancel_landed or bool(message.cancelled)
        else:
            self._events += self._utterance.end_unit(
                now_s, total=total, failed=message.error, cancelled=message.cancelled
            )

    # -- the phases -------------------------------------------------------------------------------------

    def _flush(self, text: str, now_s: float) -> None:
        """Send ``text`` as a new utterance."""
        single_unit = self._config is None or self._config.split_granularity in (None, "none")
        self._utterance = Utterance(self.spec, text, single_unit)
        for piece in _pieces(text):
            self._send(m.InputText(piece), now_s)
        self._send(m.InputDone(), now_s)
        self._flushes += 1
        if self._index is not None:
            self._ended_index, self._index = self._index, None

    def _retry_as_pcm(self, utterance: Utterance, now_s: float) -> bool:
        """Speak ``utterance`` again as PCM, if that is what its refusal asks for; say whether."""
        if not utterance.mode_refusal or utterance.delivered:
            return False
        self._learn_mode(Mode.PCM, "the loaded model cannot send codec tokens, the server decodes")
        self._events += utterance.close_unit()
        self._config = replace(self._config or m.SessionConfig(), output_mode=PCM_MODE)
        self._send(self._config, now_s)
        self._flush(utterance.text, now_s)
        return True

    def _is_stale(self, utterance_index: int | None, *, starts: bool) -> bool:
        """Whether a message is of an utterance before the newest; also learns the newest one's number.

        Servers count flushes from 0 or from 1. A number that fits neither is not learnt from.
        """
        if utterance_index is None:
            return False
        if self._ended_index is not None and utterance_index <= self._ended_index:
            return True
        if self._ended_index is None and not starts and utterance_index < self._flushes - 1:
            return True
        if utterance_index in (self._flushes - 1, self._flushes):
            self._index = utterance_index if self._index is None else min(self._index, utterance_index)
        return False

    def _end_utterance(self, utterance: Utterance) -> None:
        """End the utterance for the listener as it is."""
        self._events += utterance.close_unit()
        self._utterance = None
        self._events.append(utterance.outcome(self.mode))

    def _end_early(self, ended: UtteranceEnded | None, now_s: float) -> None:
        """End the utterance for the listener, as it is or as ``ended``; the server has still to confirm."""
        utterance = self._utterance
        if utterance is None:
            return
        self._events += utterance.close_unit()
        self._utterance = None
        self._events.append(ended or utterance.outcome(self.mode))
        self._phase = _Phase.SETTLING
        self._cancel_landed = False
        self._settle_deadline_s = now_s + SETTLE_S
        if self.mode is Mode.PCM:
            self._leave_pcm()
        else:
            self._send(m.InputCancel(), now_s)

    def _become_ready(self) -> None:
        self._phase = _Phase.READY
        self._events.append(WireReady())

    def _leave(self, reason: str) -> None:
        self._closed = True
        self._phase = _Phase.READY
        self._events.append(LinkUseless(reason))

    def _leave_pcm(self) -> None:
        # A stock server does not read while it generates; closing the socket is what stops it.
        self._leave("a server that decodes itself can only be stopped by leaving it")

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
    """Cut ``text`` so that each message stays within 128 KiB, its JSON escapes (6 bytes each) included."""
    limit_chars = (m.MAX_TEXT_BYTES - len(m.InputText("").to_json())) // 6
    return [text[i : i + limit_chars] for i in range(0, len(text), limit_chars)]
