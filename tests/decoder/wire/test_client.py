"""The client's end: every row of the protocol's table of situations, and of its table of servers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.errors import MessageError
from decoder.wire import messages as m
from decoder.wire.assembler import AnomalyKind
from decoder.wire.client import KEEPALIVE_S, SETTLE_S, ClientSession
from decoder.wire.events import (
    ContextArrived,
    Event,
    Mode,
    ModeKnown,
    Outcome,
    ServerSaid,
    UnitEnded,
    UnitStarted,
)
from decoder.wire.utterance import END_GRACE_S, QUIET_S, RAN_AWAY
from tests.decoder.wire.junk import server_junk
from tests.decoder.wire.lines import (
    EOS,
    NOW_S,
    SPEC,
    anomalies,
    audio_done,
    audio_start,
    codec_done,
    codec_start,
    cuts,
    ending,
    error,
    frames,
    fresh_marks,
    give,
    has_ended,
    heard,
    is_ready,
    is_useless,
    line,
    outcome,
    packet,
    ready_client,
    samples,
    sent,
    session_done,
    speak_well,
    speaking_client,
)


def tick(client: ClientSession) -> list[Event]:
    """Let time pass until something is due."""
    assert client.deadline_s is not None
    return client.tick(client.deadline_s)


def speaks_again(client: ClientSession, index: int | None = 1) -> bool:
    """Whether the next utterance is heard, whole and alone."""
    client.send_utterance("And once more.", NOW_S)
    events = speak_well(client, index)
    np.testing.assert_array_equal(heard(events), frames(5, 77))
    return outcome(events) is Outcome.COMPLETE and is_ready(events)


# -- what is sent -------------------------------------------------------------------------------------


def test_the_config_asks_for_codec_tokens() -> None:
    """With what they need, and without any field that was not given."""
    client = ClientSession(SPEC)
    client.send_config(m.SessionConfig(voice="vivian"), NOW_S)
    (text,) = client.data_to_send()
    assert json.loads(text) == {
        "type": "session.config",
        "output_mode": "codec_tokens",
        "stream_audio": True,
        "response_format": "pcm",
        "voice": "vivian",
    }
    assert client.data_to_send() == []


@pytest.mark.parametrize("fields", [{"word_timestamps": True}, {"speed": 1.2}, {"task_type": "VoiceDesign"}])
def test_what_the_protocol_refuses_is_not_sent(fields: dict[str, Any]) -> None:
    """The client says so itself."""
    client = ClientSession(SPEC)
    with pytest.raises(MessageError):
        client.send_config(m.SessionConfig(**fields), NOW_S)
    assert client.data_to_send() == []


def test_a_config_beyond_4_mib_is_not_sent() -> None:
    """A long reference recording as a data URI would end the session."""
    uri = "data:audio/wav;base64," + "A" * m.MAX_MESSAGE_BYTES
    with pytest.raises(MessageError, match="at most 4194304"):
        ClientSession(SPEC).send_config(m.SessionConfig(task_type="Base", ref_audio=uri, ref_text="x"), NOW_S)


def test_an_utterance_is_text_and_a_flush() -> None:
    """In this order."""
    client = ready_client()
    client.send_utterance("Hello.", NOW_S)
    assert [json.loads(t) for t in client.data_to_send()] == [
        {"type": "input.text", "text": "Hello."},
        {"type": "input.done"},
    ]


@pytest.mark.parametrize("unit", ["a", "界", "🙂", '"', "\n", "\x01", "\ud800"])
def test_a_long_text_is_sent_in_pieces_of_at_most_128_kib(unit: str) -> None:
    """Whatever its characters take as JSON, and nothing is lost or changed in between."""
    text = unit * 100_000 + "."
    client = ready_client()
    client.send_utterance(text, NOW_S)
    *texts, done = client.data_to_send()
    assert json.loads(done) == {"type": "input.done"}
    assert all(len(t.encode()) <= m.MAX_TEXT_BYTES for t in texts)
    assert "".join(json.loads(t)["text"] for t in texts) == text.replace("\ud800", "\ufffd")


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_an_empty_text_is_not_sent(text: str) -> None:
    """And the wire stays free."""
    client = ready_client()
    with pytest.raises(MessageError, match="no text"):
        client.send_utterance(text, NOW_S)
    assert client.ready
    assert client.data_to_send() == []


def test_nothing_but_a_cancel_is_sent_during_an_utterance() -> None:
    """A config is refused then, text would be spoken later, and a probe would cancel."""
    client = speaking_client()
    for send in (
        lambda: client.send_config(m.SessionConfig(), NOW_S),
        lambda: client.send_utterance("Hello.", NOW_S),
        lambda: client.send_probe(NOW_S),
    ):
        with pytest.raises(MessageError, match="utterance"):
            send()
    client.send_cancel(NOW_S)
    with pytest.raises(MessageError):
        client.send_utterance("Hello.", NOW_S)
    assert sent(client) == ["input.cancel"]


def test_a_cancel_without_an_utterance_sends_nothing() -> None:
    """There is nothing to abort."""
    client = ready_client()
    assert client.send_cancel(NOW_S) == []
    assert client.data_to_send() == []


# -- an utterance as it should be ---------------------------------------------------------------------


def test_an_utterance_of_two_units() -> None:
    """Each with its frames; it is over with session.done."""
    client = speaking_client(split_granularity="sentence")
    events = give(
        client,
        codec_start(0, 0, sentence_text="One."),
        packet(0, frames(3)),
        packet(1, frames(2, 1), EOS),
        codec_done(0, 0, total_frames=5, seq_last=1, error=False, cancelled=False),
        codec_start(0, 1, sentence_text="Two."),
        packet(0, frames(4, 2)),
        packet(1, None, EOS),
        codec_done(0, 1, total_frames=4, seq_last=1),
        session_done(0),
    )
    np.testing.assert_array_equal(heard(events), np.concatenate([frames(3), frames(2, 1), frames(4, 2)]))
    assert [e for e in events if isinstance(e, UnitStarted | UnitEnded)] == [
        UnitStarted(0, "One."),
        UnitEnded(0, 5),
        UnitStarted(1, "Two."),
        UnitEnded(1, 4),
    ]
    assert ModeKnown(Mode.CODEC, "the server streams codec tokens") in events
    assert outcome(events) is Outcome.COMPLETE
    assert not anomalies(events)
    assert is_ready(events)
    assert client.ready


@settings(max_examples=40, deadline=None)
@given(cuts(200), st.sampled_from(["own packet", "on the last frames", "codec.done only"]))
def test_any_packing_is_the_same_utterance(sizes: list[int], end: str) -> None:
    """200 frames in packets of 1..40, and an end in three ways (CASES B6, B10)."""
    client, codes, at = speaking_client("word " * 100), frames(200), 0
    messages: list[str | bytes] = [codec_start()]
    for seq, size in enumerate(sizes):
        at += size
        last = at == 200 and end == "on the last frames"
        messages.append(packet(seq, codes[at - size : at], EOS if last else 0))
    if end == "own packet":
        messages.append(packet(len(sizes), None, EOS))
    events = give(client, *messages, codec_done(total_frames=200), session_done())
    np.testing.assert_array_equal(heard(events), codes)
    assert outcome(events) is Outcome.COMPLETE
    assert not anomalies(events)


@pytest.mark.parametrize("count", [1, 24, 25, 26, 51])
@pytest.mark.parametrize("end", ["own packet", "on the last frames", "codec.done only"])
def test_short_utterances_bring_every_frame(count: int, end: str) -> None:
    """Whatever carries the end (CASES B6)."""
    client = speaking_client()
    messages: list[str | bytes] = [codec_start()]
    messages.append(packet(0, frames(count), EOS if end == "on the last frames" else 0))
    if end == "own packet":
        messages.append(packet(1, None, EOS))
    events = give(client, *messages, codec_done(total_frames=count), session_done())
    assert len(heard(events)) == count
    assert outcome(events) is Outcome.COMPLETE


# -- PROTOCOL section 4, row by row -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "kinds", "fresh"),
    [
        ((0, 1, 3, 4), {AnomalyKind.GAP: 1}, [False, False, True, False]),
        ((0, 2, 1, 3), {AnomalyKind.GAP: 1, AnomalyKind.STEP_BACK: 1}, [False, True, False]),
        ((0, 1, 1, 2), {AnomalyKind.REPEAT: 1}, [False, False, False]),
    ],
)
def test_gap_repeat_or_step_back_in_seq(
    order: tuple[int, ...], kinds: dict[AnomalyKind, int], fresh: list[bool]
) -> None:
    """Reported; a repeat is dropped; after a gap a new state, never a silent splice (CASES B11)."""
    client = speaking_client()
    events = give(client, codec_start(), *(packet(seq, frames(1, seq)) for seq in order))
    assert anomalies(events) == kinds
    assert fresh_marks(events) == fresh
    events = give(client, codec_done(), session_done())
    assert outcome(events) is (Outcome.INCOMPLETE if AnomalyKind.GAP in kinds else Outcome.COMPLETE)
    assert speaks_again(client)


@pytest.mark.parametrize("code", [2150, 2048, -1])
@pytest.mark.parametrize("codebook", [0, 15])
def test_code_outside_the_codebook(code: int, codebook: int) -> None:
    """The frame never comes out; the next utterance plays (CASES B1)."""
    codes = frames(5)
    codes[2, codebook] = code
    data = packet(0, frames(5))[:7] + codes.astype("<i2").tobytes()
    client = speaking_client()
    events = give(
        client, codec_start(), data, packet(1, None, EOS), codec_done(total_frames=5), session_done()
    )
    assert heard(events).min() >= 0
    assert heard(events).max() < 2048
    assert len(heard(events)) == 4
    assert anomalies(events) == {AnomalyKind.REFUSED: 1}
    assert outcome(events) is Outcome.INCOMPLETE
    assert speaks_again(client)


@pytest.mark.parametrize(
    ("name", "theirs", "ours"),
    [
        ("codebooks", 8, "16"),
        ("codebook_size", 1024, "2048"),
        ("frame_rate_hz", 25.0, "12.5"),
        ("sample_rate", 48_000, "24000"),
        ("header_format", "<IIB", "'<IHB'"),
        ("version", 2, "1"),
        ("decoder_id", "mimi", "'qwen3_tts_tokenizer_v2_12hz'"),
    ],
)
def test_codec_start_that_does_not_fit_the_decoder(name: str, theirs: Any, ours: str) -> None:
    """One clear error that names both values, a cancel, and nothing is decoded."""
    client = speaking_client()
    events = give(client, codec_start(**{name: theirs}))
    ended = ending(events)
    assert ended.outcome is Outcome.FAILED
    assert repr(theirs) in ended.reason
    assert ours in ended.reason
    assert sent(client) == ["input.cancel"]
    events = give(client, packet(0, frames(3)), packet(1, None, EOS), codec_done(cancelled=True))
    assert anomalies(events) == {AnomalyKind.LATE: 2}
    assert len(heard(events)) == 0
    assert is_ready(give(client, session_done()))
    assert speaks_again(client)


@pytest.mark.parametrize(
    "wrong", [{"codebooks": "16"}, {"codebooks": 16.0}, {"version": ...}, {"sample_rate": True}]
)
def test_codec_start_that_cannot_be_read(wrong: dict[str, Any]) -> None:
    """Does not fit either: one clear error, and not an utterance that never begins."""
    client = speaking_client()
    ended = ending(give(client, codec_start(**wrong)))
    assert ended.outcome is Outcome.FAILED
    assert next(iter(wrong)) in ended.reason
    assert sent(client) == ["input.cancel"]
    assert len(heard(give(client, packet(0, frames(3)), codec_done(), session_done()))) == 0
    assert speaks_again(client)


@pytest.mark.parametrize("announced", [0, 4, 6, 5_000, -1])
def test_total_frames_differs_from_what_arrived(announced: int) -> None:
    """The utterance is incomplete, and says by how much."""
    client = speaking_client()
    events = give(client, codec_start(), packet(0, frames(5), EOS), codec_done(total_frames=announced))
    assert anomalies(events) == {AnomalyKind.TOTALS: 1}
    ended = ending(give(client, session_done()))
    assert ended.outcome is Outcome.INCOMPLETE
    assert "5 frames" in ended.reason
    assert str(announced) in ended.reason
    assert speaks_again(client)


def test_eos_missing_but_codec_done_arrives() -> None:
    """Ends normally, also if session.done is missing as well."""
    client = speaking_client()
    assert (
        outcome(give(client, codec_start(), packet(0, frames(5)), codec_done(), session_done()))
        is Outcome.COMPLETE
    )
    assert speaks_again(client)
    client = speaking_client()
    give(client, codec_start(), packet(0, frames(5)), codec_done(total_frames=5))
    assert client.deadline_s == NOW_S + END_GRACE_S
    assert outcome(tick(client)) is Outcome.COMPLETE


def test_codec_done_missing_but_eos_arrived() -> None:
    """Ends normally, also if session.done is missing as well; the server is asked before the next one."""
    client = speaking_client()
    assert outcome(give(client, codec_start(), packet(0, frames(5), EOS), session_done())) is Outcome.COMPLETE
    assert speaks_again(client)
    client = speaking_client()
    give(client, codec_start(), packet(0, frames(5), EOS))
    assert client.deadline_s == NOW_S + END_GRACE_S
    assert client.tick(NOW_S + 0.4) == []
    events = tick(client)
    assert outcome(events) is Outcome.COMPLETE
    assert not is_ready(events)
    assert sent(client) == ["input.cancel"]
    assert is_ready(give(client, line("input.cancelled")))
    assert speaks_again(client)


def test_neither_eos_nor_done_for_ten_seconds() -> None:
    """Ends as incomplete; the session is usable once the server has confirmed."""
    client = speaking_client()
    give(client, codec_start(), packet(0, frames(5)))
    give(client, packet(1, frames(5, 1)), now_s=NOW_S + 3)
    assert client.deadline_s == NOW_S + 3 + QUIET_S
    assert client.tick(NOW_S + 12.9) == []
    ended = ending(tick(client))
    assert ended.outcome is Outcome.INCOMPLETE
    assert "silent for 10 s" in ended.reason
    assert sent(client) == ["input.cancel"]
    late = give(client, packet(2, frames(1, 2)), codec_done(cancelled=True), session_done())
    assert len(heard(late)) == 0
    assert is_ready(late)
    assert speaks_again(client)


@pytest.mark.parametrize("code", [1000, 1001, 1005, 1006, 1008, 1011, 1012, 1013])
@pytest.mark.parametrize("when", ["before the start", "after the start", "frames", "eos", "codec.done"])
def test_socket_closes_mid_utterance(code: int, when: str) -> None:
    """Whatever the close code: incomplete, never done (CASES C4)."""
    client = speaking_client()
    messages = [codec_start(), packet(0, frames(5)), packet(1, None, EOS), codec_done(total_frames=5)]
    count = ["before the start", "after the start", "frames", "eos", "codec.done"].index(when)
    give(client, *messages[:count])
    ended = ending(client.receive_eof(f"close code {code}"))
    assert ended.outcome is Outcome.INCOMPLETE
    assert str(code) in ended.reason
    assert not client.ready
    assert client.deadline_s is None
    assert client.receive_eof("again") == []


def test_socket_closes_after_the_utterance() -> None:
    """Nothing more to say about it."""
    client = speaking_client()
    speak_well(client, 0)
    assert client.receive_eof("close code 1000") == []
    with pytest.raises(MessageError, match="ended"):
        client.send_utterance("Hello.", NOW_S)


@pytest.mark.parametrize(
    "messages",
    [
        [codec_start(), packet(0, None, EOS), codec_done(total_frames=0)],
        [codec_start(), codec_done(total_frames=0)],
        [codec_done(total_frames=0)],
        [],
        [codec_start(), b"", codec_done(total_frames=0)],
        [codec_start(), packet(0, np.zeros((9, 16), np.int16), EOS), codec_done(total_frames=9)],
    ],
    ids=[
        "EOS with 0 frames",
        "start and done only",
        "done only",
        "nothing",
        "empty message",
        "all-zero codes",
    ],
)
def test_no_audio_at_all(messages: list[str | bytes]) -> None:
    """Idle at once with session.done, and within a second without it (CASES B8)."""
    client = speaking_client()
    events = give(client, *messages, session_done())
    assert outcome(events) is Outcome.EMPTY
    assert ending(events).reason == "the server sent no audio"
    assert len(heard(events)) == 0
    assert client.ready
    assert speaks_again(client)
    if messages:
        client = speaking_client()
        give(client, *messages)
        assert client.deadline_s == NOW_S + END_GRACE_S
        assert outcome(tick(client)) is Outcome.EMPTY


@pytest.mark.parametrize("confirmed_by", [session_done(0), line("input.cancelled")])
def test_late_packets_of_a_cancelled_unit(confirmed_by: str) -> None:
    """Not one sample of them is heard."""
    client = speaking_client()
    give(client, codec_start(), packet(0, frames(3)))
    assert outcome(client.send_cancel(NOW_S)) is Outcome.CANCELLED
    assert sent(client) == ["input.cancel"]
    assert not client.ready
    late = give(client, packet(1, frames(9, 9)), packet(2, frames(9, 8), EOS), codec_done(cancelled=True))
    assert len(heard(late)) == 0
    assert anomalies(late) == {AnomalyKind.LATE: 2}
    assert is_ready(give(client, confirmed_by))
    client.send_utterance("Next.", NOW_S)
    later = give(client, packet(3, frames(9, 7)), *[codec_start(1), packet(0, frames(2, 5))])
    np.testing.assert_array_equal(heard(later), frames(2, 5))


@pytest.mark.parametrize("count", [2048, 8192])
def test_more_frames_than_the_budget(count: int) -> None:
    """Runaway: cut off, a cancel is sent, and what still comes is dropped (CASES B7)."""
    client = speaking_client("Two words")
    events = give(client, codec_start())
    for seq in range(count):
        events += client.receive_bytes(packet(seq, frames(1, seq)), NOW_S)
    assert len(heard(events)) == 63
    assert ending(events).outcome is Outcome.CUT_OFF
    assert ending(events).reason == RAN_AWAY
    assert sent(client) == ["input.cancel"]
    assert is_ready(give(client, codec_done(cancelled=True), session_done()))
    assert speaks_again(client)


def test_a_long_stretch_of_silence_codes() -> None:
    """Runaway as well, however long the text."""
    client = speaking_client("A long text. " * 200)
    still = np.repeat(frames(1), 120, axis=0)
    events = give(client, codec_start(), packet(0, still[:60]), packet(1, still[:60]))
    assert outcome(events) is Outcome.CUT_OFF


def test_error_mid_utterance() -> None:
    """What was received stays heard, the status is failed, and the server's text is shown."""
    client = speaking_client()
    text = "Generation failed for utterance 0, sentence 0: CUDA out of memory"
    events = give(client, codec_start(), packet(0, frames(4)), error(text))
    assert len(heard(events)) == 4
    assert not has_ended(events)
    events = give(client, codec_done(error=True, total_frames=4), session_done())
    assert ending(events).outcome is Outcome.FAILED
    assert ending(events).reason == text
    assert speaks_again(client)


