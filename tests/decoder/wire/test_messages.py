"""The JSON messages: what is written is read, and what cannot be read says why."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.errors import MessageError
from decoder.spec import CodecSpec
from decoder.wire import messages as m
from tests.decoder.wire.lines import SPEC, codec_start, frames, json_values

TO_SERVER = [
    m.SessionConfig(output_mode="codec_tokens", voice="vivian", seed=3, speed=1.0, speaker_embedding=[0.5]),
    m.InputText("Grüße, 世界 🙂\u2028\0"),
    m.InputDone(),
    m.InputCancel(),
    m.SessionClose(),
]
TO_CLIENT = [
    m.CodecStart.of(SPEC, 4, 2, "words", "a model"),
    m.CodecContext.of(frames(5)),
    m.CodecDone(2, 4, 25, 9, False, True),
    m.AudioStart("pcm", 24_000, 1, 0, "words"),
    m.AudioDone(96_000, True, 1, 0, None),
    m.SessionDone(3, 1),
    m.InputCancelled(),
    m.ErrorMessage("Generation failed", True, "discard"),
]


@pytest.mark.parametrize("message", TO_SERVER)
def test_a_server_reads_what_a_client_writes(message: m.Message) -> None:
    """Field by field."""
    assert m.parse_from_client(message.to_json()) == message


@pytest.mark.parametrize("message", TO_CLIENT)
def test_a_client_reads_what_a_server_writes(message: m.Message) -> None:
    """Field by field."""
    assert m.parse_from_server(message.to_json()) == message


@pytest.mark.parametrize("message", [*TO_SERVER, *TO_CLIENT])
def test_absent_fields_are_not_sent(message: m.Message) -> None:
    """``ref_text`` and ``x_vector_only_mode`` are refused by servers even as null or false."""
    assert None not in json.loads(message.to_json()).values()


@pytest.mark.parametrize("message", [*TO_SERVER, *TO_CLIENT])
def test_unknown_keys_and_nulls_are_ignored(message: m.Message) -> None:
    """A newer peer may say more; null is absent."""
    body = json.loads(message.to_json()) | {"later": [1, {"a": None}], "": 3}
    for name in ("voice", "model", "sentence_text", "utterance_index", "error"):
        body.setdefault(name, None)
    parse = m.parse_from_client if message in TO_SERVER else m.parse_from_server
    assert parse(json.dumps(body)) == message


def test_a_type_that_is_not_known_is_no_error() -> None:
    """Nor is one of the other direction: it is a type this side does not know."""
    assert m.parse_from_server('{"type": "codec.future", "x": 1}') == m.Unknown("codec.future")
    assert m.parse_from_server('{"type": "input.done"}') == m.Unknown("input.done")
    assert m.parse_from_client('{"type": "codec.start"}') == m.Unknown("codec.start")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "nonsense",
        "[]",
        "3",
        "null",
        '"x"',
        "{}",
        '{"type": 3}',
        '{"type": null}',
        "[" * 100_000,
        "9" * 9_999,
    ],
)
def test_what_is_no_message_is_refused(text: str) -> None:
    """No JSON, no object, no type, nested beyond reason."""
    with pytest.raises(MessageError):
        m.parse_from_server(text)
    with pytest.raises(MessageError):
        m.parse_from_client(text)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"type": "input.text"}, "input.text: text is missing"),
        ({"type": "input.text", "text": 5}, "input.text: text is 5, expected str"),
        ({"type": "session.config", "seed": "7"}, "session.config: seed is '7', expected int"),
        ({"type": "session.config", "seed": True}, "session.config: seed is True, expected int"),
        ({"type": "session.config", "stream_audio": 1}, "stream_audio is 1, expected bool"),
        ({"type": "session.config", "speed": "fast"}, "speed is 'fast', expected float"),
    ],
)
def test_a_field_that_cannot_be_read_is_named(body: dict[str, Any], wanted: str) -> None:
    """With its value and what was expected, and the error knows the message's type."""
    with pytest.raises(MessageError, match=wanted) as caught:
        m.parse_from_client(json.dumps(body))
    assert caught.value.message_type == body["type"]


def test_a_huge_wrong_value_is_cut_in_the_error() -> None:
    """A log line stays a line."""
    with pytest.raises(MessageError) as caught:
        m.parse_from_client(json.dumps({"type": "input.text", "text": ["x" * 10_000]}))
    assert len(str(caught.value)) < 200


