"""The kiosk as a process, as a service would run it, used over HTTP by curl's betters."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest
from wyoming.audio import AudioStop
from wyoming.client import AsyncClient
from wyoming.tts import Synthesize

from tests.helpers.browser import browser, find_chromium
from tests.helpers.heard_sound import decoded

START_S = 90.0
CHROMIUM = find_chromium()


@dataclass
class Running:
    process: asyncio.subprocess.Process
    url: str
    client: aiohttp.ClientSession

    async def get(self, path: str) -> Any:
        async with self.client.get(self.url + path) as answer:
            return await answer.json()


@asynccontextmanager
async def kiosk(folder: Path, *lines: str, sources: str = "http") -> AsyncIterator[Running]:
    """Run ``nearfield --no-gui --demo`` with the source http at a free port."""
    config = folder / "config.yaml"
    text = "\n  ".join(["kiosk:", f"sources: [{sources}]", "http_port: 0", *lines])
    await asyncio.to_thread(config.write_text, f"{text}\n")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "app.cli", "--no-gui", "--demo", "--config", str(config),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    seen = ""
    try:
        while not (found := re.search(r"HTTP at (http://\S+)", seen)):
            line = await asyncio.wait_for(process.stdout.readline(), START_S)
            assert line, f"the kiosk ended: {seen}"
            seen += line.decode()
        draining = asyncio.create_task(process.stdout.read())
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as client:
            running = Running(process, found[1], client)
            give_up_s = asyncio.get_running_loop().time() + START_S
            while not (await running.get("/readyz"))["ok"]:
                assert asyncio.get_running_loop().time() < give_up_s
                await asyncio.sleep(0.1)
            yield running
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 10) == 0, (await draining).decode()
        assert b"Traceback" not in await draining
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def until_over(running: Running, name: str, within_s: float = 30.0) -> str:
    """Follow the events until a request is over; returns how it ended."""
    headers = {"Last-Event-ID": "00000000-0"}
    async with running.client.get(running.url + "/events", headers=headers) as answer:
        while True:
            block = (await asyncio.wait_for(answer.content.readuntil(b"\n\n"), within_s)).decode()
            kind = re.search(r"^event: (finished|interrupted|failed)$", block, re.MULTILINE)
            if kind and f'"id":"{name}"' in block:
                return kind[1]


async def test_a_text_over_http_is_spoken_and_another_becomes_a_file(tmp_path: Path) -> None:
    """The loudspeaker and the file at once, with weights that are loaded once."""
    async with kiosk(tmp_path) as running:
        body = {"text": "This is spoken aloud while a file is made beside it.", "id": "aloud"}
        async with running.client.post(running.url + "/speak", json=body) as answer:
            assert answer.status == 202
        async with openai.AsyncOpenAI(base_url=running.url + "/v1", api_key="none") as client:
            made = await client.audio.speech.create(
                model="tts-1", voice="alloy", input="And this goes into a file.", response_format="wav"
            )
            assert 1.0 < len(decoded("wav", made.content)) / 24_000 < 5.0
        assert await until_over(running, "aloud") == "finished"
        status = await running.get("/status")
        assert status["last"]["ttfa_s"] > 0


async def test_a_token_from_the_environment_guards_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARFIELD_KIOSK_HTTP_TOKEN", "sesame")
    async with kiosk(tmp_path, "http_host: 0.0.0.0") as running:
        url = running.url.replace("0.0.0.0", "127.0.0.1")
        async with running.client.get(url + "/status") as answer:
            assert answer.status == 401
        headers = {"Authorization": "Bearer sesame"}
        async with running.client.get(url + "/status", headers=headers) as answer:
            assert answer.status == 200


async def test_an_open_address_without_a_token_does_not_start(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    await asyncio.to_thread(config.write_text, "kiosk:\n  sources: [http]\n  http_host: 0.0.0.0\n")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "app.cli", "--no-gui", "--demo", "--config", str(config),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, err = await asyncio.wait_for(process.communicate(), START_S)
    assert process.returncode == 2
    assert b"NEARFIELD_KIOSK_HTTP_TOKEN" in err
    assert b"Traceback" not in err


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed (apt install chromium)")
async def test_a_person_speaks_through_the_page_and_stops_it(tmp_path: Path) -> None:
    assert CHROMIUM is not None
    async with kiosk(tmp_path) as running, browser(CHROMIUM, tmp_path) as page:
        await page.open(running.url + "/")
        await page.type("#text", "This sentence is long enough to be stopped in the middle of it. " * 4)
        await page.click("#speak-button")
        await page.until("document.querySelector('#events').innerText.includes('sentence')", 30.0)
        await page.until("document.querySelector('#n-ttfa').innerText.endsWith('ms')", 10.0)
        await page.until("parseFloat(document.querySelector('#n-buffer').innerText) >= 0", 10.0)
        await page.click("#stop")
        await page.until("document.querySelector('#events').innerText.includes('interrupted')", 10.0)
        assert page.complaints == []


async def test_what_wyoming_speaks_is_in_the_metrics_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with kiosk(tmp_path, f"wyoming_port: {port}", sources="wyoming, http") as running:
        async with AsyncClient.from_uri(f"tcp://127.0.0.1:{port}", read_timeout=60) as client:
            await client.write_event(Synthesize("Counted, too.").event())
            while (event := await client.read_event()) is not None and not AudioStop.is_type(event.type):
                pass
        async with running.client.get(running.url + "/metrics") as answer:
            text = await answer.text()
        spoken = [line for line in text.splitlines() if line.startswith("nearfield_utterances_total")]
        assert sum(float(line.rpartition(" ")[2]) for line in spoken) == 1.0, spoken
