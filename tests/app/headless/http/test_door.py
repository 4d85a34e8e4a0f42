"""Who gets in, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from app.headless.http.page import FILES
from tests.helpers.fake_desk import FakeDesk
from tests.helpers.http_rig import HttpRig, http_rig

CHANGING = ["/speak", "/stop", "/pause", "/resume", "/v1/audio/speech"]
TEXT = {"Content-Type": "text/plain"}


async def raw(rig: HttpRig, data: bytes) -> bytes:
    """Send bytes as they are and return all that comes back."""
    host, _, port = rig.url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    await writer.wait_closed()
    return answer


def parts(answer: bytes) -> tuple[int, dict[str, str], Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, json.loads(body)


# -- pages from elsewhere ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CHANGING)
async def test_a_page_from_elsewhere_cannot_make_the_box_speak(path: str) -> None:
    async with http_rig() as rig:
        status, body = await rig.post(path, data="Boo", headers={**TEXT, "Origin": "https://evil.example"})
        assert (status, body["error"]["code"]) == (403, "foreign_origin")
        assert not rig.desk.requests
        assert not rig.desk.paused


async def test_a_domain_that_was_made_to_point_here_gets_nothing() -> None:
    async with http_rig() as rig:
        for path in ("/", "/status", "/events", "/openapi.json", "/nowhere"):
            status, body = await rig.get(path, headers={"Host": "evil.example:8181"})
            assert (status, body["error"]["code"]) == (403, "wrong_host")


async def test_a_websocket_from_elsewhere_is_refused() -> None:
    async with http_rig() as rig:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await rig.client.ws_connect(rig.url + "/speak/stream", origin="https://evil.example")
        assert refused.value.status == 403


async def test_without_a_list_no_page_is_told_that_it_may_read() -> None:
    async with http_rig() as rig:
        headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        async with rig.client.options(rig.url + "/speak", headers=headers) as answer:
            assert answer.status == 403
            assert "Access-Control-Allow-Origin" not in answer.headers


async def test_a_listed_page_may_ask_and_read() -> None:
    origin = "https://home.example"
    async with http_rig(allowed_origins=(origin,), http_token="sesame") as rig:
        asking = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        async with rig.client.options(rig.url + "/speak", headers=asking) as answer:
            assert answer.status == 204, "a browser asks without the token"
            assert answer.headers["Access-Control-Allow-Origin"] == origin
            assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]
        headers = {"Origin": origin, "Authorization": "Bearer sesame", **TEXT}
        async with rig.client.post(rig.url + "/speak", data="Hi", headers=headers) as answer:
            assert answer.status == 202
            assert answer.headers["Access-Control-Allow-Origin"] == origin
            assert answer.headers["Vary"] == "Origin"
        async with rig.client.post(
            rig.url + "/speak", data="Hi", headers={**TEXT, "Origin": origin}
        ) as answer:
            assert answer.status == 401, "being listed is no token"


# -- token -------------------------------------------------------------------------------------------------


async def test_with_a_token_only_the_page_and_the_bare_health_are_open() -> None:
    async with http_rig(http_token="sesame") as rig:
        async with rig.client.get(rig.url + "/openapi.json") as answer:
            paths = (await answer.json())["paths"]
        for path, methods in paths.items():
            for method in methods:
                async with rig.client.request(method, rig.url + path) as answer:
                    is_open = path in ("/openapi.json", "/healthz", "/readyz", *FILES)
                    assert (answer.status == 401) is not is_open, path
                    if answer.status == 401:
                        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        async with rig.client.get(rig.url + "/") as answer:
            assert answer.status == 200
        assert (await rig.get("/healthz")) == (200, {"ok": True}), "reasons are for those with the token"
        rig.headers["Authorization"] = "Bearer sesame"
        assert (await rig.get("/healthz"))[1] == {"ok": True, "reasons": []}
        assert (await rig.get("/status"))[0] == 200
        assert (await rig.post("/speak", json={"text": "Hi"}))[0] == 202


async def test_guessing_tokens_is_slowed_down() -> None:
    async with http_rig(http_token="sesame") as rig:
        wrong = {"Authorization": "Bearer guess"}
        seen = [(await rig.get("/status", headers=wrong))[0] for _ in range(40)]
        assert seen[0] == 401
        assert seen[-1] == 429
        assert (await rig.get("/status", headers={"Authorization": "Bearer sesame"}))[0] == 200


# -- bounds ------------------------------------------------------------------------------------------------


async def test_a_large_body_is_refused_whether_its_length_is_told_or_not() -> None:
    async with http_rig(request_bytes=2000) as rig:
        large = "word " * 1000

        async def unannounced() -> Any:
            for at in range(0, len(large), 500):
                yield large[at : at + 500].encode()

        for body in (large, unannounced()):
            status, answer = await rig.post("/speak", data=body, headers=TEXT)
            assert (status, answer["error"]["code"]) == (413, "too_large")
        status, answer = await rig.post("/speak?stream=1", data=unannounced(), headers=TEXT)
        assert (status, answer["error"]["code"]) == (413, "too_large")
        status, answer = await rig.post("/v1/audio/speech", json={"input": large})
        assert (status, answer["error"]["code"]) == (413, "too_large")


async def test_a_compressed_body_is_refused_unread() -> None:
    async with http_rig() as rig:
        headers = {**TEXT, "Content-Encoding": "gzip"}
        status, answer = await rig.post("/speak", data=b"\x1f\x8b\x08", headers=headers)
        assert (status, answer["error"]["code"]) == (415, "encoded")


async def test_a_full_queue_is_429_with_a_time_to_come_back() -> None:
    desk = FakeDesk(at_once=False)
    async with http_rig(desk, queue_limit=2) as rig:
        for _ in range(2):
            assert (await rig.post("/speak", json={"text": "Hi"}))[0] == 202
        async with rig.client.post(rig.url + "/speak", json={"text": "Hi"}) as answer:
            assert answer.status == 429
            assert int(answer.headers["Retry-After"]) > 0
            assert (await answer.json())["error"]["code"] == "queue_full"


async def test_who_asks_too_often_is_told_when_to_come_back_and_can_still_stop() -> None:
    async with http_rig(rate_per_minute=3) as rig:
        seen = [(await rig.post("/speak", json={"text": "Hi"}))[0] for _ in range(4)]
        assert seen == [202, 202, 202, 429]
        async with rig.client.post(rig.url + "/speak", json={"text": "Hi"}) as answer:
            assert 1 <= int(answer.headers["Retry-After"]) <= 20
        assert (await rig.post("/stop"))[0] == 200
        assert (await rig.get("/status"))[0] == 200


# -- what is no request ------------------------------------------------------------------------------------


async def test_what_is_no_http_is_answered_in_json_without_a_trace() -> None:
    async with http_rig() as rig:
        for data in (
            b"\x16\x03\x01\x02\x00\r\n\r\n",
            b"GET /\xff\x00 HTTP/9\r\n\r\n",
            b"GET / HTTP/1.1\r\nA\x00: b\r\n\r\n",
        ):
            status, headers, body = parts(await raw(rig, data))
            assert (status, headers["Content-Type"]) == (400, "application/json")
            assert body["error"]["code"] == "bad_http"


async def test_a_header_without_end_is_cut_off() -> None:
    async with http_rig() as rig:
        answer = await raw(rig, b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 100_000)
        assert parts(answer)[0] == 400


async def test_a_broken_chunk_is_a_bad_body() -> None:
    async with http_rig() as rig:
        head = b"POST /speak HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
        head += b"Transfer-Encoding: chunked\r\n\r\n"
        status, _, body = parts(await raw(rig, head + b"zz\r\nHi\r\n"))
        assert status == 400
        assert body["error"]["code"] in ("bad_body", "bad_http")
        assert not rig.desk.requests


async def test_what_is_not_there_lists_what_is() -> None:
    async with http_rig() as rig:
        status, body = await rig.get("/speech")
        assert (status, body["error"]["code"]) == (404, "not_found")
        assert "/speak" in body["error"]["next"]
        status, body = await rig.get("/stop")
        assert (status, body["error"]["code"]) == (405, "wrong_method")
        assert "POST" in body["error"]["next"]
        status, body = await rig.get("/v1/nothing")
        assert body["error"]["type"] == "invalid_request_error"


async def test_a_failure_that_nobody_foresaw_tells_nothing_of_the_inside(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(FakeDesk):
        def pause(self) -> None:
            raise RuntimeError("secret: /etc/nearfield")

    async with http_rig(Broken()) as rig:
        status, body = await rig.post("/pause")
    assert (status, body["error"]["code"]) == (500, "internal")
    assert "secret" not in json.dumps(body)
    assert "secret" in caplog.text, "the log has it"


async def test_every_answer_says_that_it_is_what_it_says() -> None:
    async with http_rig() as rig:
        for path in ("/", "/status", "/nowhere"):
            async with rig.client.get(rig.url + path) as answer:
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Server"] == "nearfield"
                assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
