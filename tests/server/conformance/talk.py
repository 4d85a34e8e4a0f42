"""How the suite talks to a server: configured sessions, and what every well-spoken unit is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, ConnectionClosedError

from decoder.wire.packets import Codes, Flags
from tests.helpers.waiting import eventually
from tests.server.conformance.under_test import ServerUnderTest
from tests.server.emulator.wire_client import Heard, WireClient, client

WAIT_S = 20.0
"""Per message: a busy machine, and a server that speaks one text after the other."""
CODEC = {"output_mode": "codec_tokens", "stream_audio": True, "response_format": "pcm"}


def whole_config(server: ServerUnderTest, **fields: Any) -> dict[str, Any]:
    """Return a ``session.config`` that this server takes."""
    return CODEC | dict(server.config) | fields


@asynccontextmanager
async def connected(server: ServerUnderTest) -> AsyncIterator[WireClient]:
    """A connection on which nothing was said yet."""
    async with client(server.url, server.api_key, WAIT_S) as c:
        yield c


@asynccontextmanager
async def session(server: ServerUnderTest, **fields: Any) -> AsyncIterator[WireClient]:
    """A connection that is configured."""
    async with connected(server) as c:
        await c.send("session.config", **whole_config(server, **fields))
        yield c


async def say(server: ServerUnderTest, text: str, **fields: Any) -> Heard:
    """Say ``text`` on a connection of its own, and return what was heard."""
    async with session(server, **fields) as c:
        return await c.say(text)


async def true_frames(server: ServerUnderTest, text: str, **fields: Any) -> Codes:
    """Return the frames of ``text`` as one unit: those that are known, else those of another reading."""
    known = server.frames(text, whole_config(server, **fields))
    return (await say(server, text, **fields)).codes if known is None else known


async def is_well(c: WireClient) -> None:
    """The session goes on, nothing is being spoken, and nothing else was left to say."""
    await c.send("input.cancel")
    assert (await c.hear("input.cancelled")).types == ["input.cancelled"]


async def error_on(c: WireClient) -> str:
    """Return the text of the next message, which is an ``error``."""
    message = await c.recv()
    assert isinstance(message, dict)
    assert message["type"] == "error", message
    assert isinstance(message["message"], str)
    return message["message"]


async def is_dropped(c: WireClient) -> None:
    """Nothing more comes, and the connection ends without a close frame, as every end but a goodbye does."""
    with pytest.raises(ConnectionClosedError) as caught:
        await c.recv()
    assert caught.value.rcvd is None


async def closes_with(c: WireClient) -> int | None:
    """Return the close code with which the connection ends, whatever comes before."""
    with pytest.raises(ConnectionClosed) as caught:
        await c.hear(until="nothing")
    return None if caught.value.rcvd is None else caught.value.rcvd.code


async def comes_to_rest(server: ServerUnderTest) -> None:
    """No generation is left running inside the server, where that can be seen."""
    await eventually(lambda: not server.generating(), 10.0, "the end of every generation in the server")


def is_well_formed(heard: Heard, unit: int = 0) -> None:
    """A unit that was spoken to its end: packets count from 0, the last alone has EOS, totals agree."""
    packets = heard.packets
    assert [p.seq for p in packets] == list(range(len(packets)))
    ends = [bool(p.flags & Flags.EOS) for p in packets]
    assert ends == [False] * (len(ends) - 1) + [True]
    done = heard.json("codec.done")
    assert done["sentence_index"] == unit
    assert done["total_frames"] == len(heard.codes)
    assert done["seq_last"] == packets[-1].seq
    assert not done["error"]
    assert not done["cancelled"]


def by_unit(heard: Heard) -> list[Heard]:
    """Cut what was heard of an utterance into its units, ``session.done`` left out."""
    units: list[Heard] = []
    for message in heard.messages[:-1]:
        if isinstance(message, dict) and message["type"] in ("codec.start", "audio.start"):
            units.append(Heard())
        units[-1].messages.append(message)
    return units


def same(left: Codes, right: Codes) -> None:
    """Frame for frame, code for code."""
    np.testing.assert_array_equal(left, right)
