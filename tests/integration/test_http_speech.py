"""``/v1/audio/speech`` with OpenAI's own client, against recorded tapes and the demo's decoder."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import openai
import pytest
import soundfile
from numpy.typing import NDArray

import assets
from app.config import Config, DecoderConfig, ServerConfig
from app.engine.build import build
from app.engine.engine import Engine
from app.headless.http.encoders import known_formats
from app.playback.shared_decoder import SharedDecoder
from server.emulator import Emulator, Scenario
from server.emulator.talkers import TapeTalker
from tests.app.headless.conftest import no_task_is_left, no_thread_is_left
from tests.helpers.fake_desk import FakeDesk
from tests.helpers.heard_sound import decoded, likeness, snr_db
from tests.helpers.http_rig import HttpRig, http_rig
from tests.helpers.waiting import eventually

__all__ = ["no_task_is_left", "no_thread_is_left"]

TEXT = "It is made of parts: the server, the hold, the decoder, the ring, and the device."
"""Recorded, 5.6 s: the demo's own voice never says the same twice."""
SHORT = "Hello, and welcome to Nearfield."
"""Recorded, 2.1 s."""
SAME_DB = 60.0
"""Decoding is exact for any cut, to rounding; which cuts there are depends on what comes when."""
SAY = (sys.executable, "-m", "app.cli", "say", "--no-play")


def unheard(weights: Any) -> Callable[[Config], Engine]:
    return lambda config: build(config, audible=False, paced=False, weights=weights)


@dataclass
class Speech:
    """The server and OpenAI's client of it."""

    rig: HttpRig
    client: openai.AsyncOpenAI
    config: Config

    async def bytes(self, **more: Any) -> bytes:
        """Ask as a program does that wants the sound as it comes."""
        asked = {"model": "tts-1", "voice": "alloy", "input": TEXT, **more}
        data = b""
        async with self.client.audio.speech.with_streaming_response.create(**asked) as answer:
            async for piece in answer.iter_bytes():
                data += piece
        return data


@asynccontextmanager
async def speaking(scenario: Scenario | None = None, **kiosk: Any) -> AsyncIterator[Speech]:
    async with Emulator(TapeTalker(), scenario or Scenario(pace=0)) as emulator:
        decoder = DecoderConfig(checkpoint=str(assets.folder("demo_voice")))
        config = Config(server=ServerConfig(url=emulator.url), decoder=decoder)
        async with http_rig(FakeDesk(config), unheard(SharedDecoder()), **kiosk) as rig:
            key = kiosk.get("http_token") or "none"
            async with openai.AsyncOpenAI(base_url=rig.url + "/v1", api_key=key, max_retries=0) as client:
                yield Speech(rig, client, config)


def said(config: Config, folder: Path) -> NDArray[np.int16]:
    """Return what ``say`` makes of the same text."""
    path = folder / "said.wav"
    where = ("--server", config.server.url, "--checkpoint", config.decoder.checkpoint)
    subprocess.run([*SAY, *where, "-o", str(path), TEXT], check=True, capture_output=True, timeout=120)
    pcm, rate_hz = soundfile.read(path, dtype="int16")
    assert rate_hz == 24_000
    return np.asarray(pcm)


async def test_every_format_sounds_as_say_does(tmp_path: Path) -> None:
    """OpenAI's client."""
    async with speaking() as speech:
        expected = await asyncio.to_thread(said, speech.config, tmp_path)
        assert len(expected) > 3 * 24_000
        for name in known_formats():
            heard = decoded(name, await speech.bytes(response_format=name))
            if name in ("wav", "pcm", "flac"):
                assert len(heard) == len(expected), name
                assert snr_db(heard, expected) > SAME_DB, name
            else:
                assert abs(len(heard) - len(expected)) < 0.15 * 24_000, name
                assert likeness(heard, expected.astype(np.float32)) > 0.95, name


async def test_the_sound_leaves_while_it_is_made() -> None:
    """At the pace of a real talker, the first of it is there long before the last."""
    async with speaking(Scenario(pace=1.0)) as speech:
        loop = asyncio.get_running_loop()
        asked = {"model": "tts-1", "voice": "alloy", "input": TEXT, "response_format": "pcm"}
        started_s, arrivals = loop.time(), []
        async with speech.client.audio.speech.with_streaming_response.create(**asked) as answer:
            async for piece in answer.iter_bytes(1920):
                arrivals.append((loop.time() - started_s, len(piece)))
        audio_s = sum(size for _, size in arrivals) / 48_000
        assert arrivals[-1][0] > 0.7 * audio_s
        assert arrivals[0][0] < 0.5 * arrivals[-1][0]