def test_error_mid_utterance_and_then_nothing() -> None:
    """It ends by itself."""
    client = speaking_client()
    give(client, error("Internal error"))
    ended = ending(tick(client))
    assert (ended.outcome, ended.reason) == (Outcome.FAILED, "Internal error")
    assert sent(client) == ["input.cancel"]


def test_codec_done_that_says_error_or_cancelled() -> None:
    """Even without an error message."""
    client = speaking_client()
    events = give(client, codec_start(), packet(0, frames(4)), codec_done(error=True), session_done())
    assert outcome(events) is Outcome.FAILED
    client = speaking_client()
    events = give(client, codec_start(), packet(0, frames(4)), codec_done(cancelled=True), session_done())
    assert outcome(events) is Outcome.INCOMPLETE


# -- PROTOCOL section 3, the client's part ------------------------------------------------------------


@pytest.mark.parametrize("cut", [0, 3, 6, 8, 38])
def test_a_bad_packet_is_reported_and_skipped(cut: int) -> None:
    """Its successor shows the gap."""
    client = speaking_client()
    events = give(
        client, codec_start(), packet(0, frames(1)), packet(1, frames(1))[:cut], packet(2, frames(1, 2))
    )
    assert anomalies(events) == {AnomalyKind.BAD_PACKET: 1, AnomalyKind.GAP: 1}
    assert fresh_marks(events) == [False, True]


