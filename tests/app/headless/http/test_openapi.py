from __future__ import annotations

import re
from typing import Any

import pytest

from app.headless.http.asking import JSON_FIELDS, QUERY_FIELDS
from tests.helpers.http_rig import http_rig


async def described(**kiosk: Any) -> dict[str, Any]:
    async with http_rig(**kiosk) as rig:
        status, body = await rig.get("/openapi.json")
        assert status == 200
        assert isinstance(body, dict)
        return body


async def test_every_path_that_is_described_is_there_with_its_methods_only() -> None:
    async with http_rig() as rig:
        paths = (await rig.get("/openapi.json"))[1]["paths"]
        assert len(paths) > 10
        for path, methods in paths.items():
            for method in ("get", "post", "put", "delete", "patch"):
                async with rig.client.request(method, rig.url + path) as answer:
                    is_there = answer.status not in (404, 405)
                    assert is_there is (method in methods), (method, path, answer.status)


async def test_every_answer_that_is_given_is_described() -> None:
    """Statuses that these requests are answered with, and the shape of every error."""
    async with http_rig(http_token="") as rig:
        whole = (await rig.get("/openapi.json"))[1]
        for method, path, more in (
            ("POST", "/speak", {"json": {"text": "Hi"}}),
            ("POST", "/speak", {"json": {"txt": "Hi"}}),
            ("POST", "/speak", {"data": {"a": "b"}}),
            ("POST", "/speak", {"json": {"text": "x" * 200_000}}),
            ("POST", "/stop", {}),
            ("POST", "/stop", {"json": {"id": "nobody"}}),
            ("POST", "/pause", {}),
            ("GET", "/status", {}),
            ("GET", "/voices", {}),
            ("GET", "/healthz", {}),
            ("GET", "/speak/stream", {}),
            ("POST", "/v1/audio/speech", {"json": {}}),
        ):
            async with rig.client.request(method, rig.url + path, **more) as answer:
                responses = whole["paths"][path][method.lower()]["responses"]
                assert str(answer.status) in responses, (path, answer.status)
                if answer.status >= 400:
                    content = responses[str(answer.status)]["content"]["application/json"]
                    name = content["schema"]["$ref"].rpartition("/")[2]
                    shape = whole["components"]["schemas"][name]["properties"]["error"]
                    assert set((await answer.json())["error"]) == set(shape["properties"])


async def test_fields_are_described_as_they_are_read() -> None:
    speak = (await described())["paths"]["/speak"]["post"]
    schema = speak["requestBody"]["content"]["application/json"]["schema"]
    assert schema["required"] == ["text"]
    assert set(schema["properties"]) == {field.name for field in JSON_FIELDS}
    assert {p["name"] for p in speak["parameters"]} == {field.name for field in QUERY_FIELDS}
    assert schema["properties"]["interrupt"]["enum"] == ["no", "now", "after_sentence", "after_utterance"]
    assert schema["properties"]["priority"]["maximum"] == 1000


async def test_the_description_follows_the_configuration() -> None:
    whole = await described(speech_chars=99)
    speech = whole["paths"]["/v1/audio/speech"]["post"]
    fields = speech["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert fields["input"]["maxLength"] == 99
    assert set(fields["response_format"]["enum"]) >= {"wav", "pcm"}
    assert "security" not in speech


async def test_a_token_is_asked_for_where_it_is_needed() -> None:
    paths = (await described(http_token="sesame"))["paths"]
    assert paths["/speak"]["post"]["security"] == [{"token": []}]
    assert "security" not in paths["/healthz"]["get"]


@pytest.mark.parametrize("keyword", ["$ref"])
async def test_every_reference_leads_somewhere(keyword: str) -> None:
    whole = await described()
    references = set(re.findall(rf"'\{keyword}': '#/([^']+)'", str(whole)))
    assert references
    for reference in references:
        at: Any = whole
        for step in reference.split("/"):
            at = at[step]
