from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.headless.http.faults import Fault
from app.headless.http.fields import Field, Kind, read_json, read_query

FIELDS = (
    Field("text", Kind.TEXT, "What to say.", is_required=True, least=1, most=10),
    Field("count", Kind.WHOLE, "How many.", least=-5, most=5, default=0),
    Field("wait_s", Kind.NUMBER, "How long."),
    Field("loud", Kind.YES, "Whether."),
    Field("how", Kind.TEXT, "In which way.", choices=("no", "now")),
    Field("voice", Kind.TEXT, "Whose.", names_object=True),
)


def fault_of(body: bytes) -> Fault:
    with pytest.raises(Fault) as raised:
        read_json(body, FIELDS)
    return raised.value


def test_what_fits_is_taken_and_null_is_as_if_it_were_absent() -> None:
    body = b'{"text": "Hi", "count": -5, "wait_s": 2, "loud": true, "how": "now", "voice": null}'
    assert read_json(body, FIELDS) == {"text": "Hi", "count": -5, "wait_s": 2, "loud": True, "how": "now"}


def test_a_voice_may_come_as_an_object_with_an_id() -> None:
    assert read_json(b'{"text": "Hi", "voice": {"id": "vivian"}}', FIELDS)["voice"] == "vivian"
    assert fault_of(b'{"text": "Hi", "voice": {"id": "vivian", "x": 1}}').param == "voice"


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        (b"{}", "text", "missing"),
        (b'{"text": null}', "text", "missing"),
        (b'{"text": ""}', "text", "less than 1"),
        (b'{"text": "12345678901"}', "text", "11 characters is more than 10"),
        (b'{"text": 3}', "text", "must be text, not 3"),
        (b'{"text": ["a"]}', "text", "must be text, not a list"),
        (b'{"text": "Hi", "count": 6}', "count", "6 is more than 5"),
        (b'{"text": "Hi", "count": 1.5}', "count", "must be a whole number"),
        (b'{"text": "Hi", "count": true}', "count", "must be a whole number"),
        (b'{"text": "Hi", "wait_s": "5"}', "wait_s", "must be a number"),
        (b'{"text": "Hi", "loud": 1}', "loud", "must be true or false"),
        (b'{"text": "Hi", "how": "later"}', "how", "there is no, now"),
    ],
)
def test_what_does_not_fit_names_the_field_and_what_would(body: bytes, param: str, words: str) -> None:
    fault = fault_of(body)
    assert (fault.status, fault.param) == (400, param)
    assert words in fault.message


def test_an_unknown_field_is_an_error_that_lists_the_known() -> None:
    fault = fault_of(b'{"text": "Hi", "voise": "vivian"}')
    assert (fault.status, fault.code, fault.param) == (400, "unknown_field", "voise")
    assert fault.next_step == "known are text, count, wait_s, loud, how, voice"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nope",
        b'{"text": "\xff"}',
        b"[1]",
        b'"Hi"',
        b"null",
        b'{"text": NaN}',
        b'{"text": "Hi", "count": 1e400}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_json_object_says_what_was_expected(body: bytes) -> None:
    fault = fault_of(body)
    assert (fault.status, fault.code) == (400, "bad_json")
    assert '"text": …' in fault.next_step


def test_a_query_is_read_by_the_same_rules() -> None:
    query = {"text": "Hi", "count": "3", "wait_s": "0.5", "loud": "1", "how": "no"}
    assert read_query(query, FIELDS) == {"text": "Hi", "count": 3, "wait_s": 0.5, "loud": True, "how": "no"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("count", "9"), ("count", "x"), ("wait_s", "nan"), ("wait_s", "inf"), ("loud", "maybe"), ("other", "1")],
)
def test_a_bad_query_names_its_field(name: str, value: str) -> None:
    with pytest.raises(Fault) as raised:
        read_query({"text": "Hi", name: value}, FIELDS)
    assert (raised.value.status, raised.value.param) == (400, name)


def test_a_schema_says_what_is_checked() -> None:
    schemas = {field.name: field.schema() for field in FIELDS}
    assert schemas["text"] == {
        "type": "string", "description": "What to say.", "minLength": 1, "maxLength": 10,
    }  # fmt: skip
    assert schemas["count"]["minimum"] == -5
    assert schemas["count"]["default"] == 0
    assert schemas["how"]["enum"] == ["no", "now"]
    assert [kind["type"] for kind in schemas["voice"]["anyOf"]] == ["string", "object"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from([f.name for f in FIELDS]) | st.text(max_size=6), json_values, max_size=6)
)
def test_any_json_is_read_or_refused_in_words(given_: dict[str, Any]) -> None:
    values, fault = outcome(json.dumps(given_).encode())
    assert set(values) <= {f.name for f in FIELDS}
    if fault is not None:
        assert fault.status == 400
        assert 0 < len(fault.message) < 500


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_words(body: bytes) -> None:
    _, fault = outcome(body)
    if fault is not None:
        assert fault.status == 400
        assert fault.message.encode()


def outcome(body: bytes) -> tuple[dict[str, Any], Fault | None]:
    try:
        return read_json(body, FIELDS), None
    except Fault as fault:
        return {}, fault
