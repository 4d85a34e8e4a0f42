"""``nearfield mcp`` in a process of its own, used by the protocol's own client over its two pipes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

import assets
from server.emulator import Emulator, Scenario, SyntheticTalker
from server.emulator.talkers import demo_spec
from tests.helpers.http_rig import http_rig

PATIENCE_S = 120.0


def mcp(*arguments: str, **environment: str) -> StdioServerParameters:
    # Where no kiosk is, on a machine on which one may run.
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "app.cli", "mcp", *arguments],
        env={"NEARFIELD_KIOSK_HTTP_PORT": "9", **environment},
        cwd=Path(__file__).parents[2],
    )


async def test_an_assistant_speaks_by_itself() -> None:
    """Without a kiosk the process has an engine of its own, and says how much was heard."""
    async with Emulator(SyntheticTalker(demo_spec())) as emulator:
        server = mcp("--server", emulator.url, "--checkpoint", str(assets.folder("demo_voice")))
        async with Client(server, read_timeout_seconds=PATIENCE_S) as client:
            assert len((await client.list_tools()).tools) == 4
            result = await client.call_tool("speak", {"text": "Hello from an assistant.", "wait": True})
            assert result.structured_content is not None, result.content
            assert result.structured_content["outcome"] == "finished", result.content
            assert result.structured_content["played_ms"] > 300
            assert [u.text for u in emulator.utterances] == ["Hello from an assistant."]
            voices = (await client.call_tool("voices", {})).structured_content
            assert voices is not None
            assert "vivian" in voices["voices"]
            queued = (await client.call_tool("speak", {"text": "One. " * 100})).structured_content
            assert queued is not None
            stopped = await client.call_tool("stop", {"id": queued["id"]})
            assert stopped.structured_content == {"stopped": True}
            status = (await client.call_tool("status", {})).structured_content
            assert status is not None
            assert status["speaking"] is None
            assert status["decoder"]["ready"]


async def test_an_assistant_speaks_through_the_kiosk_that_runs() -> None:
    """Its address and token are those of the configuration."""
    async with http_rig(http_token="0123456789abcdef") as rig:
        port = rig.url.rpartition(":")[2]
        server = mcp(NEARFIELD_KIOSK_HTTP_PORT=port, NEARFIELD_KIOSK_HTTP_TOKEN="0123456789abcdef")
        async with Client(server, read_timeout_seconds=PATIENCE_S) as client:
            for wait in (False, True):
                result = await client.call_tool("speak", {"text": "Through the kiosk.", "wait": wait})
                assert not result.is_error, result.content
        assert rig.desk.texts == ["Through the kiosk."] * 2
        server = mcp(NEARFIELD_KIOSK_HTTP_PORT=port, NEARFIELD_KIOSK_HTTP_TOKEN="another-0123456789")
        async with Client(server, read_timeout_seconds=PATIENCE_S) as client:
            result = await client.call_tool("status", {})
            assert result.is_error
            assert "NEARFIELD_KIOSK_HTTP_TOKEN" in str(result.content)


@pytest.mark.parametrize("how", ["end of input", "SIGTERM"])
async def test_only_the_protocol_is_on_standard_output_and_it_ends_in_time(how: str) -> None:
    """Each line is JSON, though the process speaks; it ends with its client, or when it is told to."""
    async with Emulator(SyntheticTalker(demo_spec()), Scenario(pace=1.0)) as emulator:
        command = ("mcp", "-vv", "--server", emulator.url, "--checkpoint", str(assets.folder("demo_voice")))
        code, out, err, took_s = await asyncio.to_thread(_converse, command, how)
    answers = [json.loads(line) for line in out.splitlines()]
    assert {answer["id"] for answer in answers} == {1, 2}, err
    assert code == 0, err
    assert took_s < 8
    assert "Traceback" not in err


def _converse(command: tuple[str, ...], how: str) -> tuple[int, str, str, float]:
    """Return the exit code, both outputs, and how long it took to end after it was asked to."""
    with subprocess.Popen(
        [sys.executable, "-m", "app.cli", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NEARFIELD_KIOSK_HTTP_PORT": "9"},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        out = ""
        for message in (
            {
                "id": 1,
                "method": "initialize",
                "params": {**hello, "clientInfo": {"name": "t", "version": "1"}},
            },
            {"method": "notifications/initialized"},
            {
                "id": 2,
                "method": "tools/call",
                "params": {"name": "speak", "arguments": {"text": "A sentence. " * 20}},
            },
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            if "id" in message:
                out += process.stdout.readline()
        time.sleep(1.0)  # into the first sentence
        asked_s = time.monotonic()
        if how == "SIGTERM":
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)
            took_s = time.monotonic() - asked_s
        rest, err = process.communicate(timeout=PATIENCE_S)
        if how != "SIGTERM":
            took_s = time.monotonic() - asked_s
        return process.returncode, out + rest, err, took_s
