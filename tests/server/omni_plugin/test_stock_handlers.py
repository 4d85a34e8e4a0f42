"""What PROTOCOL 5 says of servers without the mode, true of the released handlers as the rig serves them."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.helpers.omni_rig import OLD, OmniServer, omni_server
from tests.helpers.omni_server.scene import Scene, true_frames, true_pcm
from tests.helpers.servers import certificate
from tests.helpers.waiting import eventually
from tests.server.emulator.wire_client import client
from tests.server.omni_plugin.talk import CODEC, PCM, TEXT, hear_packets, say, session


async def test_output_mode_is_ignored_and_pcm_comes(stock: OmniServer) -> None:
    heard = await say(stock, seed=3)
    assert heard.types == ["audio.start", "binary", "audio.done", "session.done"]
    pcm = true_pcm(true_frames(stock.scene, TEXT, voice="vivian", seed=3))
    assert b"".join(heard.binary) == pcm
    assert heard.json("audio.done")["total_bytes"] == len(pcm)


async def test_the_probe_is_answered_with_an_unknown_type(stock: OmniServer) -> None:
    async with session(stock) as c:
        await c.send("input.cancel")
        assert await c.recv() == {"type": "error", "message": "Unknown message type: input.cancel"}


async def test_a_cancel_is_read_when_everything_was_said(stock: OmniServer) -> None:
    async with session(stock) as c:
        await c.ask(TEXT)
        await c.send("input.cancel")
        assert (await c.hear("error")).types[-2:] == ["session.done", "error"]


async def test_leaving_aborts(stock: OmniServer) -> None:
    stock.play(Scene(frames=400, step_s=0.01))
    async with session(stock) as c:
        await c.ask(TEXT)
        await hear_packets(c, 1)
        c.socket.transport.abort()
    await eventually(lambda: not stock.running())


async def test_silence_is_an_error_and_then_a_dropped_connection() -> None:
    with omni_server(idle_timeout_s=0.2, config_timeout_s=0.2) as server:
        async with session(server) as c:
            assert await c.recv() == {"type": "error", "message": "Idle timeout: no message received"}
            with pytest.raises(ConnectionClosed) as caught:
                await c.recv()
            assert caught.value.rcvd is None


async def test_a_talker_only_deployment_has_nothing_to_send() -> None:
    with omni_server(talker_only=True) as server:
        heard = await say(server)
        assert heard.types == ["audio.start", "audio.done", "session.done"]
        done = heard.json("audio.done")
        assert (done["total_bytes"], done["error"]) == (0, False)
        assert server.state()["generations"][-1]["output_kind"] == "FINAL_ONLY"


async def test_the_old_generation_ends_with_the_first_flush_and_counts_nothing() -> None:
    with omni_server(version=OLD) as server:
        async with session(server) as c:
            heard = await c.say(TEXT)
            assert heard.types == ["audio.start", "binary", "audio.done", "session.done"]
            assert not any("utterance_index" in m for m in heard.messages if isinstance(m, dict))
            with pytest.raises(ConnectionClosed):
                await c.recv()


async def test_another_model_cannot_send_codec_tokens_and_says_so() -> None:
    """With the plug-in, over a model that it is not for."""
    with omni_server(plugin=True, adapter="cosyvoice3") as server:
        heard = await say(server)
        said = "output_mode='codec_tokens' is not supported by the loaded TTS model."
        assert heard.types == ["error", "session.done"]
        assert heard.messages[0] == {"type": "error", "message": said}
        assert (await say(server, config=PCM)).types[0] == "audio.start"


@pytest.mark.parametrize("plugin", [False, True])
async def test_the_key_is_asked_for_under_v1_only(plugin: bool) -> None:
    with omni_server(plugin=plugin, talker_only=plugin, api_key="sesame") as server:
        with pytest.raises(InvalidStatus) as caught:
            async with client(server.url, "not sesame"):
                pass
        assert caught.value.response.status_code == 401
        async with client(server.url, "sesame") as c:
            await c.send("session.config", **CODEC)
            assert (await c.say(TEXT)).json("session.done")["total_sentences"] == 1
        async with httpx.AsyncClient(trust_env=False, base_url=server.http_url) as http:
            assert (await http.get("/health")).status_code == 200
            for path in ("/v1/models", "/v1/audio/voices"):
                assert (await http.get(path)).json() == {"error": "Unauthorized"}
                answer = await http.get(path, headers={"Authorization": "Bearer sesame"})
                assert answer.status_code == 200


async def test_voices_and_models_are_listed_and_voices_can_be_added(stock: OmniServer) -> None:
    async with httpx.AsyncClient(trust_env=False, base_url=stock.http_url) as http:
        assert (await http.get("/v1/models")).json()["data"][0]["id"] == stock.scene.model
        assert (await http.get("/v1/audio/voices")).json() == {
            "voices": ["default", "ryan", "serena", "vivian"],
            "uploaded_voices": [],
        }
        fields = {"consent": "yes", "name": "Me"}
        sample = {"audio_sample": ("me.wav", b"RIFF", "audio/wav")}
        assert (await http.post("/v1/audio/voices", data=fields, files=sample)).json()["success"] is True
        listed = (await http.get("/v1/audio/voices")).json()
        assert "me" in listed["voices"]
        assert listed["uploaded_voices"][0]["name"] == "Me"
        heard = await say(stock, config=PCM | {"task_type": "Base", "voice": "me"})
        assert heard.json("audio.done")["error"] is False
        assert (await http.delete("/v1/audio/voices/Me")).status_code == 200
        assert (await http.delete("/v1/audio/voices/Me")).status_code == 404


async def test_tls_with_a_certificate_of_ones_own(tmp_path: Path) -> None:
    made = certificate(tmp_path)
    if made is None:
        pytest.skip("there is no openssl command here")
    pem, _ = made
    with omni_server(plugin=True, talker_only=True, certificate=pem, key=tmp_path / "key.pem") as server:
        assert server.url.startswith("wss://")
        trusting: dict[str, Any] = {"ssl": ssl.create_default_context(cafile=str(pem))}
        async with client(server.url, **trusting) as c:
            await c.send("session.config", **CODEC)
            np.testing.assert_array_equal(
                (await c.say(TEXT)).codes, true_frames(server.scene, TEXT, voice="vivian")
            )
        with pytest.raises(ssl.SSLCertVerificationError):
            async with client(server.url):
                pass
