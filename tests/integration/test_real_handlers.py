"""The client against the released handlers of vLLM-Omni: what it falls back to, and what it says about it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.config import AudioConfig, Config, DecoderConfig, ServerConfig, VoiceConfig
from app.engine.build import build
from app.engine.engine import Engine
from app.engine.events import EngineEvent, Notice, UtteranceDone
from app.errors import Refused
from app.headless.voices import voices_of
from decoder.streaming.config import CodecConfig
from decoder.streaming.random_weights import random_checkpoint
from decoder.wire.events import Outcome
from tests.helpers.engine_rig import Tape
from tests.helpers.omni_rig import OLD, OmniServer, omni_server
from tests.helpers.omni_server.scene import VOICES, Scene, true_frames, true_pcm
from tests.helpers.servers import certificate
from tests.helpers.waiting import eventually

DEMO_VOICE = "assets/demo_voice"
TEXT = "A sentence for a server that was made by others."
WITHIN_S = 60.0
DECODES = "it decodes itself"


@dataclass
class Person:
    """Somebody with a client."""

    engine: Engine
    events: list[EngineEvent] = field(default_factory=list)

    @property
    def told(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]

    async def hears(self, text: str = TEXT) -> tuple[UtteranceDone, bytes]:
        """Have ``text`` spoken; returns how it ended, and the samples as a stock server sends them."""
        tape = Tape()
        done = await asyncio.wait_for(self.engine.speak(text, (tape,)), WITHIN_S)
        return done, np.round(tape.pcm * 32768).astype("<i2").tobytes()


@asynccontextmanager
async def person(
    server: OmniServer, *, voice: str = "vivian", checkpoint: str = DEMO_VOICE, **fields: Any
) -> AsyncIterator[Person]:
    config = Config(
        server=ServerConfig(url=server.url, **fields),
        voice=VoiceConfig(name=voice),
        decoder=DecoderConfig(checkpoint=checkpoint, threads=1),
        audio=AudioConfig(start_buffer_s=0.0),
    )
    engine = build(config, audible=False, paced=False)
    made = Person(engine)
    engine.subscribe(made.events.append)
    try:
        await engine.start()
        yield made
    finally:
        await engine.aclose()


def pcm_of(server: OmniServer, text: str = TEXT, voice: str = "vivian") -> bytes:
    return true_pcm(true_frames(server.scene, text, voice=voice))


async def test_a_stock_server_is_heard_sample_for_sample_and_said_to_decode() -> None:
    """What it does not know of the configuration, the size of packets among it, it ignores."""
    with omni_server() as server:
        async with person(server, packet_frames=4) as p:
            for text in (TEXT, "And a second one, on the same connection."):
                done, pcm = await p.hears(text)
                assert (done.outcome, done.reason) == (Outcome.COMPLETE, "")
                assert pcm == pcm_of(server, text)
            assert [text for text in p.told if DECODES in text] == [
                "the server does not know codec tokens, it decodes itself"
            ]


async def test_an_adapter_without_the_mode_is_asked_once_more_for_pcm() -> None:
    with omni_server(plugin=True) as server:
        async with person(server) as p:
            for text in (TEXT, "And a second one, for which nothing has to be tried."):
                done, pcm = await p.hears(text)
                assert done.outcome is Outcome.COMPLETE, done.reason
                assert pcm == pcm_of(server, text)
            assert [text for text in p.told if "cannot send codec tokens" in text] == [
                "the loaded model cannot send codec tokens, the server decodes"
            ]
            assert len(server.state()["generations"]) == 2, "nothing was generated twice"


async def test_a_talker_only_deployment_under_a_stock_handler_is_explained() -> None:
    with omni_server(talker_only=True) as server:
        async with person(server) as p:
            done, pcm = await p.hears()
            assert done.outcome is Outcome.EMPTY
            assert done.reason == "the server produced neither audio nor codec frames"
            assert not pcm


async def test_the_old_generation_is_heard_once_a_connection() -> None:
    with omni_server(version=OLD) as server:
        async with person(server) as p:
            for text in (TEXT, "And a second one, on a connection of its own."):
                done, pcm = await p.hears(text)
                assert done.outcome is Outcome.COMPLETE, done.reason
                assert pcm == pcm_of(server, text)
            assert any(DECODES in text for text in p.told)


async def test_a_stock_server_is_stopped_by_leaving_it_and_the_next_text_is_heard() -> None:
    """It does not read while it generates: only the end of the socket reaches it."""
    with omni_server(scene=Scene(step_s=0.02, frames=2000)) as server:
        async with person(server) as p:
            first = p.engine.speak(TEXT)
            await eventually(lambda: server.running() == 1, WITHIN_S)
            await p.engine.cancel()
            assert (await first).outcome is Outcome.CANCELLED
            await eventually(lambda: server.running() == 0, 10.0, "the generation that nobody waits for")
            server.play(Scene())
            done, pcm = await p.hears()
            assert done.outcome is Outcome.COMPLETE, done.reason
            assert pcm == pcm_of(server)


@pytest.mark.parametrize("plugin", [False, True])
async def test_an_unknown_voice_is_told_in_the_servers_words_and_the_next_text_is_heard(plugin: bool) -> None:
    with omni_server(plugin=plugin) as server:
        async with person(server, voice="nobody") as p:
            done, _ = await p.hears()
            assert done.outcome is Outcome.FAILED
            assert "Invalid voice" in done.reason
            for name in VOICES:
                assert name in done.reason.lower()
        async with person(server, voice="Serena") as p:
            done, pcm = await p.hears()
            assert done.outcome is Outcome.COMPLETE, done.reason
            assert pcm == pcm_of(server, voice="serena")


async def test_no_voice_at_all_is_the_servers_default() -> None:
    with omni_server() as server:
        async with person(server, voice="") as p:
            done, pcm = await p.hears()
            assert done.outcome is Outcome.COMPLETE, done.reason
            assert len(pcm) > 0


async def test_a_private_authority_is_trusted_if_it_is_named_and_else_asked_for(tmp_path: Path) -> None:
    made = certificate(tmp_path)
    if made is None:
        pytest.skip("no openssl command to make a certificate with")
    with omni_server(certificate=made[0], key=tmp_path / "key.pem") as server:
        assert server.url.startswith("wss://")
        async with person(server, ca_file=str(made[0])) as p:
            done, pcm = await p.hears()
            assert done.outcome is Outcome.COMPLETE, done.reason
            assert pcm == pcm_of(server)
        async with person(server) as p:
            with pytest.raises(Refused, match=r"not trusted.*set server\.ca_file"):
                await p.engine.connect()


def nearfield(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user would."""
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        env={**os.environ, **environment},
    )