def test_unknown_messages_and_keys_are_counted_never_fatal() -> None:
    """In every phase."""
    client = ready_client()
    news = ['{"type": "codec.future"}', "no json", "[1]", '{"type": 7}', codec_start(0, new_key={"a": 1})]
    wanted = {AnomalyKind.UNKNOWN_MESSAGE: 1, AnomalyKind.BAD_MESSAGE: 3}
    assert anomalies(give(client, *news)) == wanted
    client.send_utterance("Hello.", NOW_S)
    assert anomalies(give(client, *news)) == wanted
    client.send_cancel(NOW_S)
    assert anomalies(give(client, *news)) == wanted


# -- PROTOCOL section 5: servers that lack the mode ---------------------------------------------------


def test_a_stock_server_answers_with_pcm() -> None:
    """The client plays it and says that the server decodes."""
    client = speaking_client()
    pcm = np.arange(-500, 500, dtype="<i2")
    events = give(client, audio_start(), pcm.tobytes()[:999], pcm.tobytes()[999:])
    events += give(client, audio_done(total_bytes=2000, error=False), session_done())
    assert client.mode is Mode.PCM
    np.testing.assert_array_equal(samples(events), pcm / np.float32(32_768))
    assert outcome(events) is Outcome.COMPLETE
    assert is_ready(events)
    client.send_config(m.SessionConfig(), NOW_S)
    assert json.loads(client.data_to_send()[0])["output_mode"] == "pcm"


