from __future__ import annotations

import asyncio
import json

import pytest
from wyoming.event import Event

from app.headless.wyoming.wire import BadEvent, read_event

LIMIT = 1000


def reader_of(data: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=LIMIT)
    reader.feed_data(data)
    reader.feed_eof()
    return reader


async def test_an_event_in_all_its_parts() -> None:
    """Data in the first line and after it are one, and bytes follow."""
    more = b'{"b": 2}'
    head = json.dumps({"type": "x", "data": {"a": 1}, "data_length": len(more), "payload_length": 3})
    reader = reader_of(head.encode() + b"\n" + more + b"abc" + b'{"type": "y"}\n')
    assert await read_event(reader, LIMIT) == Event("x", {"a": 1, "b": 2}, b"abc")
    assert await read_event(reader, LIMIT) == Event("y", {}, None)
    assert await read_event(reader, LIMIT) is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "no JSON"),
        (b"[1]\n", "no object"),
        (b'{"data": {}}\n', "without a type"),
        (b'{"type": 1}\n', "without a type"),
        (b'{"type": "x", "data": [1]}\n', "no object"),
        (b'{"type": "x", "data_length": -1}\n', "no length"),
        (b'{"type": "x", "payload_length": true}\n', "no length"),
        (b'{"type": "x", "data_length": "5"}\n', "no length"),
        (b'{"type": "x", "data_length": 600, "payload_length": 600}\n', "larger than 1000"),
        (b'{"type": "x", "payload_length": 99999999999}\n', "larger than 1000"),
        (b'{"type": "x", "data_length": 2}\n[]', "no object"),
        (b"[" * 900 + b"\n", "no JSON"),
        (b"x" * 5000, "longer than 1000"),
    ],
)
async def test_what_is_no_event(data: bytes, why: str) -> None:
    """It is refused before anything of its size is waited for."""
    with pytest.raises(BadEvent, match=why):
        await read_event(reader_of(data), LIMIT)


@pytest.mark.parametrize(
    "data",
    [b"", b'{"type": "x"}', b'{"type": "x", "data_length": 9}\n{"a"', b'{"type":"x","payload_length":2}\na'],
)
async def test_an_end_in_mid_event_is_an_end(data: bytes) -> None:
    """Whoever has gone has gone."""
    assert await read_event(reader_of(data), LIMIT) is None
