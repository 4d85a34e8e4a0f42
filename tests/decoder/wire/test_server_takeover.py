"""A session that goes on where another one was on its connection, as the plug-in does between modes."""

from __future__ import annotations

import json

from decoder.spec import CodecSpec
from decoder.wire.server import CloseRequested, ServerSession, UtteranceRequested
from tests.decoder.wire.lines import line

CONFIG = line("session.config", output_mode="codec_tokens")


def test_utterances_are_counted_on_from_the_session_before() -> None:
    session = ServerSession(CodecSpec(), utterances=3)
    session.receive_text(CONFIG, 0.0)
    (asked,) = session.receive_text(line("input.done"), 0.0)
    assert isinstance(asked, UtteranceRequested)
    assert asked.utterance_index == 3
    session.start_unit("text")
    session.end_unit()
    session.end_utterance(0.0)
    said = [json.loads(m) for m in session.data_to_send() if isinstance(m, str)]
    assert [m["utterance_index"] for m in said] == [3, 3, 3]
    assert session.utterances == 4


def test_it_is_configured_from_its_first_good_config_to_its_end() -> None:
    session = ServerSession(CodecSpec())
    assert not session.is_configured
    session.receive_text(CONFIG, 0.0)
    assert session.is_configured
    assert session.receive_text(line("session.close"), 0.0) == [CloseRequested(1000)]
    assert not session.is_configured
    refused = ServerSession(CodecSpec())
    refused.receive_text(line("session.config", output_mode="smoke signals"), 0.0)
    assert not refused.is_configured


def test_it_is_busy_with_text_and_with_speech() -> None:
    session = ServerSession(CodecSpec())
    session.receive_text(CONFIG, 0.0)
    session.receive_text(line("input.text", text=""), 0.0)
    assert not session.is_busy
    session.receive_text(line("input.text", text="Hello."), 0.0)
    assert session.is_busy
    session.receive_text(line("input.done"), 0.0)
    assert session.is_busy
    session.end_utterance(0.0)
    assert not session.is_busy