@pytest.mark.parametrize("total", [1998, 2002])
def test_total_bytes_that_differ_are_incomplete(total: int) -> None:
    """As with frames."""
    client = speaking_client()
    events = give(client, audio_start(), bytes(2000), audio_done(total_bytes=total), session_done())
    assert outcome(events) is Outcome.INCOMPLETE
    assert anomalies(events) == {AnomalyKind.TOTALS: 1}


def test_the_probe_tells_servers_apart() -> None:
    """By what an early cancel is answered with; nothing of it is shown as an error."""
    client = ready_client()
    client.send_probe(NOW_S)
    assert sent(client) == ["input.cancel"]
    assert give(client, line("input.cancelled")) == [ModeKnown(Mode.CODEC, "the server streams codec tokens")]
    client = ready_client()
    client.send_probe(NOW_S)
    (known,) = give(client, error("Unknown message type: input.cancel"))
    assert isinstance(known, ModeKnown)
    assert known.mode is Mode.PCM
    assert client.ready


@pytest.mark.parametrize("reply", [line("input.cancelled"), error("Unknown message type: input.cancel")])
def test_a_late_answer_to_the_probe_ends_nothing(reply: str) -> None:
    """The utterance may be on its way, or even cancelled, by then."""
    client = ready_client()
    client.send_probe(NOW_S)
    client.send_utterance("Hello.", NOW_S)
    assert not has_ended(give(client, reply))
    assert client.mode is not Mode.UNKNOWN
    client = ready_client()
    client.send_probe(NOW_S)
    client.send_utterance("Hello.", NOW_S)
    client.send_cancel(NOW_S)
    assert not is_ready(give(client, reply))


