"""The server's end: what it answers, refuses, and ends."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.errors import MessageError
from decoder.spec import CodecSpec
from decoder.wire import messages as m
from decoder.wire.packets import MAX_PACKET_FRAMES, Flags, unpack
from decoder.wire.server import (
    MAX_WAITING_BYTES,
    MAX_WAITING_UTTERANCES,
    NO_PCM,
    CancelRequested,
    CloseRequested,
    ServerEvent,
    ServerSession,
    ServerTraits,
    UtteranceRequested,
)
from tests.decoder.wire.junk import client_junk
from tests.decoder.wire.lines import NOW_S, SPEC, frames, line

CONFIG = line("session.config", output_mode="codec_tokens", stream_audio=True, response_format="pcm")
TEXT, DONE, CANCEL, CLOSE = (
    line("input.text", text="Hello."),
    line("input.done"),
    line("input.cancel"),
    line("session.close"),
)
STOCK = ServerTraits(codec=False)
OLD = ServerTraits(old_generation=True)


def configured(traits: ServerTraits | None = None, config: str = CONFIG) -> ServerSession:
    server = ServerSession(SPEC, traits or ServerTraits(), NOW_S)
    assert server.receive_text(config, NOW_S) == []
    assert server.data_to_send() == []
    return server


def speaking(traits: ServerTraits | None = None) -> ServerSession:
    server = configured(traits)
    give(server, TEXT, DONE)
    return server


def give(server: ServerSession, *texts: str) -> list[ServerEvent]:
    return [event for text in texts for event in server.receive_text(text, NOW_S)]


def said(server: ServerSession) -> list[dict[str, Any]]:
    """Return what the server says in JSON."""
    return [json.loads(data) for data in server.data_to_send() if isinstance(data, str)]


def errors(server: ServerSession) -> list[str]:
    return [body["message"] for body in said(server) if body["type"] == "error"]


# -- the first message --------------------------------------------------------------------------------


def test_no_acknowledgement_is_sent_for_a_config() -> None:
    """Nor for text."""
    server = configured()
    assert give(server, TEXT) == []
    assert server.data_to_send() == []


@pytest.mark.parametrize(
    "first",
    [TEXT, DONE, "no json", "[]", line("x"), line("session.config", output_mode="codec_tokens", speed=2.0),
     line("session.config", voice=7), line("session.config", ref_text="x")],
)  # fmt: skip
def test_a_wrong_first_message_ends_the_connection(first: str) -> None:
    """With an error, and without a close frame; nothing is taken after it."""
    server = ServerSession(SPEC)
    assert give(server, first) == [CloseRequested(1006)]
    assert len(errors(server)) == 1
    assert give(server, CONFIG, TEXT, DONE) == []
    assert server.deadline_s is None
    assert server.tick(NOW_S + 1e6) == []


def test_a_client_that_sends_no_config_has_ten_seconds() -> None:
    """Once."""
    server = ServerSession(SPEC, opened_s=NOW_S)
    assert server.deadline_s == NOW_S + 10
    assert server.tick(NOW_S + 9.9) == []
    assert server.tick(NOW_S + 10) == [CloseRequested(1006)]
    assert errors(server) == ["Timeout waiting for session.config"]
    assert server.tick(NOW_S + 11) == []


def test_a_client_that_says_nothing_has_thirty_seconds() -> None:
    """Any message resets the clock, an empty text included; it does not run while the server speaks."""
    server = configured()
    server.receive_text(line("input.text", text=""), NOW_S + 20)
    assert server.deadline_s == NOW_S + 50
    server.receive_text(DONE, NOW_S + 21)
    assert server.deadline_s is None
    server.end_utterance(NOW_S + 100)
    server.data_to_send()
    assert server.tick(NOW_S + 129) == []
    assert server.tick(NOW_S + 130) == [CloseRequested(1006)]
    assert errors(server) == ["Idle timeout: no message received"]


# -- later messages -----------------------------------------------------------------------------------


def test_text_is_collected_until_the_flush() -> None:
    """Utterances are counted from 0; the config is the one in force."""
    server = configured()
    (first,) = give(server, line("input.text", text="Hello, "), line("input.text", text="world."), DONE)
    assert isinstance(first, UtteranceRequested)
    assert (first.utterance_index, first.text, first.wants_codec) == (0, "Hello, world.", True)
    server.end_utterance(NOW_S)
    second = give(server, line("session.config", output_mode="pcm"), TEXT, DONE)[0]
    assert isinstance(second, UtteranceRequested)
    assert (second.utterance_index, second.text, second.wants_codec) == (1, "Hello.", False)


@pytest.mark.parametrize(
    "bad",
    ["no json", "[]", "{}", line("input.future"), line("input.text", text=5), line("input.text"),
     line("session.config", output_mode="codec_tokens", speed=1.5), line("session.config", seed="x"),
     line("input.text", text="x" * (128 * 1024 + 1)), line("codec.start")],
)  # fmt: skip
def test_a_bad_later_message_is_only_an_error(bad: str) -> None:
    """The session goes on with what it had."""
    server = configured()
    assert give(server, bad) == []
    assert len(errors(server)) == 1
    (request,) = give(server, TEXT, DONE)
    assert isinstance(request, UtteranceRequested)
    assert request.text == "Hello."
    assert request.wants_codec


def test_a_config_is_refused_while_text_waits_or_is_spoken() -> None:
    """Between utterances it is taken."""
    server = configured()
    give(server, line("input.text", text=""), CONFIG)
    assert errors(server) == []
    give(server, TEXT, CONFIG)
    assert len(errors(server)) == 1
    give(server, DONE, CONFIG)
    assert len(errors(server)) == 1


def test_a_cancel_while_idle_is_confirmed() -> None:
    """And forgets the text that was not flushed."""
    server = configured()
    assert give(server, TEXT, CANCEL) == []
    assert [b["type"] for b in said(server)] == ["input.cancelled"]
    (request,) = give(server, DONE)
    assert isinstance(request, UtteranceRequested)
    assert request.text == ""


def test_a_cancel_while_speaking_is_the_servers_to_confirm() -> None:
    """By the end of the unit, with EOS, and of the utterance; flushes that waited are forgotten."""
    server = speaking()
    server.start_unit("Hello.")
    server.send_frames(frames(3))
    server.data_to_send()
    assert give(server, TEXT, DONE, CANCEL) == [CancelRequested()]
    server.end_unit(cancelled=True)
    assert server.end_utterance(NOW_S) == []
    eos, done, session = server.data_to_send()
    assert isinstance(eos, bytes)
    assert unpack(eos, 16).flags == Flags.EOS
    assert json.loads(str(done))["cancelled"] is True
    assert json.loads(str(session)) == {"type": "session.done", "utterance_index": 0, "total_sentences": 1}


def test_a_flush_while_speaking_waits_its_turn() -> None:
    """In order."""
    server = speaking()
    assert give(server, line("input.text", text="B"), DONE, line("input.text", text="C"), DONE) == []
    for index, text in ((1, "B"), (2, "C")):
        (request,) = server.end_utterance(NOW_S)
        assert isinstance(request, UtteranceRequested)
        assert (request.utterance_index, request.text) == (index, text)
    assert server.end_utterance(NOW_S) == []


def test_session_close_closes_with_1000() -> None:
    """Also while speaking; what the speaker still ends then ends nothing."""
    assert give(configured(), CLOSE) == [CloseRequested(1000)]
    server = speaking()
    assert give(server, CLOSE) == [CloseRequested(1000)]
    assert server.end_utterance(NOW_S) == []
    assert give(server, TEXT, DONE) == []


def test_a_binary_message_ends_the_session() -> None:
    """A client sends text only."""
    server = configured()
    assert server.receive_bytes(b"abc") == [CloseRequested(1006)]
    assert len(errors(server)) == 1


# -- what it says -------------------------------------------------------------------------------------


def test_a_unit_is_start_packets_done() -> None:
    """seq counts from 0 in each unit; sentences count in the utterance."""
    server = speaking()
    for unit in range(2):
        server.start_unit(f"Sentence {unit}.")
        server.send_frames(frames(2))
        server.send_frames(frames(3), Flags.SEGMENT_END)
        server.end_unit()
        start, first, second, eos, done = server.data_to_send()
        body = json.loads(str(start))
        assert (body["type"], body["utterance_index"], body["sentence_index"]) == ("codec.start", 0, unit)
        assert (body["version"], body["codebooks"], body["header_format"]) == (1, 16, "<IHB")
        packets = [unpack(bytes(p), 16) for p in (first, second, eos)]  # type: ignore[arg-type]
        assert [(p.seq, p.n_frames, p.flags) for p in packets] == [(0, 2, 0), (1, 3, 2), (2, 0, 1)]
        assert json.loads(str(done)) == {
            "type": "codec.done",
            "utterance_index": 0,
            "sentence_index": unit,
            "total_frames": 5,
            "seq_last": 2,
            "error": False,
            "cancelled": False,
        }


def test_eos_is_sent_once() -> None:
    """With the last frames, or by itself; not at all after a failure."""
    server = speaking()
    server.start_unit("")
    server.send_frames(frames(2), Flags.EOS)
    server.end_unit()
    assert [type(d) for d in server.data_to_send()] == [str, bytes, str]
    server.start_unit("")
    server.end_unit(error=True)
    _, done = server.data_to_send()
    body = json.loads(str(done))
    assert body["error"] is True
    assert "seq_last" not in body


def test_more_frames_than_a_packet_holds_are_several_packets() -> None:
    """RESET comes with the first of them, EOS and a sentence's end with the last."""
    server = speaking()
    server.start_unit("")
    server.data_to_send()
    server.send_frames(
        np.ones((MAX_PACKET_FRAMES + 1, 16), np.int16), Flags.EOS | Flags.SEGMENT_END | Flags.RESET
    )
    first, second = (unpack(bytes(p), 16) for p in server.data_to_send())  # type: ignore[arg-type]
    assert (first.seq, first.n_frames, first.flags) == (0, MAX_PACKET_FRAMES, Flags.RESET)
    assert (second.seq, second.n_frames, second.flags) == (1, 1, Flags.EOS | Flags.SEGMENT_END)


