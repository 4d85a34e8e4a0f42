"""PCM under the plug-in: what the stock handler does, to the letter, and a cancel on top of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from tests.decoder.wire.junk import client_junk
from tests.helpers.omni_rig import OmniServer
from tests.helpers.omni_server.scene import Scene, true_frames, true_pcm
from tests.helpers.omni_server.service import BROKEN_MODEL
from tests.helpers.waiting import eventually
from tests.server.emulator.wire_client import client
from tests.server.omni_plugin.talk import CODEC, PCM, TEXT, hear_packets, say, session

CONFIG = {"type": "session.config", **PCM}
DONE = {"type": "input.done"}
CLOSE = {"type": "session.close"}


def text(value: Any = TEXT) -> dict[str, Any]:
    return {"type": "input.text", "text": value}


SCRIPTS: dict[str, list[dict[str, Any] | str]] = {
    "an utterance": [CONFIG, text(), DONE],
    "two utterances": [CONFIG, text(), DONE, text("The second one."), DONE],
    "no text": [CONFIG, DONE, text(" \n"), DONE, text(), DONE],
    "text in pieces": [CONFIG, text("Some "), text("of "), text("it."), DONE],
    "sentences": [CONFIG | {"split_granularity": "sentence"}, text("One. Two. Thr"), text("ee."), DONE],
    "clauses": [CONFIG | {"split_granularity": "clause"}, text("One, two; three. Dr. No"), DONE],
    "the whole sound at once": [CONFIG | {"stream_audio": False, "response_format": "wav"}, text(), DONE],
    "a stock client": [{"type": "session.config", "speaker": "ryan"}, text(), DONE],
    "another config": [CONFIG, text(), DONE, CONFIG | {"voice": "ryan", "seed": 3}, text(), DONE],
    "a bad config later": [
        CONFIG,
        CONFIG | {"speed": 2.0},
        CONFIG | {"split_granularity": "x"},
        text(),
        DONE,
    ],
    "a config in between": [CONFIG, text(), CONFIG | {"voice": "ryan"}, DONE],
    "a config after a sentence": [CONFIG | {"split_granularity": "sentence"}, text("One. "), CONFIG, DONE],
    "no json": [CONFIG, "{", "[]", "7", text(), DONE],
    "unknown types": [CONFIG, {"type": "input.audio"}, {"type": 5}, {}, text(), DONE],
    "text that is none": [CONFIG, text(5), text(None), {"type": "input.text"}, text(), DONE],
    "too much text": [CONFIG, text("x" * (128 * 1024)), text(), DONE],
    "an unknown voice": [CONFIG | {"voice": "nobody"}, text(), DONE, CONFIG, text(), DONE],
    "a language that is none": [CONFIG | {"language": "klingon"}, text(), DONE],
    "timestamps": [CONFIG | {"word_timestamps": True}, text(), DONE],
    "nothing at all": [CONFIG],
}

DROPPED = {
    "a bad first config": CONFIG | {"response_format": "ogg"},
    "a model that is not there": CONFIG | {"model": "another/model"},
    "a fault of the server": CONFIG | {"model": BROKEN_MODEL},
}


async def transcript(server: OmniServer, script: list[dict[str, Any] | str]) -> list[Any]:
    """Return all that a server says to a script: messages, runs of bytes as their sum, and how it ended."""
    said: list[Any] = []
    async with client(server.url) as c:
        try:
            for message in script:
                await c.socket.send(message if isinstance(message, str) else json.dumps(message))
            while True:
                message = await c.recv()
                if isinstance(message, bytes) and said and isinstance(said[-1], bytes):
                    said[-1] += message
                else:
                    said.append(message)
        except ConnectionClosed as end:
            said.append(end.rcvd.code if end.rcvd is not None else None)
    return said


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
async def test_nobody_can_tell_it_from_the_stock_handler(
    stock: OmniServer, two_stage: OmniServer, script: list[dict[str, Any] | str]
) -> None:
    script = [*script, CLOSE]
    expected, said = await asyncio.gather(transcript(stock, script), transcript(two_stage, script))
    assert said == expected
    assert said[-1] == 1000


@pytest.mark.parametrize("config", DROPPED.values(), ids=DROPPED)
async def test_nor_when_the_first_config_is_refused(
    stock: OmniServer, two_stage: OmniServer, config: dict[str, Any]
) -> None:
    """Nothing is sent after it: what meets a closed connection may take along the error on its way."""
    expected, said = await asyncio.gather(transcript(stock, [config]), transcript(two_stage, [config]))
    assert said == expected
    assert said[-1] is None


@pytest.mark.parametrize("scene", [Scene(error_at=3), Scene(dead=True), Scene(frames=0)])
async def test_nor_when_the_engine_fails(stock: OmniServer, two_stage: OmniServer, scene: Scene) -> None:
    for server in (stock, two_stage):
        server.play(scene)
    script = [CONFIG, text(), DONE, text(), DONE, CLOSE]
    expected, said = await asyncio.gather(transcript(stock, script), transcript(two_stage, script))
    assert said == expected


async def test_a_unit_begins_with_the_text_that_completes_it(two_stage: OmniServer) -> None:
    """Not with the flush: that is what clause and sentence mode are for."""
    async with session(two_stage, PCM, split_granularity="sentence") as c:
        await c.send("input.text", text="The first sentence. And")
        heard = await c.hear("audio.done")
        assert heard.json("audio.start")["sentence_text"] == "The first sentence."
        await c.send("input.text", text=" the second.")
        await c.send("input.done")
        heard = await c.hear()
        assert heard.json("audio.start")["sentence_text"] == "And the second."
        assert heard.json("session.done")["total_sentences"] == 2


async def test_four_at_once_hear_their_own_sound_codec_sessions_beside_them(two_stage: OmniServer) -> None:
    async def sound(number: int) -> bytes:
        async with session(two_stage, PCM) as c:
            return b"".join((await c.say(f"{TEXT} {number}.")).binary)

    sounds = await asyncio.gather(*map(sound, range(4)))
    for number, pcm in enumerate(sounds):
        assert pcm == true_pcm(true_frames(two_stage.scene, f"{TEXT} {number}.", voice="vivian"))


# -- cancel ---------------------------------------------------------------------------------------------


async def test_a_cancel_ends_the_unit_and_the_utterance_within_a_step(two_stage: OmniServer) -> None:
    two_stage.play(Scene(frames=500, step_s=0.02))
    async with session(two_stage, PCM) as c:
        await c.ask(TEXT)
        heard = await hear_packets(c, 2)
        await c.send("input.cancel")
        await c.hear_into(heard, "session.done")
        done = heard.json("audio.done")
        assert (done["cancelled"], done["error"]) == (True, False)
        assert done["total_bytes"] == sum(map(len, heard.binary))
        assert heard.json("session.done") == {
            "type": "session.done",
            "utterance_index": 0,
            "total_sentences": 1,
        }
        await eventually(lambda: not two_stage.running(), what="the end of the generation")
        assert two_stage.state()["generations"][-1]["steps"] <= len(heard.binary) + 1
        two_stage.play(Scene())
        heard = await c.say("The next one.")
        assert heard.json("audio.start")["utterance_index"] == 1
        assert "cancelled" not in heard.json("audio.done")
        expected = true_frames(two_stage.scene, "The next one.", voice="vivian")
        assert b"".join(heard.binary) == true_pcm(expected)


async def test_a_cancel_while_idle_is_told(two_stage: OmniServer) -> None:
    async with session(two_stage, PCM) as c:
        for _ in range(2):
            await c.send("input.cancel")
            assert await c.recv() == {"type": "input.cancelled"}
        assert (await c.say(TEXT)).json("audio.start")["utterance_index"] == 0


async def test_a_cancel_forgets_text_that_was_not_flushed(two_stage: OmniServer) -> None:
    async with session(two_stage, PCM) as c:
        await c.send("input.text", text="Never mind. ")
        await c.send("input.cancel")
        assert await c.recv() == {"type": "input.cancelled"}
        heard = await c.say("This one.")
        assert heard.json("audio.start")["sentence_text"] == "This one."


async def test_a_cancel_forgets_the_sentences_behind_the_one_it_stops(two_stage: OmniServer) -> None:
    two_stage.play(Scene(hang_at=2))
    async with session(two_stage, PCM, split_granularity="sentence") as c:
        await c.ask("One sentence. And another one. And a third.")
        await c.ask("A whole utterance behind it.")
        heard = await hear_packets(c, 1)
        await c.send("input.cancel")
        await c.send("input.cancel")
        await c.hear_into(heard, "input.cancelled")
        assert heard.types == ["audio.start", "binary", "audio.done", "session.done", "input.cancelled"]
        assert heard.json("session.done")["total_sentences"] == 1
        two_stage.play(Scene())
        assert (await c.say("Now this.")).json("audio.start")["utterance_index"] == 1


async def test_a_cancel_on_the_heels_of_the_text(two_stage: OmniServer) -> None:
    async with session(two_stage, PCM) as c:
        await c.ask(TEXT)
        await c.send("input.cancel")
        heard = await c.hear()
        assert heard.json("session.done")["utterance_index"] == 0
        await c.send("input.cancel")
        assert await c.recv() == {"type": "input.cancelled"}
    await eventually(lambda: not two_stage.running())


async def test_text_that_comes_while_it_is_cancelled_is_the_next_utterance(two_stage: OmniServer) -> None:
    two_stage.play(Scene(hang_at=2))
    async with session(two_stage, PCM) as c:
        await c.ask(TEXT)
        await hear_packets(c, 1)
        await c.send("input.cancel")
        two_stage.play(Scene())
        await c.ask("And now?")
        await c.hear()
        heard = await c.hear()
        assert heard.json("audio.start")["sentence_text"] == "And now?"
        assert heard.json("audio.start")["utterance_index"] == 1


async def test_who_goes_takes_the_generation_along(two_stage: OmniServer) -> None:
    two_stage.play(Scene(hang_at=2))
    async with session(two_stage, PCM) as c:
        await c.ask(TEXT)
        await hear_packets(c, 1)
        c.socket.transport.abort()
    await eventually(lambda: not two_stage.running())


# -- codec tokens where there are none ------------------------------------------------------------------


async def test_a_deployment_that_decodes_has_no_codec_tokens_and_speaks_pcm_next(
    two_stage: OmniServer,
) -> None:
    """What the client does about it: the same text again, as PCM, on the same connection."""
    async with session(two_stage, CODEC) as c:
        heard = await c.say(TEXT)
        said = "output_mode='codec_tokens' is not supported by the loaded TTS model."
        assert heard.messages == [
            {"type": "error", "message": said},
            {"type": "session.done", "utterance_index": 0, "total_sentences": 0},
        ]
        await c.send("session.config", **PCM)
        heard = await c.say(TEXT)
        assert heard.json("audio.start")["utterance_index"] == 1
        await c.send("session.config", **CODEC)
        assert (await c.say(TEXT)).json("session.done")["utterance_index"] == 2
        await c.send("session.config", **PCM)
        assert (await c.say(TEXT)).json("audio.start")["utterance_index"] == 3


async def test_a_codec_config_that_is_refused_leaves_the_pcm_session_as_it_was(two_stage: OmniServer) -> None:
    async with session(two_stage, PCM) as c:
        for bad in ({"packet_frames": 99}, {"word_timestamps": True}, {"model": "another/model"}):
            await c.send("session.config", **CODEC | bad)
            assert (await c.recv())["type"] == "error"  # type: ignore[index]
        heard = await c.say(TEXT)
        assert heard.json("audio.done")["error"] is False
        expected = true_frames(two_stage.scene, TEXT, voice="vivian")
        np.testing.assert_array_equal(b"".join(heard.binary), true_pcm(expected))


@pytest.mark.parametrize(("first", "second"), [(PCM, CODEC), (CODEC, PCM)])
async def test_the_mode_cannot_change_within_an_utterance(
    two_stage: OmniServer, first: dict[str, Any], second: dict[str, Any]
) -> None:
    async with session(two_stage, first) as c:
        await c.send("input.text", text=TEXT)
        await c.send("session.config", **second)
        said = (await c.hear("error")).json("error")["message"]
        assert said == "session.config cannot be applied while an utterance is in progress"


@pytest.mark.parametrize("config", [PCM, CODEC])
async def test_a_binary_message_ends_the_session_with_an_error(
    two_stage: OmniServer, config: dict[str, Any]
) -> None:
    async with session(two_stage, config) as c:
        await c.socket.send(b"\x00\x01")
        assert (await c.recv())["type"] == "error"  # type: ignore[index]
        with pytest.raises(ConnectionClosed) as caught:
            await c.recv()
        assert caught.value.rcvd is None


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(client_junk.filter(lambda junk: len(junk) < 150_000), max_size=8), st.booleans())
def test_whatever_a_client_says_its_neighbour_hears_every_sample(
    two_stage: OmniServer, junk: list[str], leaves: bool
) -> None:
    async def misbehave() -> None:
        with contextlib.suppress(ConnectionClosed):
            async with session(two_stage, PCM) as c:
                for message in junk:
                    await c.socket.send(message)
                if leaves:
                    c.socket.transport.abort()
                await c.send("session.close")
                await c.hear("nothing")

    async def run() -> None:
        heard, _ = await asyncio.gather(say(two_stage, config=PCM), misbehave())
        expected = true_frames(two_stage.scene, TEXT, voice="vivian")
        assert b"".join(heard.binary) == true_pcm(expected)
        await eventually(lambda: not two_stage.running())

    asyncio.run(run())