def test_cancel_on_a_stock_server_leaves_the_link() -> None:
    """It does not read while it generates: closing is what stops it, and the late error is not fatal."""
    client = speaking_client()
    give(client, audio_start(), bytes(100))
    events = client.send_cancel(NOW_S)
    assert outcome(events) is Outcome.CANCELLED
    assert is_useless(events)
    assert sent(client) == []
    late = give(client, bytes(100), audio_done(), session_done(), error("Unknown message type: input.cancel"))
    assert late == []


def test_cancel_before_a_stock_server_has_shown_itself() -> None:
    """Its audio.start tells, or its error; else no answer does."""
    for reply in (audio_start(), error("Unknown message type: input.cancel")):
        client = speaking_client()
        client.send_cancel(NOW_S)
        assert is_useless(give(client, reply))
    client = speaking_client()
    client.send_cancel(NOW_S)
    assert client.deadline_s == NOW_S + SETTLE_S
    assert is_useless(tick(client))
    assert not client.ready
    assert client.deadline_s is None


def test_an_adapter_without_the_mode_is_asked_once_more_for_pcm() -> None:
    """Error, session.done: one retry on the same link, which ends the utterance whatever it brings."""
    refusal = "output_mode='codec_tokens' is not supported by the loaded TTS model."
    client = speaking_client("Hello.")
    events = give(client, error(refusal), session_done(0))
    assert not has_ended(events)
    assert client.mode is Mode.PCM
    config, text, done = (json.loads(t) for t in client.data_to_send())
    assert (config["type"], config["output_mode"]) == ("session.config", "pcm")
    assert (text["text"], done["type"]) == ("Hello.", "input.done")
    again = give(client, audio_start(1), bytes(2000), audio_done(1, total_bytes=2000), session_done(1))
    assert outcome(again) is Outcome.COMPLETE
    client = speaking_client("Hello.")
    give(client, error(refusal), session_done(0))
    ended = ending(give(client, error(refusal), session_done(1)))
    assert (ended.outcome, ended.reason) == (Outcome.FAILED, refusal)