def test_another_spec_can_be_announced() -> None:
    """For tests of clients."""
    server = speaking()
    server.start_unit("", CodecSpec(codebook_size=1024))
    assert said(server)[0]["codebook_size"] == 1024


def test_nothing_can_be_said_outside_of_a_unit() -> None:
    """A mistake of the server's author is an error, not a broken stream."""
    server = speaking()
    for say in (
        lambda: server.send_frames(frames(1)),
        lambda: server.send_pcm(b""),
        lambda: server.end_unit(),
        lambda: server.end_audio(),
        lambda: server.send_context(frames(1)),
    ):
        with pytest.raises(MessageError, match="no unit"):
            say()
    assert server.data_to_send() == []


@pytest.mark.parametrize("accepts", [True, False, None])
def test_a_context_is_sent_only_to_a_client_that_takes_it(accepts: bool | None) -> None:
    """The extension is negotiated; at most 72 frames are sent."""
    server = configured(config=line("session.config", accept_codec_context=accepts))
    give(server, TEXT, DONE)
    server.start_unit("")
    server.data_to_send()
    server.send_context(frames(100))
    bodies = said(server)
    assert [b["frames"] for b in bodies] == ([72] if accepts else [])


# -- a stock server -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [None, "pcm"])
def test_a_server_that_does_not_decode_refuses_pcm(mode: str | None) -> None:
    traits = ServerTraits(pcm=False)
    server = configured(traits)
    pcm = line("session.config", **({} if mode is None else {"output_mode": mode}))
    assert give(server, pcm) == []
    assert errors(server) == [NO_PCM]
    (request,) = give(server, TEXT, DONE)
    assert isinstance(request, UtteranceRequested)
    assert request.wants_codec
    first = ServerSession(SPEC, traits, NOW_S)
    assert first.receive_text(pcm, NOW_S) == [CloseRequested(1006)]


