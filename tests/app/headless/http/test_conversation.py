from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.desk.events import Interrupted
from app.headless.http.asking import FIRST_MESSAGE_FIELDS
from tests.helpers.fake_desk import FakeDesk
from tests.helpers.http_rig import HttpRig, http_rig
from tests.helpers.waiting import eventually


async def rest_of(socket: aiohttp.ClientWebSocketResponse) -> list[dict[str, Any]]:
    """Return all messages until the server closes."""
    return [json.loads(message.data) async for message in socket]


def open_socket(rig: HttpRig) -> Any:
    return rig.client.ws_connect(rig.url + "/speak/stream")


async def test_pieces_reach_the_desk_as_they_come_and_their_events_come_back() -> None:
    async with http_rig() as rig, open_socket(rig) as socket:
        await socket.send_json({"text": "Once upon", "voice": "vivian", "priority": 3})
        await eventually(lambda: rig.desk.texts == ["Once upon"])
        await socket.send_json({"text": " a time. The"})
        await eventually(lambda: rig.desk.texts == ["Once upon a time. The"])
        await socket.send_json({"text": " end.", "end": True})
        told = await asyncio.wait_for(rest_of(socket), 5)
        assert socket.close_code == aiohttp.WSCloseCode.OK
        request = rig.desk.requests[0].request
    assert [each["event"] for each in told] == ["queued", "started", "sentence", "finished"]
    assert told[-1]["played_ms"] == 1000
    assert len({each["id"] for each in told}) == 1
    assert (request.voice, request.priority, request.source) == ("vivian", 3, "http")


async def test_only_its_own_events_come_back() -> None:
    async with http_rig() as rig, open_socket(rig) as socket:
        await socket.send_json({"text": "Mine.", "id": "mine"})
        await eventually(lambda: bool(rig.desk.texts))
        assert (await rig.post("/speak", json={"text": "Another's."}))[0] == 202
        await socket.send_json({"end": True})
        told = await asyncio.wait_for(rest_of(socket), 5)
    assert {each["id"] for each in told} == {"mine"}


async def test_who_leaves_before_the_end_takes_the_text_back() -> None:
    async with http_rig(FakeDesk(at_once=False)) as rig:
        async with open_socket(rig) as socket:
            await socket.send_json({"text": "Once upon"})
            await eventually(lambda: bool(rig.desk.texts))
        ended = await asyncio.wait_for(rig.desk.requests[0].ticket.done, 5)
    assert isinstance(ended, Interrupted)
    assert ended.why == "aborted"


async def test_who_leaves_after_the_end_is_spoken_all_the_same() -> None:
    async with http_rig(FakeDesk(at_once=False)) as rig:
        async with open_socket(rig) as socket:
            await socket.send_json({"text": "Hello.", "end": True})
            await eventually(lambda: bool(rig.desk.requests) and not rig.desk.requests[0].is_open)
        rig.desk.speak_next()
        assert not rig.desk.in_flight


async def test_a_stop_from_elsewhere_is_told_and_closes() -> None:
    async with http_rig(FakeDesk(at_once=False)) as rig, open_socket(rig) as socket:
        await socket.send_json({"text": "Once upon"})
        await eventually(lambda: bool(rig.desk.texts))
        rig.desk.stop()
        told = await asyncio.wait_for(rest_of(socket), 5)
    assert [each["event"] for each in told] == ["queued", "interrupted"]
    assert told[-1]["why"] == "stopped"


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        (["nope"], "bad_json"),
        (['{"txt": "Hi"}'], "unknown_field"),
        (['{"text": 3}'], "bad_field"),
        (['{"text": "Hi", "priority": 9999}'], "bad_field"),
        (['{"text": "Hi"}', '{"text": " you", "voice": "vivian"}'], "unknown_field"),
        (['{"text": "Hi", "end": true}', '{"text": "more"}'], "over"),
    ],
)
async def test_what_cannot_be_taken_is_told_and_closes(messages: list[str], code: str) -> None:
    async with http_rig(FakeDesk(at_once=False)) as rig, open_socket(rig) as socket:
        for message in messages:
            await socket.send_str(message)
        told = await asyncio.wait_for(rest_of(socket), 5)
        assert told[-1]["error"]["code"] == code
        assert told[-1]["error"]["next"]
        assert socket.close_code == aiohttp.WSCloseCode.POLICY_VIOLATION


async def test_bytes_are_no_text() -> None:
    async with http_rig() as rig, open_socket(rig) as socket:
        await socket.send_bytes(b"Hi")
        told = await asyncio.wait_for(rest_of(socket), 5)
    assert told[-1]["error"]["code"] == "wrong_type"


async def test_a_message_that_is_too_large_closes() -> None:
    async with http_rig(request_bytes=2000) as rig, open_socket(rig) as socket:
        await socket.send_json({"text": "word " * 1000})
        assert await asyncio.wait_for(rest_of(socket), 5) == []
        assert socket.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
        assert not rig.desk.requests


async def test_it_is_for_websockets_only() -> None:
    async with http_rig() as rig:
        status, body = await rig.get("/speak/stream")
        assert (status, body["error"]["code"]) == (426, "no_websocket")


async def test_a_server_that_is_closed_ends_the_conversations() -> None:
    async with (
        http_rig(FakeDesk(at_once=False)) as rig,
        open_socket(rig) as silent,
        open_socket(rig) as talking,
    ):
        await talking.send_json({"text": "Hello."})
        await eventually(lambda: bool(rig.desk.texts))
        await asyncio.wait_for(rig.server.aclose(), 5)
        for socket in (silent, talking):
            await asyncio.wait_for(rest_of(socket), 5)
            assert socket.closed


json_messages = st.dictionaries(
    st.sampled_from([field.name for field in FIRST_MESSAGE_FIELDS]) | st.text(max_size=5),
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.lists(st.integers(), max_size=2),
    max_size=4,
).map(json.dumps)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(json_messages | st.text(max_size=30), min_size=1, max_size=4))
def test_any_messages_are_answered_in_json_and_end(messages: list[str]) -> None:
    async def talk() -> None:
        async with http_rig() as rig, open_socket(rig) as socket:
            for message in messages:
                if not socket.closed:
                    await socket.send_str(message)
            with contextlib.suppress(ConnectionError):
                await socket.send_str('{"text": "Hello.", "end": true}')
            told = await asyncio.wait_for(rest_of(socket), 10)
            assert all("event" in each or each["error"]["code"] != "internal" for each in told)
            assert not rig.desk.in_flight

    asyncio.run(talk())
