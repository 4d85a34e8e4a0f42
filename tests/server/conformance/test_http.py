"""PROTOCOL 5, the paths beside the stream, and the key."""

from __future__ import annotations

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from tests.server.conformance.under_test import ServerUnderTest
from tests.server.emulator.wire_client import client


@pytest.fixture
def http(server: ServerUnderTest) -> ServerUnderTest:
    if not server.has_http:
        pytest.skip("what answers beside the stream is not this server's own")
    return server


async def get(server: ServerUnderTest, path: str, key: str | None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(trust_env=False, timeout=30) as c:
        return await c.get(server.http_url + path, headers=headers)


async def test_health_is_open(http: ServerUnderTest) -> None:
    assert (await get(http, "/health", None)).status_code == 200


async def test_models_name_the_one_that_speaks(http: ServerUnderTest) -> None:
    answer = await get(http, "/v1/models", http.api_key)
    assert answer.status_code == 200
    assert answer.json()["data"][0]["id"]


async def test_voices_are_the_right_ones(http: ServerUnderTest) -> None:
    answer = await get(http, "/v1/audio/voices", http.api_key)
    assert answer.status_code == 200
    assert sorted(answer.json()["voices"]) == sorted(http.voices)
    assert isinstance(answer.json()["uploaded_voices"], list)


@pytest.mark.parametrize("key", [None, "not the key"])
@pytest.mark.parametrize("path", ["/v1/models", "/v1/audio/voices", "stream"])
async def test_without_the_key_everything_else_is_401(
    http: ServerUnderTest, path: str, key: str | None
) -> None:
    if http.api_key is None:
        pytest.skip("this server asks for no key")
    if path != "stream":
        assert (await get(http, path, key)).status_code == 401
        return
    with pytest.raises(InvalidStatus) as caught:
        async with client(http.url, key):
            pass
    assert caught.value.response.status_code == 401