def test_a_stock_server_knows_neither_mode_nor_cancel() -> None:
    """It ignores the one, with whatever depends on it, and refuses the other; the rest it checks."""
    odd = line("session.config", output_mode="whatever", speed=1.5)
    server = configured(STOCK, odd)
    give(server, CANCEL)
    assert errors(server) == ["Unknown message type: input.cancel"]
    bad = ServerSession(SPEC, STOCK)
    assert give(bad, line("session.config", ref_text="x")) == [CloseRequested(1006)]


def test_a_stock_server_reads_nothing_while_it_speaks() -> None:
    """What came meanwhile is taken after session.done, in order."""
    server = speaking(STOCK)
    server.start_audio("Hello.", 24_000)
    server.send_pcm(bytes(480))
    assert give(server, CANCEL, "no json", TEXT, DONE, CLOSE) == []
    assert [type(d) for d in server.data_to_send()] == [str, bytes]
    server.end_audio()
    (request,) = server.end_utterance(NOW_S)
    assert isinstance(request, UtteranceRequested)
    assert request.utterance_index == 1
    kinds = [b["type"] for b in said(server)]
    assert kinds == ["audio.done", "session.done", "error", "error"]
    assert server.end_utterance(NOW_S) == [CloseRequested(1000)]


def test_a_unit_of_pcm() -> None:
    """audio.start, bytes, audio.done."""
    server = speaking(STOCK)
    server.start_audio("Hello.", 24_000)
    server.send_pcm(b"abcd")
    server.send_pcm(b"ef")
    server.end_audio(error=True)
    start, _, _, done = server.data_to_send()
    assert json.loads(str(start)) == {
        "type": "audio.start",
        "format": "pcm",
        "sample_rate": 24_000,
        "sentence_index": 0,
        "utterance_index": 0,
        "sentence_text": "Hello.",
    }
    assert json.loads(str(done)) == {
        "type": "audio.done",
        "total_bytes": 6,
        "error": True,
        "sentence_index": 0,
        "utterance_index": 0,
    }