def test_an_adapter_that_refuses_and_says_no_more() -> None:
    """The retry comes after a moment; a late session.done does not end it; a closed link says why."""
    refusal = "output_mode='codec_tokens' is not supported by the loaded TTS model."
    client = speaking_client()
    give(client, error(refusal))
    assert not has_ended(tick(client))
    assert sent(client) == ["session.config", "input.text", "input.done"]
    assert not has_ended(give(client, session_done(0)))
    assert outcome(give(client, audio_start(1), bytes(200), session_done(1))) is Outcome.COMPLETE
    client = speaking_client()
    give(client, error(refusal))
    ended = ending(client.receive_eof("close code 1006"))
    assert (ended.outcome, ended.reason) == (Outcome.FAILED, refusal)


def test_a_refusal_after_which_frames_come_anyway_is_not_spoken_twice() -> None:
    """What is heard once is heard once."""
    client = speaking_client()
    give(client, error("output_mode='codec_tokens' is not supported by the loaded TTS model."))
    events = speak_well(client, 0)
    assert outcome(events) is Outcome.COMPLETE
    assert sent(client) == []


def test_a_talker_only_deploy_under_a_stock_handler() -> None:
    """audio.start, zero bytes, audio.done without error."""
    client = speaking_client()
    events = give(client, audio_start(), audio_done(total_bytes=0, error=False), session_done())
    ended = ending(events)
    assert ended.outcome is Outcome.EMPTY
    assert ended.reason == "the server produced neither audio nor codec frames"


@pytest.mark.parametrize(
    "wrong", [{"format": "mp3"}, {"sample_rate": 0}, {"sample_rate": 10**30}, {"sample_rate": "x"}]
)
def test_pcm_that_cannot_be_played_fails_at_once(wrong: dict[str, Any]) -> None:
    """With the values, and nothing of it is heard."""
    client = speaking_client()
    events = give(client, audio_start(**wrong))
    assert outcome(events) is Outcome.FAILED
    assert len(samples(give(client, bytes(100)))) == 0


def test_idle_timeout_error_then_eof() -> None:
    """The text is shown, not the code; a link that is kept alive never gets there."""
    client = ready_client()
    assert client.deadline_s == NOW_S + KEEPALIVE_S
    assert client.tick(NOW_S + 19.9) == []
    client.tick(NOW_S + 20)
    assert [json.loads(t) for t in client.data_to_send()] == [{"type": "input.text", "text": ""}]
    assert client.deadline_s == NOW_S + 40
    text = "Idle timeout: no message received"
    assert give(client, error(text)) == [ServerSaid(text)]
    assert client.receive_eof("close code 1006") == []
    assert not client.ready
    assert client.deadline_s is None


def test_no_keepalive_before_the_config_or_without_being_wanted() -> None:
    """The first message must be session.config."""
    client = ClientSession(SPEC)
    assert client.deadline_s is None
    assert client.tick(NOW_S) == []
    assert client.data_to_send() == []
    client = ClientSession(SPEC, keepalive=False)
    client.send_config(m.SessionConfig(), NOW_S)
    assert client.deadline_s is None


def test_error_then_eof_mid_utterance_is_the_servers_text() -> None:
    """Every end that the server decides is an error and then 1006."""
    client = speaking_client()
    give(client, codec_start(), packet(0, frames(2)), error("Internal error: boom"))
    ended = ending(client.receive_eof("close code 1006"))
    assert (ended.outcome, ended.reason) == (Outcome.FAILED, "Internal error: boom")


def test_old_generation() -> None:
    """No index anywhere, and input.done ends the connection: the next utterance needs a new one."""
    client = speaking_client()
    events = speak_well(client, None)
    assert outcome(events) is Outcome.COMPLETE
    assert is_useless(events)
    assert not is_ready(events)
    assert not client.ready
    assert client.receive_eof("close code 1000") == []


def test_old_generation_with_pcm_and_with_a_cancel() -> None:
    """The same."""
    client = speaking_client()
    events = give(
        client, audio_start(None), bytes(200), audio_done(None, total_bytes=200), session_done(None)
    )
    assert outcome(events) is Outcome.COMPLETE
    assert is_useless(events)
    client = speaking_client()
    give(client, codec_start(None), packet(0, frames(1)))
    client.send_cancel(NOW_S)
    assert is_useless(give(client, codec_done(None, cancelled=True), session_done(None)))


