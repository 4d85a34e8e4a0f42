"""The server's end of one connection, without I/O: what a client asks in, messages to send out.

Every server of ours (the emulator, the reference talker, the plug-in) reads its socket all the time and
hands what it gets to :meth:`ServerSession.receive_text`; it is told what to do by the returned events and
says what it does through the ``start_``, ``send_`` and ``end_`` methods.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from decoder.errors import MessageError
from decoder.spec import CodecSpec
from decoder.wire import messages as m
from decoder.wire.packets import MAX_PACKET_FRAMES, SEQ_MODULUS, Codes, Flags, as_codes, pack
from decoder.wire.rules import CODEC_MODE, PCM_MODE, config_fault

CONFIG_TIMEOUT_S = 10.0
IDLE_TIMEOUT_S = 30.0
MAX_WAITING_BYTES = 4 * 1024 * 1024
"""Of text that was sent and is not being spoken: days of speech, and an end to what a client may pile up."""
MAX_WAITING_UTTERANCES = 1000
NO_CODEC_MODE = "output_mode='codec_tokens' is not supported by the loaded TTS model."
NO_PCM = "this server does not decode and has no PCM to send: set output_mode to 'codec_tokens'"
CONFIG_OUT_OF_PLACE = "session.config cannot be applied while an utterance is in progress"


@dataclass(frozen=True)
class UtteranceRequested:
    """Speak ``text``; answer with units and then :meth:`ServerSession.end_utterance`."""

    utterance_index: int
    text: str
    config: m.SessionConfig

    @property
    def wants_codec(self) -> bool:
        """Whether codec tokens were asked for."""
        return self.config.output_mode == CODEC_MODE


@dataclass(frozen=True)
class CancelRequested:
    """Stop speaking: end the unit as cancelled, then the utterance."""


@dataclass(frozen=True)
class CloseRequested:
    """Close the socket with ``code``, or drop it without a close frame if that is 1006."""

    code: int


ServerEvent = UtteranceRequested | CancelRequested | CloseRequested


class _Phase(Enum):
    UNCONFIGURED = auto()
    IDLE = auto()
    SPEAKING = auto()
    CLOSED = auto()


@dataclass(frozen=True)
class ServerTraits:
    """What kind of server this end plays."""

    codec: bool = True
    """Knows ``output_mode`` and ``input.cancel``; a stock server ignores one and refuses the other, and reads
    nothing while it speaks: what comes meanwhile is taken after the utterance."""
    pcm: bool = True
    """Sends PCM, too; a server that does not decode refuses a ``session.config`` that asks for it."""
    old_generation: bool = False
    """``input.done`` ends the connection and nothing has an ``utterance_index``."""
    config_timeout_s: float = CONFIG_TIMEOUT_S
    idle_timeout_s: float = IDLE_TIMEOUT_S
    model: str = "Qwen3-TTS"


@dataclass
class _Unit:
    sentence_index: int
    frames: int = 0
    seq: int = 0
    eos_sent: bool = False


@dataclass
class ServerSession:
    """One connection from its first message to its end."""

    spec: CodecSpec
    traits: ServerTraits = field(default_factory=ServerTraits)
    opened_s: float = 0.0
    utterances: int = 0
    """Utterances of the connection so far; not 0 from the start where another session went before."""
    _phase: _Phase = _Phase.UNCONFIGURED
    _config: m.SessionConfig = field(default_factory=m.SessionConfig)
    _text: list[str] = field(default_factory=list)
    _waiting: deque[str] = field(default_factory=deque)
    _unread: deque[str] = field(default_factory=deque)
    _waiting_bytes: int = 0
    _sentences: int = 0
    _unit: _Unit | None = None
    _last_heard_s: float | None = None
    _outbox: list[str | bytes] = field(default_factory=list)
    _events: list[ServerEvent] = field(default_factory=list)

    # -- what the client sends --------------------------------------------------------------------------

    def receive_text(self, text: str, now_s: float) -> list[ServerEvent]:
        """Take a JSON message; what is wrong with it is answered, never raised."""
        self._last_heard_s = now_s
        if self._phase is _Phase.SPEAKING and not self.traits.codec:
            self._unread.append(text)
        else:
            self._read(text)
        return self._take_events()

    def _read(self, text: str) -> None:
        if self._phase is _Phase.CLOSED:
            return
        if self._phase is _Phase.UNCONFIGURED:
            self._first_message(text)
            return
        try:
            message = m.parse_from_client(text)
        except MessageError as error:
            self.send_error(str(error))
            return
        match message:
            case m.SessionConfig():
                self._reconfigure(message)
            case m.InputText():
                self._append(message.text)
            case m.InputDone():
                self._flush()
            case m.InputCancel() if self.traits.codec:
                self._cancel()
            case m.SessionClose():
                self._close(1000)
            case m.Unknown():
                self.send_error(f"Unknown message type: {message.type[: m.MAX_SHOWN_CHARS]}")
            case m.Message():
                self.send_error(f"Unknown message type: {message.TYPE}")

    def receive_bytes(self, data: bytes) -> list[ServerEvent]:
        """Take a binary message: the protocol has none in this direction, so it ends the session."""
        self._fail(f"a client sends text messages only, got {len(data)} bytes")
        return self._take_events()

    @property
    def is_configured(self) -> bool:
        """Whether a first ``session.config`` was taken, and the session has not ended."""
        return self._phase in (_Phase.IDLE, _Phase.SPEAKING)

    @property
    def is_busy(self) -> bool:
        """Whether it speaks or has text to speak: no other ``session.config`` may come between."""
        return self._phase is _Phase.SPEAKING or any(self._text)

    @property
    def deadline_s(self) -> float | None:
        """The instant at which :meth:`tick` gives up on the client, or ``None`` while speaking and closed."""
        if self._phase is _Phase.UNCONFIGURED:
            return self.opened_s + self.traits.config_timeout_s
        if self._phase is not _Phase.IDLE or self._last_heard_s is None:
            return None
        return self._last_heard_s + self.traits.idle_timeout_s

    def tick(self, now_s: float) -> list[ServerEvent]:
        """Let time pass: a client that says nothing is told so and dropped."""
        if self.deadline_s is None or now_s < self.deadline_s:
            return []
        if self._phase is _Phase.UNCONFIGURED:
            self._fail("Timeout waiting for session.config")
        else:
            self._fail("Idle timeout: no message received")
        return self._take_events()

    # -- what the server says ---------------------------------------------------------------------------

    def data_to_send(self) -> list[str | bytes]:
        """Return, once, the messages to send in this order."""
        data, self._outbox = self._outbox, []
        return data

    def start_unit(self, text: str, spec: CodecSpec | None = None) -> None:
        """Begin the next unit of codec tokens; ``spec`` is announced in place of the session's own."""
        self._unit = _Unit(self._sentences)
        self._sentences += 1
        start = m.CodecStart.of(
            spec or self.spec, self._index, self._unit.sentence_index, text, self.traits.model
        )
        self._send(start)

    def send_context(self, codes: Codes) -> None:
        """Send reference codes ``[frames, codebooks]`` of the unit just started, if the client takes them."""
        self._open_unit()
        if self._config.accept_codec_context:
            self._send(m.CodecContext.of(codes))

    def send_frames(self, frames: Any, flags: Flags = Flags.NONE) -> None:
        """Send frames (see :func:`decoder.wire.packets.pack`) as one packet, or more if they are too many.

        Of several packets the first carries RESET, and the last EOS and SEGMENT_END.
        """
        unit = self._open_unit()
        codes = as_codes(frames)
        for start in range(0, max(len(codes), 1), MAX_PACKET_FRAMES):
            piece = codes[start : start + MAX_PACKET_FRAMES]
            bits = int(flags)
            if start > 0:
                bits &= ~Flags.RESET.value
            if start + MAX_PACKET_FRAMES < len(codes):
                bits &= ~(Flags.EOS.value | Flags.SEGMENT_END.value)
            self._outbox.append(pack(unit.seq, piece, bits))
            unit.seq += 1
            unit.frames += len(piece)
        unit.eos_sent = unit.eos_sent or bool(flags & Flags.EOS)

    def end_unit(self, *, error: bool = False, cancelled: bool = False) -> None:
        """End the unit; sends EOS unless the last frames carried it or the unit failed."""
        unit = self._open_unit()
        if not unit.eos_sent and not error:
            self.send_frames(None, Flags.EOS)
        done = m.CodecDone(
            sentence_index=unit.sentence_index,
            utterance_index=self._index,
            total_frames=unit.frames,
            seq_last=(unit.seq - 1) % SEQ_MODULUS if unit.seq else None,
            error=error,
            cancelled=cancelled,
        )
        self._send(done)
        self._unit = None

    def start_audio(self, text: str, rate_hz: int) -> None:
        """Begin the next unit of PCM, as a stock server does."""
        self._unit = _Unit(self._sentences)
        self._sentences += 1
        self._send(
            m.AudioStart("pcm", rate_hz, self._unit.sentence_index, self._index, text),
        )

    def send_pcm(self, data: bytes) -> None:
        """Send 16-bit little-endian PCM."""
        self._open_unit().frames += len(data)
        self._outbox.append(data)

    def end_audio(self, *, error: bool = False, cancelled: bool = False) -> None:
        """End the unit of PCM."""
        unit = self._open_unit()
        self._send(
            m.AudioDone(unit.frames, error, unit.sentence_index, self._index, True if cancelled else None)
        )
        self._unit = None

    def end_utterance(self, now_s: float) -> list[ServerEvent]:
        """End the utterance; the returned events begin the next one, if it was flushed already."""
        if self._phase is _Phase.CLOSED:
            return []
        self._send(m.SessionDone(self._index, self._sentences))
        self._phase = _Phase.IDLE
        self._last_heard_s = now_s
        if self.traits.old_generation:
            self._close(1000)
        elif self._waiting:
            self._request(self._waiting.popleft())
        while self._unread and self._phase is _Phase.IDLE:
            self._read(self._unread.popleft())
        return self._take_events()

    def send_error(self, text: str) -> None:
        """Tell the client what went wrong."""
        self._send(m.ErrorMessage(text))

    # -- inside -----------------------------------------------------------------------------------------

    @property
    def _index(self) -> int | None:
        return None if self.traits.old_generation else self.utterances - 1

    def _open_unit(self) -> _Unit:
        if self._unit is None:
            raise MessageError("no unit has been started")
        return self._unit

    def _first_message(self, text: str) -> None:
        try:
            message = m.parse_from_client(text)
        except MessageError as error:
            self._fail(str(error))
            return
        if not isinstance(message, m.SessionConfig):
            got = message.type if isinstance(message, m.Unknown) else message.TYPE
            self._fail(f"Expected session.config, got: {got[: m.MAX_SHOWN_CHARS]}")
        elif fault := self._fault(message):
            self._fail(fault)
        else:
            self._config = message
            self._phase = _Phase.IDLE

    def _reconfigure(self, message: m.SessionConfig) -> None:
        if self.is_busy:
            self.send_error(CONFIG_OUT_OF_PLACE)
        elif fault := self._fault(message):
            self.send_error(fault)
        else:
            self._config = message

    def _fault(self, config: m.SessionConfig) -> str | None:
        if not self.traits.pcm and config.output_mode in (None, PCM_MODE):
            return NO_PCM
        # A stock server knows nothing of output_mode and ignores it.
        return config_fault(config if self.traits.codec else replace(config, output_mode=None))

    def _append(self, text: str) -> None:
        size_bytes = _size_bytes(text)
        if size_bytes > m.MAX_TEXT_BYTES:
            self.send_error(f"input.text has {size_bytes} bytes, at most {m.MAX_TEXT_BYTES} are taken")
        elif self._waiting_bytes + size_bytes > MAX_WAITING_BYTES:
            self.send_error(
                f"input.text was not taken: {self._waiting_bytes} bytes of text wait to be spoken already"
            )
        elif text:
            self._text.append(text)
            self._waiting_bytes += size_bytes

    def _flush(self) -> None:
        text, self._text = "".join(self._text), []
        if self._phase is not _Phase.SPEAKING:
            self._request(text)
        elif len(self._waiting) < MAX_WAITING_UTTERANCES:
            self._waiting.append(text)
        else:
            self._waiting_bytes -= _size_bytes(text)
            self.send_error(f"input.done was not taken: {len(self._waiting)} utterances wait already")

    def _request(self, text: str) -> None:
        self._waiting_bytes -= _size_bytes(text)
        self.utterances += 1
        self._sentences = 0
        self._phase = _Phase.SPEAKING
        self._events.append(UtteranceRequested(self.utterances - 1, text, self._config))

    def _cancel(self) -> None:
        """Abort what is being spoken, and forget what was to follow it."""
        self._text.clear()
        self._waiting.clear()
        self._waiting_bytes = 0
        if self._phase is _Phase.SPEAKING:
            self._events.append(CancelRequested())
        else:
            self._send(m.InputCancelled())

    def _fail(self, text: str) -> None:
        """Every end that the server decides is an error and then a dropped socket."""
        if self._phase is not _Phase.CLOSED:
            self.send_error(text)
            self._close(1006)

    def _close(self, code: int) -> None:
        self._phase = _Phase.CLOSED
        self._events.append(CloseRequested(code))

    def _send(self, message: m.Message) -> None:
        self._outbox.append(message.to_json())

    def _take_events(self) -> list[ServerEvent]:
        events, self._events = self._events, []
        return events


def _size_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