def test_whole_numbers_are_floats_too() -> None:
    """JSON does not tell 1 from 1.0."""
    assert m.parse_from_client('{"type": "session.config", "speed": 1}') == m.SessionConfig(speed=1)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([*TO_SERVER, *TO_CLIENT]),
    st.dictionaries(st.text(max_size=10), json_values, max_size=3),
    st.data(),
)
def test_any_value_in_any_field_is_read_or_refused(
    message: m.Message, extra: dict[str, Any], data: st.DataObject
) -> None:
    """A MessageError and nothing else; and what was read can be written."""
    body = extra | json.loads(message.to_json())
    for name in data.draw(st.lists(st.sampled_from(sorted(body)), max_size=3)):
        body[name] = data.draw(json_values)
    for parse in (m.parse_from_client, m.parse_from_server):
        try:
            found = parse(json.dumps(body))
        except MessageError:
            continue
        if isinstance(found, m.Message):
            found.to_json().encode()


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters()) | st.text(st.characters(categories=["Cs"])))
def test_any_text_can_be_sent(text: str) -> None:
    """Lone surrogates, which UTF-8 cannot carry, become U+FFFD; all else arrives as it is."""
    encoded = m.InputText(text).to_json().encode()
    arrived = m.parse_from_client(encoded.decode())
    assert isinstance(arrived, m.InputText)
    expected = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert arrived.text == expected
    if not any("\ud800" <= c <= "\udfff" for c in text):
        assert arrived.text == text


def test_a_lone_surrogate_from_a_server_can_be_printed() -> None:
    """It may come as a JSON escape, in a text or in a type."""
    message = m.parse_from_server('{"type": "error", "message": "x\\ud800y"}')
    assert message == m.ErrorMessage("x\ufffdy")
    unknown = m.parse_from_server('{"type": "x\\udfff"}')
    assert unknown == m.Unknown("x\ufffd")


# -- codec.start --------------------------------------------------------------------------------------


def test_a_start_of_the_loaded_codec_fits() -> None:
    """Numbers may come as floats where they are rates."""
    start = m.parse_from_server(codec_start())
    assert isinstance(start, m.CodecStart)
    assert start.mismatch(SPEC) is None


@pytest.mark.parametrize(
    ("name", "value", "own"),
    [
        ("version", 2, "1"),
        ("decoder_id", "another_codec", "'qwen3_tts_tokenizer_v2_12hz'"),
        ("codebooks", 8, "16"),
        ("codebook_size", 1024, "2048"),
        ("frame_rate_hz", 25.0, "12.5"),
        ("frame_rate_hz", float("nan"), "12.5"),
        ("sample_rate", 48_000, "24000"),
        ("header_format", "<IIB", "'<IHB'"),
    ],
)
def test_a_start_of_another_codec_names_both_values(name: str, value: Any, own: str) -> None:
    """Field, theirs, ours."""
    start = m.parse_from_server(codec_start(**{name: value}))
    assert isinstance(start, m.CodecStart)
    fault = start.mismatch(SPEC)
    assert fault is not None
    assert name in fault
    assert repr(value) in fault
    assert own in fault


def test_the_demo_codec_is_another_codec() -> None:
    """The same architecture with smaller codebooks does not fit."""
    start = m.CodecStart.of(CodecSpec(codebook_size=1024), 0, 0, "", "")
    assert start.mismatch(CodecSpec(codebook_size=1024)) is None
    assert "1024" in str(start.mismatch(SPEC))


# -- codec.context ------------------------------------------------------------------------------------


def test_a_context_keeps_the_last_72_frames() -> None:
    """The decoder sees no further back."""
    context = m.CodecContext.of(frames(100))
    assert context.frames == 72
    np.testing.assert_array_equal(context.codes(16), frames(100)[-72:])
    assert m.CodecContext.of(frames(0)).codes(16).shape == (0, 16)


@pytest.mark.parametrize(
    ("frames_said", "codes_b64", "message"),
    [
        (1, "not base64!", "not base64"),
        (1, "ÄÖ==", "not base64"),
        (1, base64.b64encode(bytes(31)).decode(), "31 bytes, 1 frames are 32 bytes"),
        (2, base64.b64encode(bytes(32)).decode(), "32 bytes, 2 frames are 64 bytes"),
        (-1, "", "-1 frames"),
        (73, base64.b64encode(bytes(73 * 32)).decode(), "73 frames, at most 72"),
    ],
)
def test_a_bad_context_says_why(frames_said: int, codes_b64: str, message: str) -> None:
    """No base64, another length, too many frames."""
    with pytest.raises(MessageError, match=message):
        m.CodecContext(frames_said, codes_b64).codes(16)
