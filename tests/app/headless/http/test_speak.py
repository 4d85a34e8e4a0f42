from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.desk.events import Interrupted
from app.desk.request import Interrupt
from app.headless.http.asking import JSON_FIELDS
from tests.helpers.fake_desk import FakeDesk
from tests.helpers.http_rig import http_rig
from tests.helpers.waiting import eventually

TEXT = {"Content-Type": "text/plain"}


async def test_a_text_in_json_is_asked_for_with_all_its_fields() -> None:
    body = {
        "text": "Hi.", "id": "a1", "voice": "vivian", "language": "English", "instructions": "gently",
        "priority": 7, "interrupt": "after_sentence", "ttl_s": 2.5,
    }  # fmt: skip
    assert set(body) == {field.name for field in JSON_FIELDS}
    async with http_rig() as rig:
        assert await rig.post("/speak", json=body) == (202, {"id": "a1"})
        request = rig.desk.requests[0].request
    assert (request.text, request.id, request.voice, request.language) == ("Hi.", "a1", "vivian", "English")
    assert (request.instructions, request.priority) == ("gently", 7)
    assert (request.interrupt, request.ttl_s) == (Interrupt.AFTER_SENTENCE, 2.5)
    assert request.source == "http"


async def test_the_text_alone_may_be_the_body() -> None:
    async with http_rig() as rig:
        status, body = await rig.post("/speak?priority=2&interrupt=now", data="Grüß Gott.", headers=TEXT)
        assert status == 202
        taken = rig.desk.requests[0]
        assert (taken.text, taken.ticket.id) == ("Grüß Gott.", body["id"])
        assert (taken.request.priority, taken.request.interrupt) == (2, Interrupt.NOW)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"text": "…"}, 400, "nothing_to_say"),
        ({"text": ""}, 400, "nothing_to_say"),
        ({}, 400, "bad_field"),
        ({"text": "Hi", "priority": 5000}, 400, "bad_field"),
        ({"text": "Hi", "ttl_s": -1}, 400, "bad_field"),
        ({"text": "Hi", "interrupt": "please"}, 400, "bad_field"),
        ({"text": "Hi", "loud": True}, 400, "unknown_field"),
        ({"text": "word " * 50_000}, 413, "text_too_long"),
    ],
)
async def test_what_cannot_be_taken_is_told_with_a_code(body: object, status: int, code: str) -> None:
    async with http_rig() as rig:
        answer = await rig.post("/speak", json=body)
        assert (answer[0], answer[1]["error"]["code"]) == (status, code)
        assert answer[1]["error"]["message"]
        assert answer[1]["error"]["next"]
        assert not rig.desk.requests


async def test_a_form_is_told_how_to_send_text() -> None:
    """What ``curl -d`` sends unless it is told otherwise."""
    async with http_rig() as rig:
        status, body = await rig.post("/speak", data={"text": "Hi"})
        assert (status, body["error"]["code"]) == (415, "wrong_type")
        assert "text/plain" in body["error"]["next"]


async def test_a_closing_desk_is_503() -> None:
    async with http_rig() as rig:
        await rig.desk.aclose(0.0)
        status, body = await rig.post("/speak", json={"text": "Hi"})
        assert (status, body["error"]["code"]) == (503, "closing")


# -- text in pieces ----------------------------------------------------------------------------------------


async def test_a_chunked_text_reaches_the_desk_while_it_is_still_coming() -> None:
    seen: list[str] = []
    async with http_rig() as rig:

        async def pieces() -> AsyncIterator[bytes]:
            for piece in ("Once upon", " a time.", " The end."):
                yield piece.encode()
                seen.append(piece)
                await eventually(lambda: rig.desk.texts == ["".join(seen)])

        assert await rig.post("/speak?stream=1&id=tale", data=pieces(), headers=TEXT) == (202, {"id": "tale"})
        await eventually(lambda: not rig.desk.in_flight)
        assert rig.desk.texts == ["Once upon a time. The end."]


async def test_who_hangs_up_in_mid_text_takes_it_back() -> None:
    async with http_rig(FakeDesk(at_once=False)) as rig:
        begun = asyncio.Event()

        async def pieces() -> AsyncIterator[bytes]:
            yield b"Once upon"
            begun.set()
            await asyncio.sleep(30)

        asking = asyncio.create_task(rig.post("/speak?stream=1", data=pieces(), headers=TEXT))
        await begun.wait()
        await eventually(lambda: rig.desk.texts == ["Once upon"])
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        ended = await asyncio.wait_for(rig.desk.requests[0].ticket.done, 5)
        assert isinstance(ended, Interrupted)
        assert ended.why == "aborted"


async def test_a_text_that_is_stopped_while_it_comes_is_told_so() -> None:
    async with http_rig(FakeDesk(at_once=False)) as rig:

        async def pieces() -> AsyncIterator[bytes]:
            yield b"Once upon"
            await eventually(lambda: bool(rig.desk.texts))
            rig.desk.stop()
            await asyncio.sleep(30)

        status, body = await asyncio.wait_for(rig.post("/speak?stream=1", data=pieces(), headers=TEXT), 10)
        assert (status, body["error"]["code"]) == (409, "over")
        assert "stopped" in body["error"]["message"]


async def test_pieces_that_are_no_text_end_the_request() -> None:
    async with http_rig(FakeDesk(at_once=False)) as rig:
        status, body = await rig.post("/speak?stream=1", data=b"Hi \xff", headers=TEXT)
        assert (status, body["error"]["code"]) == (400, "bad_text")
        assert not rig.desk.in_flight


# -- whatever is sent --------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.binary(max_size=300) | st.text(max_size=100).map(str.encode),
    content_type=st.sampled_from(
        ["application/json", "text/plain", "text/plain; charset=utf-16", "text/html", "a/b;;;", "", "\x7f"]
    ),
    query=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#"), max_size=30),
    path=st.sampled_from(["/speak", "/stop", "/pause", "/v1/audio/speech"]),
)
def test_any_body_is_answered_in_json_and_never_500(
    body: bytes, content_type: str, query: str, path: str
) -> None:
    async def ask() -> None:
        async with http_rig() as rig:
            host, _, port = rig.url.removeprefix("http://").rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            head = f"POST {path}?{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            answer = await asyncio.wait_for(reader.read(), 10)
            writer.close()
            await writer.wait_closed()
            status = int(answer.split(maxsplit=2)[1])
            assert status in (200, 202, 400, 413, 415)
            assert b"Content-Type: application/json" in answer
            assert b"Traceback" not in answer

    asyncio.run(ask())


async def test_two_programs_at_once_are_both_taken() -> None:
    async with http_rig() as rig:

        async def program(name: str) -> set[str]:
            async with aiohttp.ClientSession() as client:
                ids = set()
                for number in range(20):
                    body = {"text": f"{name} {number}"}
                    async with client.post(rig.url + "/speak", json=body) as answer:
                        assert answer.status == 202
                        ids.add((await answer.json())["id"])
                return ids

        ours, theirs = await asyncio.gather(program("one"), program("other"))
        assert len(ours | theirs) == 40
        assert len(rig.desk.requests) == 40
