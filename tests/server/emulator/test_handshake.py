"""Plain HTTP beside the WebSocket, and the key."""

from __future__ import annotations

import asyncio
import json

import pytest
from websockets.exceptions import InvalidStatus

from server.emulator import Emulator, Scenario, SyntheticTalker
from tests.server.emulator.wire_client import client

KEY = "sesame"


async def get(e: Emulator, path: str, *headers: str) -> tuple[int, dict[str, str], str]:
    """Return status, headers (names in lower case) and body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", e.port)
    writer.write("\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode())
    head, _, body = (await asyncio.wait_for(reader.read(), 3)).decode().partition("\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    status, *lines = head.split("\r\n")
    return int(status.split()[1]), {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}, body


async def test_health_is_open_to_all() -> None:
    async with Emulator(SyntheticTalker(), api_key=KEY) as e:
        assert (await get(e, "/health"))[0] == 200
        assert (await get(e, "/health?from=balancer"))[0] == 200


@pytest.mark.parametrize("path", ["/v1/models", "/v1/audio/voices", "/anything"])
async def test_the_rest_needs_the_key(path: str) -> None:
    async with Emulator(SyntheticTalker(), api_key=KEY) as e:
        for headers in ([], ["Authorization: Bearer wrong"], [f"Authorization: Basic {KEY}"]):
            status, answered, _ = await get(e, path, *headers)
            assert (status, answered["www-authenticate"]) == (401, "Bearer")
        assert (await get(e, path, f"Authorization: Bearer {KEY}"))[0] == (404 if "any" in path else 200)


async def test_models_and_voices_are_the_talkers() -> None:
    async with Emulator(SyntheticTalker()) as e:
        status, headers, body = await get(e, "/v1/models")
        assert (status, headers["content-type"]) == (200, "application/json")
        assert [model["id"] for model in json.loads(body)["data"]] == ["nearfield-synthetic"]
        voices = json.loads((await get(e, "/v1/audio/voices"))[2])
    assert voices == {"voices": list(SyntheticTalker.voices), "uploaded_voices": []}
    assert voices["voices"][:2] == ["default", "vivian"]


@pytest.mark.parametrize("key", [None, "wrong", "sésame"])
async def test_a_stream_without_the_key_is_401(key: str | None) -> None:
    async with Emulator(SyntheticTalker(), api_key=KEY) as e:
        status, _, _ = await get(
            e,
            "/v1/audio/speech/stream",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            *([f"Authorization: Bearer {key}"] if key else []),
        )
        assert status == 401
        assert e.refused_handshakes == 1
        assert len(e.sessions) == 0


async def test_a_stream_with_the_key_is_welcome() -> None:
    async with Emulator(SyntheticTalker(), Scenario(pace=0), api_key=KEY) as e, client(e.url, KEY) as c:
        await c.configure()
        assert (await c.say("Yes")).has_eos


async def test_another_path_is_404() -> None:
    async with Emulator(SyntheticTalker()) as e:
        with pytest.raises(InvalidStatus) as caught:
            async with client(e.url.replace("stream", "steam")):
                pass
        assert caught.value.response.status_code == 404


async def test_no_compression_is_agreed_on() -> None:
    async with Emulator(SyntheticTalker()) as e, client(e.url, compression="deflate") as c:
        assert c.socket.protocol.extensions == []
