"""The real model behind a real socket: cancelling, waiting in turn, and what a client is told."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.reference_rig import LONG_TEXT, OpenServer, ReferenceProcess, data_uri, reference_wav
from tests.helpers.tiny_kinds import BASE, CUSTOM_VOICE, SPEAKERS, VOICE_DESIGN
from tests.helpers.waiting import eventually
from tests.server.emulator.wire_client import Heard, WireClient, client

TEXTS = ("First one.", "A second.", "The third.", "And four.")


async def frames(c: WireClient, heard: Heard, count: int) -> None:
    while len(heard.binary) < count:
        heard.messages.append(await c.recv())


async def at_rest(server: OpenServer) -> None:
    await eventually(lambda: not server.generating(), 5.0, "the end of the run")


async def test_a_cancelled_text_ends_within_a_step(process: ReferenceProcess) -> None:
    with process.server(CUSTOM_VOICE) as server:
        before = server.forwards()
        async with client(server.url) as c:
            await c.configure(voice="vivian")
            await c.ask(LONG_TEXT)
            heard = Heard()
            await frames(c, heard, 3)
            assert server.generating() == 1
            await c.send("input.cancel")
            await c.hear_into(heard, "session.done")
            told = server.forwards()
            assert heard.json("codec.done")["cancelled"] is True
            await at_rest(server)
            # The counter counts a step before it is forbidden.
            assert server.forwards() - told <= 1
            # One step read the text. Others were on their way while the cancel was.
            steps = server.forwards() - before - 1
            assert len(heard.codes) <= steps <= len(heard.codes) + 10
            await asyncio.sleep(0.1)
            assert server.forwards() - before - 1 == steps
            assert len((await c.say("Hi.")).codes) > 3


async def test_a_client_that_leaves_ends_its_run(process: ReferenceProcess) -> None:
    with process.server(CUSTOM_VOICE) as server:
        async with client(server.url) as c:
            await c.configure(voice="vivian")
            await c.ask(LONG_TEXT)
            await frames(c, Heard(), 2)
            c.socket.transport.abort()
        await at_rest(server)


async def test_of_four_who_wait_one_leaves_and_three_hear_their_own_frames(process: ReferenceProcess) -> None:
    voices = [*SPEAKERS, "vivian"]
    alone = [
        process.official(CUSTOM_VOICE, "generate_custom_voice", seed, text=text, speaker=voice).codes
        for seed, (text, voice) in enumerate(zip(TEXTS, voices, strict=True))
    ]
    with process.server(CUSTOM_VOICE) as server:
        clients = [client(server.url) for _ in TEXTS]
        first, second, third, fourth = opened = [await c.__aenter__() for c in clients]
        try:
            for seed, (c, voice) in enumerate(zip(opened, voices, strict=True)):
                await c.configure(voice=voice, seed=seed)
            before = server.forwards()
            heard = [Heard() for _ in opened]
            for c, mine, text in zip(opened, heard, TEXTS, strict=True):
                await c.ask(text)
                mine.messages.append(await c.recv())
                assert mine.types == ["codec.start"]
            await third.send("input.cancel")
            await third.hear_into(heard[2], "session.done")
            assert heard[2].json("codec.done")["total_frames"] == 0
            await asyncio.gather(
                *(c.hear_into(heard[n], "session.done") for n, c in ((0, first), (1, second), (3, fourth)))
            )
            for n in (0, 1, 3):
                np.testing.assert_array_equal(heard[n].codes, alone[n])
            # A step reads each text and one makes each frame: the one who left cost none.
            assert server.forwards() - before == sum(len(alone[n]) + 1 for n in (0, 1, 3))
        finally:
            for c in clients:
                await c.__aexit__(None, None, None)


@pytest.mark.parametrize(
    ("kind", "config", "said"),
    [
        (CUSTOM_VOICE, {"voice": "nobody"}, "'nobody'. Supported: default, vivian, uncle_fu, eric"),
        (CUSTOM_VOICE, {"language": "Korean"}, "tiny-custom_voice does not speak Korean; it knows auto, "),
        (CUSTOM_VOICE, {"task_type": "VoiceDesign", "instructions": "x"}, "start a server with a Voice"),
        (VOICE_DESIGN, {}, "VoiceDesign needs instructions"),
        (VOICE_DESIGN, {"task_type": "CustomVoice"}, "does task_type VoiceDesign only"),
        (BASE, {}, "set task_type Base and send ref_audio"),
        (BASE, {"task_type": "Base", "voice": "uploaded"}, "this server stores none"),
        (BASE, {"task_type": "Base", "speaker_embedding": [1.0]}, "the checkpoint's speakers have 32"),
    ],
)  # fmt: skip
async def test_what_the_checkpoint_cannot_do_is_said_and_the_session_goes_on(
    process: ReferenceProcess, kind: str, config: dict[str, Any], said: str
) -> None:
    with process.server(kind) as server:
        async with client(server.url) as c:
            for _ in range(2):
                await c.configure(**config)
                heard = await c.say("Hi.")
                assert heard.types == ["codec.start", "error", "codec.done", "session.done"]
                message = heard.json("error")["message"]
                assert message.startswith("Generation failed for utterance ")
                assert said in message
                assert heard.json("codec.done")["error"] is True


async def test_pcm_is_refused_and_not_made_up(process: ReferenceProcess) -> None:
    with process.server(CUSTOM_VOICE) as server:
        async with client(server.url) as c:
            await c.configure(voice="vivian")
            await c.configure(output_mode="pcm")
            assert "this server does not decode" in (await c.hear("error")).json("error")["message"]
            assert len((await c.say("Hi.")).codes) > 3


async def test_files_are_read_where_the_server_was_started_so(
    process: ReferenceProcess, tmp_path: Path
) -> None:
    path = tmp_path / "voice.wav"
    path.write_bytes(reference_wav())
    fields = {"task_type": "Base", "ref_text": "x", "seed": 3, "max_new_tokens": 4}
    with process.server(BASE, ref_folder=tmp_path) as server:
        async with client(server.url) as c:
            await c.configure(**fields, ref_audio=path.as_uri())
            from_file = await c.say("Hi.")
            await c.configure(**fields, ref_audio=data_uri(path.read_bytes()))
            np.testing.assert_array_equal(from_file.codes, (await c.say("Hi.")).codes)
            assert len(from_file.codes) == 4
            await c.configure(**fields, ref_audio="file:///etc/passwd")
            assert "no such file in the folder" in (await c.say("Hi.")).json("error")["message"]


async def test_models_voices_and_health_are_those_of_the_checkpoint(process: ReferenceProcess) -> None:
    def get(url: str) -> Any:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.read()

    with process.server(CUSTOM_VOICE) as server:
        assert await asyncio.to_thread(get, f"{server.http_url}/health") == b""
        models = json.loads(await asyncio.to_thread(get, f"{server.http_url}/v1/models"))
        assert [m["id"] for m in models["data"]] == ["tiny-custom_voice"]
        voices = json.loads(await asyncio.to_thread(get, f"{server.http_url}/v1/audio/voices"))
        assert voices == {"voices": ["default", *SPEAKERS], "uploaded_voices": []}
    with process.server(BASE) as server:
        voices = json.loads(await asyncio.to_thread(get, f"{server.http_url}/v1/audio/voices"))
        assert voices == {"voices": ["default"], "uploaded_voices": []}
