"""PROTOCOL 5, the paths beside the stream, and the key."""

from __future__ import annotations

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from app.config import Config, ServerConfig
from app.headless.voices import voices_of
from tests.server.conformance.under_test import ServerUnderTest
from tests.server.emulator.wire_client import client


async def get(server: ServerUnderTest, path: str, key: str | None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(trust_env=False, timeout=30) as c:
        return await c.get(server.http_url + path, headers=headers)


async def test_health_is_open(server: ServerUnderTest) -> None:
    assert (await get(server, "/health", None)).status_code == 200


async def test_models_name_the_one_that_speaks(server: ServerUnderTest) -> None:
    answer = await get(server, "/v1/models", server.api_key)
    assert answer.status_code == 200
    assert answer.json()["data"][0]["id"]


async def test_voices_are_the_right_ones(server: ServerUnderTest) -> None:
    answer = await get(server, "/v1/audio/voices", server.api_key)
    assert answer.status_code == 200
    assert sorted(answer.json()["voices"]) == sorted(server.voices)
    assert isinstance(answer.json()["uploaded_voices"], list)


async def test_the_client_lists_the_speakers_and_not_their_placeholder(server: ServerUnderTest) -> None:
    config = Config(server=ServerConfig(url=server.url, api_key=server.api_key or ""))
    assert sorted(await voices_of(config)) == sorted(set(server.voices) - {"default"})


@pytest.mark.parametrize("key", [None, "not the key"])
@pytest.mark.parametrize("path", ["/v1/models", "/v1/audio/voices", "stream"])
async def test_without_the_key_everything_else_is_401(
    server: ServerUnderTest, path: str, key: str | None
) -> None:
    if server.api_key is None:
        pytest.skip("this server asks for no key")
    if path != "stream":
        assert (await get(server, path, key)).status_code == 401
        return
    with pytest.raises(InvalidStatus) as caught:
        async with client(server.url, key):
            pass
    assert caught.value.response.status_code == 401