def test_a_config_error_between_utterances_is_shown_and_the_session_goes_on() -> None:
    """The server keeps its old config."""
    client = ready_client()
    assert give(client, error("Invalid session config: x")) == [ServerSaid("Invalid session config: x")]
    assert client.ready
    client.send_utterance("Hello.", NOW_S)
    assert outcome(speak_well(client, 0)) is Outcome.COMPLETE


def test_parameter_errors_fail_the_utterance_with_their_text() -> None:
    """Unknown voice, missing instructions: with a PCM server and with a codec server."""
    text = "Generation failed for utterance 0, sentence 0: Invalid voice 'bob'"
    for messages in (
        [audio_start(), error(text), audio_done(total_bytes=0, error=True)],
        [codec_start(), error(text), codec_done(error=True)],
        [error(text)],
    ):
        client = speaking_client()
        ended = ending(give(client, *messages, session_done()))
        assert (ended.outcome, ended.reason) == (Outcome.FAILED, text)
        assert speaks_again(client)


def test_a_server_that_is_silent_before_the_first_frame_is_waited_for() -> None:
    """45 s, before the start and after it (CASES C10)."""
    client = speaking_client()
    assert client.deadline_s is None
    assert client.tick(NOW_S + 45) == []
    give(client, codec_start(), now_s=NOW_S + 45)
    assert client.deadline_s is None
    assert client.tick(NOW_S + 90) == []
    assert sent(client) == []


# -- PROTOCOL section 6: codec.context ----------------------------------------------------------------


def context(count: int = 5) -> str:
    return m.CodecContext.of(frames(count, 4)).to_json()


def contexts(events: list[Event]) -> list[ContextArrived]:
    return [e for e in events if isinstance(e, ContextArrived)]


def test_reference_codes_come_before_the_first_frame() -> None:
    """And are no frames of the utterance."""
    client = speaking_client(accept_codec_context=True)
    events = give(
        client,
        codec_start(),
        context(),
        packet(0, frames(3), EOS),
        codec_done(total_frames=3),
        session_done(),
    )
    (found,) = contexts(events)
    np.testing.assert_array_equal(found.codes, frames(5, 4))
    np.testing.assert_array_equal(heard(events), frames(3))
    assert outcome(events) is Outcome.COMPLETE


def test_reference_codes_that_were_not_asked_for_are_not_taken() -> None:
    """The extension is negotiated."""
    client = speaking_client()
    events = give(client, codec_start(), context())
    assert not contexts(events)
    assert anomalies(events) == {AnomalyKind.BAD_CONTEXT: 1}


@pytest.mark.parametrize(
    "bad",
    [
        line("codec.context", frames=1, codes_b64="###"),
        line("codec.context", frames=3, codes_b64="AAAA"),
        line("codec.context", frames=-1, codes_b64=""),
        m.CodecContext.of(np.full((2, 16), 2048, np.int16)).to_json(),
        m.CodecContext.of(np.full((2, 16), -5, np.int16)).to_json(),
        line("codec.context", frames="many", codes_b64=""),
        line("codec.context"),
    ],
)
def test_a_bad_context_is_an_anomaly_and_the_unit_is_decoded_cold(bad: str) -> None:
    """Nothing else happens."""
    client = speaking_client(accept_codec_context=True)
    events = give(client, codec_start(), bad)
    assert set(anomalies(events)) <= {AnomalyKind.BAD_CONTEXT, AnomalyKind.BAD_MESSAGE}
    assert len(anomalies(events)) == 1
    events += give(client, packet(0, frames(3), EOS), codec_done(total_frames=3), session_done())
    assert not contexts(events)
    assert outcome(events) is Outcome.COMPLETE


def test_a_context_at_the_wrong_time_is_an_anomaly() -> None:
    """Outside of a unit, twice, or after the first packet."""
    client = speaking_client(accept_codec_context=True)
    assert anomalies(give(client, context())) == {AnomalyKind.BAD_CONTEXT: 1}
    assert len(contexts(give(client, codec_start(), context(), context()))) == 1
    events = give(client, codec_start(0, 1), packet(0, None), context())
    assert not contexts(events)
    assert AnomalyKind.BAD_CONTEXT in anomalies(events)


def test_an_empty_context_primes_nothing() -> None:
    """Nor do all-zero rows."""
    client = speaking_client(accept_codec_context=True)
    zeros = m.CodecContext.of(np.zeros((4, 16), np.int16)).to_json()
    assert give(client, codec_start(), context(0), zeros)[2:] == []


# -- replies that come too late -----------------------------------------------------------------------


@pytest.mark.parametrize("base", [0, 1])
def test_late_replies_of_earlier_utterances_change_nothing(base: int) -> None:
    """Servers count from 0 or from 1; whatever an old index says is ignored."""
    client = speaking_client()
    speak_well(client, base)
    client.send_utterance("Next.", NOW_S)
    old = [
        session_done(base),
        codec_start(base, 1),
        packet(0, frames(7, 7)),
        codec_done(base, 1, total_frames=7, error=True),
        audio_start(base),
        bytes(100),
        audio_done(base, error=True),
        line("input.cancelled"),
    ]
    events = give(client, *old)
    assert not has_ended(events)
    assert set(anomalies(events)) == {AnomalyKind.LATE}
    events = give(
        client, codec_start(base + 1), packet(0, frames(5, 77)), *old[:2], *old[3:5], old[6], old[7]
    )
    events += give(client, packet(1, None, EOS), codec_done(base + 1, total_frames=5), session_done(base + 1))
    np.testing.assert_array_equal(heard(events), frames(5, 77))
    assert ending(events).outcome is Outcome.COMPLETE
    assert speaks_again(client, base + 2)


