"""A server's session and a client that may send anything, while the server speaks and time passes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.wire import messages as m
from decoder.wire.packets import unpack
from decoder.wire.rules import config_fault
from decoder.wire.server import (
    CancelRequested,
    CloseRequested,
    ServerEvent,
    ServerSession,
    UtteranceRequested,
)
from tests.decoder.wire.junk import client_junk
from tests.decoder.wire.lines import NOW_S, SPEC, frames, line

LONGEST_ANSWER_CHARS = 500
"""Of an ``error``: it does not repeat whatever a client sends."""
CONFIG = {"output_mode": "codec_tokens"}
Step = tuple[str, Any]


class Speaker:
    """Plays the program around a session: it speaks what is asked for, and checks what is said."""

    def __init__(self) -> None:
        self.session = ServerSession(SPEC, opened_s=NOW_S)
        self.now_s = NOW_S
        self.speaking = False
        self.unit_is_open = False
        self.closes: list[int] = []
        self.said: list[dict[str, Any]] = []
        self.frames_sent: list[np.ndarray] = []
        self.frames_out: list[np.ndarray] = []

    def do(self, step: Step) -> None:
        what, value = step
        match what:
            case "text":
                self.take(self.session.receive_text(value, self.now_s))
            case "bytes":
                self.take(self.session.receive_bytes(value))
            case "wait":
                self.now_s += value
                self.take(self.session.tick(self.now_s))
            case "unit" if self.speaking and not self.unit_is_open:
                self.session.start_unit("words")
                self.unit_is_open = True
            case "frames" if self.unit_is_open:
                self.frames_sent.append(value)
                self.session.send_frames(value)
            case "end" if self.speaking:
                self.end_unit()
                self.end_utterance()
        self.look()

    def end_unit(self, *, cancelled: bool = False) -> None:
        if self.unit_is_open:
            self.session.end_unit(cancelled=cancelled)
            self.unit_is_open = False

    def end_utterance(self) -> None:
        self.speaking = False
        self.take(self.session.end_utterance(self.now_s))

    def take(self, events: list[ServerEvent]) -> None:
        for event in events:
            assert not self.closes, "nothing happens after a close"
            match event:
                case UtteranceRequested():
                    assert not self.speaking, "one utterance at a time"
                    assert config_fault(event.config) is None
                    event.text.encode()
                    self.speaking = True
                case CancelRequested():
                    assert self.speaking
                    self.end_unit(cancelled=True)
                    self.end_utterance()
                case CloseRequested():
                    self.closes.append(event.code)
                    assert event.code in (1000, 1006)
                    self.speaking = self.unit_is_open = False

    def look(self) -> None:
        for data in self.session.data_to_send():
            if isinstance(data, bytes):
                self.frames_out.append(unpack(data, SPEC.codebooks).codes)
                continue
            body = json.loads(data.encode())
            assert not isinstance(m.parse_from_server(data), m.Unknown)
            if body["type"] == "error":
                assert 0 < len(body["message"]) <= LONGEST_ANSWER_CHARS
            self.said.append(body)


steps: st.SearchStrategy[Step] = st.one_of(
    client_junk.map(lambda text: ("text", text)),
    client_junk.map(lambda text: ("text", text)),
    st.sampled_from(
        [
            line("session.config", **CONFIG),
            line("input.text", text="Hello."),
            line("input.done"),
            line("input.cancel"),
        ]
    ).map(lambda text: ("text", text)),
    st.integers(0, 4).map(lambda count: ("frames", frames(count, seed=count))),
    st.sampled_from([("unit", None), ("end", None), ("wait", 1.0), ("wait", 31.0), ("bytes", b"\x00")]),
)


@settings(max_examples=400, deadline=None)
@given(st.booleans(), st.lists(steps, max_size=40))
def test_whatever_a_client_sends_it_is_answered_in_words_and_frames_go_out_as_they_are(
    is_configured: bool, script: list[Step]
) -> None:
    """One utterance at a time, one close at most, nothing after it, every frame once."""
    speaker = Speaker()
    if is_configured:
        speaker.do(("text", line("session.config", **CONFIG)))
    for step in script:
        speaker.do(step)
    sent = np.concatenate([frames(0), *speaker.frames_sent])
    out = np.concatenate([frames(0), *speaker.frames_out])
    np.testing.assert_array_equal(sent, out)
    assert len(speaker.closes) <= 1
    if is_configured and not speaker.closes:
        speaker.do(("text", line("session.close")))
        assert speaker.closes == [1000]
