"""A client and a server that may send anything, in any order, at any time, and end the link as it likes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.errors import MessageError
from decoder.wire import messages as m
from decoder.wire.assembler import Anomaly
from decoder.wire.client import MAX_ERROR_CHARS, ClientSession
from decoder.wire.events import (
    ContextArrived,
    Event,
    FramesArrived,
    LinkUseless,
    PcmArrived,
    ServerSaid,
    UnitEnded,
    UnitStarted,
    UtteranceEnded,
)
from tests.decoder.wire.junk import server_junk
from tests.decoder.wire.lines import (
    EOS,
    NOW_S,
    SPEC,
    audio_done,
    audio_start,
    codec_done,
    codec_start,
    error,
    frames,
    line,
    packet,
    session_done,
)

Step = tuple[str, Any]
LONGEST_REASON_CHARS = MAX_ERROR_CHARS + 500
"""Of what is told to people: a server's megabyte of words is no news."""


class Listener:
    """Plays an application, and checks each event as it comes."""

    def __init__(self) -> None:
        self.client = ClientSession(SPEC)
        self.client.send_config(m.SessionConfig(accept_codec_context=True), NOW_S)
        self.now_s = NOW_S
        self.asked = self.ended = 0
        self.is_over = False
        self._unit_is_open = False

    @property
    def in_flight(self) -> bool:
        return self.ended < self.asked

    def do(self, step: Step) -> None:
        what, value = step
        match what:
            case "say" if self.client.ready:
                assert not self.in_flight
                self.client.send_utterance("Some words.", self.now_s)
                self.asked += 1
            case "say":
                try:
                    self.client.send_utterance("Some words.", self.now_s)
                except MessageError:
                    return
                raise AssertionError("an utterance was taken while another one was in flight")
            case "cancel":
                self.take(self.client.send_cancel(self.now_s))
                assert not self.in_flight, "cancelled is over for the listener, at once"
            case "probe" if self.client.ready:
                self.client.send_probe(self.now_s)
            case "wait":
                self.now_s += value
                self.take(self.client.tick(self.now_s))
            case "end of the link":
                self.take(self.client.receive_eof(value))
                self.is_over = True
            case "message" if isinstance(value, str):
                self.take(self.client.receive_text(value, self.now_s))
            case "message":
                self.take(self.client.receive_bytes(value, self.now_s))
        for text in self.client.data_to_send():
            assert not isinstance(m.parse_from_client(text), m.Unknown)

    def take(self, events: list[Event]) -> None:
        for event in events:
            assert not self.is_over, "nothing happens on a link that has ended"
            match event:
                case UtteranceEnded():
                    assert self.in_flight, "an utterance ends once"
                    assert len(event.reason) < LONGEST_REASON_CHARS
                    assert not self._unit_is_open
                    self.ended += 1
                case UnitStarted():
                    assert self.in_flight
                    assert not self._unit_is_open
                    self._unit_is_open = True
                case UnitEnded():
                    assert self._unit_is_open
                    self._unit_is_open = False
                case FramesArrived() | ContextArrived():
                    assert self.in_flight
                    assert self._unit_is_open
                    assert event.codes.dtype == np.int16
                    assert event.codes.shape[1:] == (SPEC.codebooks,)
                    assert len(event.codes)
                    assert 0 <= event.codes.min() <= event.codes.max() < SPEC.codebook_size
                    assert event.codes.any(axis=1).all(), "no placeholder is decoded"
                case PcmArrived():
                    assert self.in_flight
                    assert self._unit_is_open
                    assert event.pcm.dtype == np.float32
                    assert np.abs(event.pcm).max() <= 1.0
                case ServerSaid():
                    assert len(event.message) < LONGEST_REASON_CHARS
                case Anomaly():
                    assert len(event.detail) < LONGEST_REASON_CHARS
                case LinkUseless():
                    assert not self.client.ready


good = st.integers(0, 2).flatmap(
    lambda index: st.sampled_from(
        [
            codec_start(index),
            codec_start(index, unit=1),
            packet(0, frames(3)),
            packet(1, frames(2, seed=1)),
            packet(2, None, EOS),
            codec_done(index, total_frames=5, seq_last=2),
            codec_done(index, error=True),
            codec_done(index, cancelled=True),
            audio_start(index),
            b"\x01\x02" * 40,
            audio_done(index, total_bytes=80),
            session_done(index),
            session_done(None),
            line("input.cancelled"),
            error("Generation failed for utterance 0, sentence 0: no"),
            error("output_mode='codec_tokens' is not supported by the loaded TTS model."),
            error("Unknown message type: input.cancel"),
            error("Idle timeout: no message received"),
            error("x" * 1_000_000),
            line("x" * 1_000_000),
        ]
    )
)
steps: st.SearchStrategy[Step] = st.one_of(
    st.just(("say", None)),
    st.just(("say", None)),
    st.just(("cancel", None)),
    st.just(("probe", None)),
    st.sampled_from([0.1, 0.6, 2.1, 10.1, 25.0]).map(lambda s: ("wait", s)),
    good.map(lambda message: ("message", message)),
    good.map(lambda message: ("message", message)),
    server_junk().map(lambda message: ("message", message)),
)
ends = st.sampled_from(["", "connection lost", *(f"bye (code {code})" for code in range(1000, 1016))])


@settings(max_examples=400, deadline=None)
@given(st.lists(steps, max_size=60), ends)
def test_every_utterance_ends_once_and_is_silent_from_then_on(script: list[Step], end: str) -> None:
    """Nothing raises; frames, units and PCM come within an utterance only, and no bad code comes out."""
    listener = Listener()
    for step in script:
        listener.do(step)
    listener.do(("end of the link", end))
    assert listener.ended == listener.asked
    assert not listener.client.ready
    for step in script:
        if step[0] in ("message", "wait", "cancel"):
            listener.do(step)


@settings(max_examples=4000, deadline=None)
@given(st.lists(steps, max_size=40))
def test_an_application_that_cancels_and_waits_can_speak_again_or_has_to_leave(script: list[Step]) -> None:
    """Whatever came, no state is left in which the wire is neither free nor of no use."""
    listener = Listener()
    for step in script:
        listener.do(step)
    listener.do(("cancel", None))
    for _ in range(3):
        listener.do(("wait", 30.0))
    useless = listener.client.deadline_s is None
    assert listener.client.ready or useless