def test_the_old_generation_ends_the_connection_with_the_utterance() -> None:
    """And knows no index."""
    server = speaking(OLD)
    server.start_unit("")
    server.end_unit()
    assert server.end_utterance(NOW_S) == [CloseRequested(1000)]
    assert all("utterance_index" not in body for body in said(server))
    assert server.deadline_s is None


def test_no_more_text_is_kept_than_anybody_would_want_spoken() -> None:
    """A client that never flushes piles up no memory; after a flush or a cancel there is room again."""
    server = configured()
    piece = line("input.text", text="x" * m.MAX_TEXT_BYTES)
    full = MAX_WAITING_BYTES // m.MAX_TEXT_BYTES
    give(server, *[piece] * full)
    assert errors(server) == []
    give(server, piece, piece)
    told = f"input.text was not taken: {MAX_WAITING_BYTES} bytes of text wait to be spoken already"
    assert errors(server) == [told, told]
    (event,) = give(server, DONE)
    assert isinstance(event, UtteranceRequested)
    assert len(event.text) == MAX_WAITING_BYTES
    give(server, *[piece] * full, DONE)
    assert errors(server) == []
    give(server, *[piece] * full)
    assert len(errors(server)) == full, "what waits to be spoken is in the way"
    give(server, CANCEL)
    server.end_utterance(NOW_S)
    give(server, *[piece] * full)
    assert errors(server) == []


def test_no_more_flushes_are_kept_than_anybody_would_want_spoken() -> None:
    """The next one is refused with its text, and those before it are spoken."""
    server = speaking()
    give(server, *[TEXT, DONE] * MAX_WAITING_UTTERANCES)
    assert errors(server) == []
    give(server, TEXT, DONE)
    assert errors(server) == ["input.done was not taken: 1000 utterances wait already"]
    (event,) = server.end_utterance(NOW_S)
    assert isinstance(event, UtteranceRequested)
    assert (event.utterance_index, event.text) == (1, "Hello.")
    give(server, TEXT, DONE)
    assert errors(server) == []


# -- anything at all ----------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.lists(client_junk, max_size=10), st.sampled_from([ServerTraits(), STOCK, OLD]))
def test_nothing_a_client_sends_raises(junk: list[str], traits: ServerTraits) -> None:
    """All is answered in JSON that can be sent; unless it was ended, the session still speaks."""
    server = configured(traits)
    events = give(server, *junk)
    closed = any(isinstance(e, CloseRequested) for e in events)
    for _ in range(12):
        events += server.end_utterance(NOW_S) if server.deadline_s is None and not closed else []
        closed = any(isinstance(e, CloseRequested) for e in events)
    for data in server.data_to_send():
        assert isinstance(data, str)
        json.loads(data.encode())
    if not closed:
        events = give(server, DONE)
        assert any(isinstance(e, UtteranceRequested) for e in events)