@pytest.mark.parametrize("base", [0, 1])
def test_an_old_session_done_does_not_confirm_a_new_cancel(base: int) -> None:
    """Nor does the echo of the cancel before."""
    client = speaking_client()
    give(client, codec_start(base), packet(0, frames(1)))
    client.send_cancel(NOW_S)
    assert is_ready(give(client, codec_done(base, total_frames=1), session_done(base)))
    client.send_utterance("Next.", NOW_S)
    client.send_cancel(NOW_S)
    assert not is_ready(give(client, session_done(base)))
    assert not is_ready(give(client, line("input.cancelled")))
    assert is_ready(
        give(client, codec_start(base + 1), codec_done(base + 1, cancelled=True), session_done(base + 1))
    )
    assert speaks_again(client, base + 2)


def test_a_first_reply_with_an_old_index_is_late() -> None:
    """Even if no index was ever seen before."""
    client = speaking_client()
    give(client, error("output_mode='codec_tokens' is not supported by the loaded TTS model."))
    tick(client)
    assert not has_ended(give(client, session_done(0)))


def test_an_index_that_fits_no_count_is_not_learnt_from() -> None:
    """One strange number does not make the following utterances old."""
    client = speaking_client()
    events = give(client, codec_start(10**12), packet(0, frames(1)), session_done(10**12))
    assert outcome(events) is Outcome.COMPLETE
    assert speaks_again(client, 1)


def test_a_cancel_that_landed_has_no_echo() -> None:
    """The next input.cancelled is then an answer to the next cancel."""
    client = speaking_client()
    client.send_cancel(NOW_S)
    assert is_ready(give(client, codec_start(0), codec_done(0, cancelled=True), session_done(0)))
    client.send_utterance("Next.", NOW_S)
    client.send_cancel(NOW_S)
    assert is_ready(give(client, line("input.cancelled")))
    assert speaks_again(client, 2)


def test_each_cancel_has_its_own_answer() -> None:
    """One that landed says nothing about the next, which may come too late and have an echo."""
    client = speaking_client()
    client.send_cancel(NOW_S)
    give(client, codec_start(0), codec_done(0, cancelled=True), session_done(0))
    client.send_utterance("Next.", NOW_S)
    client.send_cancel(NOW_S)
    assert is_ready(give(client, codec_start(1), codec_done(1), session_done(1)))
    client.send_utterance("And next.", NOW_S)
    client.send_cancel(NOW_S)
    assert not is_ready(give(client, line("input.cancelled")))
    assert is_ready(give(client, codec_start(2), codec_done(2, cancelled=True), session_done(2)))


# -- anything at all ----------------------------------------------------------------------------------


@settings(max_examples=250, deadline=None)
@given(st.lists(server_junk(), max_size=12), st.booleans(), st.integers(0, 3), st.booleans())
def test_nothing_a_server_sends_raises_or_spoils_the_next_utterance(
    junk: list[str | bytes], probe: bool, cancel_after: int, numbered: bool
) -> None:
    """The utterance that met the junk ends in some way; the next one is whole and alone."""
    client = ready_client(accept_codec_context=True)
    if probe:
        client.send_probe(NOW_S)
    client.send_utterance("Hello there.", NOW_S)
    events: list[Event] = []
    for i, message in enumerate(junk):
        if i == cancel_after:
            events += client.send_cancel(NOW_S)
        events += give(client, message)
    events += client.send_cancel(NOW_S)
    events += give(client, codec_done(0, cancelled=True), session_done(0))
    for _ in range(2):
        if not client.ready and client.deadline_s is not None:
            events += tick(client)
    client.data_to_send()
    assert has_ended(events)
    codes = heard(events)
    assert len(codes) == 0 or (codes.min() >= 0 and codes.max() < 2048)
    if client.ready:
        assert speaks_again(client, client._flushes)
    else:
        assert is_useless(events)


@settings(max_examples=100, deadline=None)
@given(st.lists(server_junk(), max_size=12), st.integers(0, 12))
def test_no_phase_hangs_without_a_deadline_once_frames_have_come(junk: list[str | bytes], at: int) -> None:
    """Whatever came: if anything was heard, time alone brings the utterance to its end."""
    client = speaking_client()
    events = give(client, *junk[:at], codec_start(0), packet(0, frames(1)), *junk[at:])
    for _ in range(4):
        if client.deadline_s is None or client.ready:
            break
        events += tick(client)
        if client.deadline_s is None and not has_ended(events):
            # A unit or a retry was started last: its first frame is waited for, by decision (CASES C10).
            return
    assert has_ended(events) or client.deadline_s is None