def test_a_key_is_asked_for_and_taken(tmp_path: Path) -> None:
    """With the name of the variable in which it belongs."""
    path = tmp_path / "said.wav"
    with omni_server(api_key="sesame") as server:
        say = ("say", TEXT, "--server", server.url, "--checkpoint", DEMO_VOICE, "--no-play", "-o", str(path))
        for key in ("", "another one"):
            refused = nearfield(*say, NEARFIELD_API_KEY=key)
            assert refused.returncode == 2
            assert "HTTP 401" in refused.stderr
            assert "NEARFIELD_API_KEY" in refused.stderr
            assert "Traceback" not in refused.stderr
            assert not path.exists()
        spoken = nearfield(*say, NEARFIELD_API_KEY="sesame")
        assert spoken.returncode == 0, spoken.stderr
        assert DECODES in spoken.stdout + spoken.stderr
        assert path.read_bytes().endswith(true_pcm(true_frames(server.scene, TEXT)))


SMALL = CodecConfig(
    latent_dim=64,
    codebook_dim=64,
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=2,
    head_dim=32,
    decoder_dim=64,
)
"""The published codec's frames (16 codes of 2048), decoded by next to nothing."""


async def test_with_the_plug_in_codec_tokens_come_and_are_decoded_here(tmp_path: Path) -> None:
    checkpoint = str(random_checkpoint(tmp_path / "codec", SMALL))
    with omni_server(plugin=True, talker_only=True) as server:
        async with person(server, checkpoint=checkpoint, packet_frames=4) as p:
            done, pcm = await p.hears()
            assert done.outcome is Outcome.COMPLETE, done.reason
            frames = true_frames(server.scene, TEXT, voice="vivian")
            assert len(pcm) == len(frames) * 1920 * 2
            assert not any(DECODES in text for text in p.told)


def test_the_command_speaks_through_the_plug_in(tmp_path: Path) -> None:
    """As a user runs it: the sound is as long as the frames, and the tally of the wire is printed."""
    checkpoint, path = random_checkpoint(tmp_path / "codec", SMALL), tmp_path / "said.wav"
    with omni_server(plugin=True, talker_only=True, api_key="sesame") as server:
        spoken = nearfield(
            *(
                "say",
                TEXT,
                "--server",
                server.url,
                "--checkpoint",
                str(checkpoint),
                "--no-play",
                "-o",
                str(path),
            ),
            NEARFIELD_API_KEY="sesame",
        )
        assert spoken.returncode == 0, spoken.stderr
        frames = true_frames(server.scene, TEXT)
    assert DECODES not in spoken.stdout + spoken.stderr
    with wave.open(str(path)) as made:
        assert made.getnframes() == len(frames) * 1920


@pytest.mark.parametrize("plugin", [False, True])
async def test_the_list_of_voices_is_the_servers(plugin: bool) -> None:
    with omni_server(plugin=plugin, talker_only=plugin, api_key="sesame") as server:
        config = Config(server=ServerConfig(url=server.url, api_key="sesame"))
        assert sorted(await voices_of(config)) == sorted(VOICES)
        with pytest.raises(Refused, match="401"):
            await voices_of(Config(server=ServerConfig(url=server.url)))


async def test_a_codec_that_is_not_the_loaded_decoders_is_refused_with_both_values() -> None:
    with omni_server(plugin=True, talker_only=True) as server:
        async with person(server) as p:
            done, pcm = await p.hears()
            assert done.outcome is Outcome.FAILED
            assert done.reason == "the server sends codebook_size 2048, the loaded decoder wants 1024"
            assert not pcm