async def test_events_carry_the_sound_and_what_it_took() -> None:
    async with speaking() as speech:
        whole = await speech.bytes(response_format="pcm")
        body = {"input": TEXT, "response_format": "pcm", "stream_format": "sse"}
        sound, last = b"", {}
        async with speech.rig.client.post(speech.rig.url + "/v1/audio/speech", json=body) as answer:
            assert answer.content_type == "text/event-stream"
            async for line in answer.content:
                if line.strip():
                    last = json.loads(line.removeprefix(b"data: "))
                    if last["type"] == "speech.audio.delta":
                        sound += base64.b64decode(last["audio"])
        assert snr_db(decoded("pcm", sound), decoded("pcm", whole)) > SAME_DB
        assert last["type"] == "speech.audio.done"
        usage = last["usage"]
        assert usage["input_tokens"] == len(TEXT)
        assert usage["output_tokens"] == len(whole) // 2 // 1920
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


async def test_errors_are_openais() -> None:
    async with speaking(http_token="sesame", speech_chars=100) as speech:
        for more, word in (
            ({"speed": 1.5}, "speed"),
            ({"response_format": "aac"}, "wav, pcm"),
            ({"input": "x" * 101}, "input"),
            ({"input": "…"}, "nothing to say"),
            ({"extra_body": {"loudness": 3}}, "loudness"),
            ({"extra_body": {"language": "Klingon"}}, "Klingon"),
        ):
            with pytest.raises(openai.BadRequestError, match=word):
                await speech.bytes(**more)
        with pytest.raises(openai.AuthenticationError):
            await speech.client.with_options(api_key="guess").audio.speech.create(
                model="tts-1", voice="alloy", input="Hi"
            )


async def test_a_voice_that_the_server_does_not_have_is_told() -> None:
    async with speaking() as speech:
        with pytest.raises(openai.APIStatusError, match="nobody") as refused:
            await speech.bytes(voice="nobody")
        assert refused.value.status_code == 502
        assert len(await speech.bytes(voice={"id": "default"}, response_format="pcm")) > 48_000


async def test_a_server_that_is_not_there_is_503() -> None:
    async with speaking() as speech:
        desk = speech.rig.desk
        desk.config = replace(desk.config, server=replace(desk.config.server, url="ws://127.0.0.1:9"))
        with pytest.raises(openai.InternalServerError, match="cannot reach") as refused:
            await speech.bytes()
        assert refused.value.status_code == 503


async def test_who_hangs_up_ends_the_generation() -> None:
    """The server has nothing more to do for nobody, and the next caller is served."""
    async with speaking(Scenario(pace=1.0), speech_parallel=1) as speech:
        answer = await speech.rig.client.post(
            speech.rig.url + "/v1/audio/speech", json={"input": TEXT, "response_format": "pcm"}
        )
        await answer.content.readexactly(4800)
        answer.close()
        body = {"input": SHORT, "response_format": "pcm"}
        asked_s = asyncio.get_running_loop().time()
        async with speech.rig.client.post(speech.rig.url + "/v1/audio/speech", json=body) as next_answer:
            assert next_answer.status == 200
            assert len(await next_answer.read()) > 0
        assert asyncio.get_running_loop().time() - asked_s < 4.5, "the first would have gone on for 5 s"


async def test_a_server_that_is_closed_in_mid_sound_does_not_wait_for_its_end() -> None:
    """A kiosk has five seconds to end, the sentence that is heard included."""
    async with speaking(Scenario(pace=1.0)) as speech:
        body = {"input": TEXT, "response_format": "pcm"}
        async with speech.rig.client.post(speech.rig.url + "/v1/audio/speech", json=body) as answer:
            await answer.content.readexactly(4800)
            asked_s = asyncio.get_running_loop().time()
            await speech.rig.server.aclose()
            assert asyncio.get_running_loop().time() - asked_s < 2.0
            with pytest.raises(aiohttp.ClientError):
                await answer.read()


async def test_so_many_wait_and_no_more() -> None:
    async with speaking(Scenario(pace=1.0), speech_parallel=1, speech_waiting=1) as speech:
        asking = [asyncio.create_task(speech.bytes(response_format="pcm", input=SHORT)) for _ in range(2)]
        await eventually(lambda: speech.rig.server.speech_waiting == 1)
        with pytest.raises(openai.RateLimitError) as refused:
            await speech.bytes()
        assert int(refused.value.response.headers["Retry-After"]) > 0
        first, second = await asyncio.gather(*asking)
        assert snr_db(decoded("pcm", first), decoded("pcm", second)) > SAME_DB


async def test_a_server_that_fails_in_mid_sound_is_no_whole_answer() -> None:
    async with speaking(Scenario(pace=1.0, cut_at_frame=20)) as speech:
        body = {"input": TEXT, "response_format": "pcm"}
        async with speech.rig.client.post(speech.rig.url + "/v1/audio/speech", json=body) as answer:
            assert answer.status == 200
            with pytest.raises(aiohttp.ClientError):
                await answer.read()
        body["stream_format"] = "sse"
        async with speech.rig.client.post(speech.rig.url + "/v1/audio/speech", json=body) as answer:
            lines = (await answer.content.read()).split(b"\n\n")
        assert json.loads(lines[-2].removeprefix(b"data: "))["type"] == "error"
