"""A Wyoming client, as Home Assistant is one, against a server with a real decoder; and its announcement."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile
from wyoming.audio import AudioChunk, AudioStop
from wyoming.client import AsyncClient
from wyoming.info import Describe, Info
from wyoming.tts import Synthesize
from zeroconf import IPVersion, ServiceStateChange
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

import assets
from app.config import Config
from app.engine.build import Weights, build
from app.headless.voices import KnownVoices
from app.headless.wyoming.discovery import TYPE, announced
from app.headless.wyoming.server import WyomingServer
from server.emulator import Emulator, SyntheticTalker
from server.emulator.talkers import demo_spec

TEXT = "What a client gets is what say would play. Every sample of it, and none besides."


async def test_the_sound_is_that_of_say(tmp_path: Path) -> None:
    """A client's samples equal those of the file that the command writes for the same text."""
    path = tmp_path / "said.wav"
    checkpoint = str(assets.folder("demo_voice"))
    async with Emulator(SyntheticTalker(demo_spec())) as emulator:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "app.cli", "say", TEXT, "--json", "--no-play", "-o", str(path)),
            *("--server", emulator.url, "--checkpoint", checkpoint),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 120)
        assert process.returncode == 0, err.decode()
        assert json.loads(out)["outcome"] == "complete"

        config = Config()
        config = replace(
            config,
            server=replace(config.server, url=emulator.url),
            decoder=replace(config.decoder, checkpoint=checkpoint),
            kiosk=replace(config.kiosk, wyoming_port=0),
        )
        weights = Weights()
        server = WyomingServer(
            lambda: config,
            lambda wanted: build(wanted, audible=False, paced=False, weights=weights),
            KnownVoices(lambda: config).names,
        )
        await server.start()
        try:
            async with AsyncClient.from_uri(f"tcp://127.0.0.1:{server.port}", read_timeout=60) as client:
                await client.write_event(Describe().event())
                event = await client.read_event()
                assert event is not None
                names = [voice.name for voice in Info.from_event(event).tts[0].voices]
                assert "vivian" in names

                await client.write_event(Synthesize(TEXT).event())
                sound = b""
                while (event := await client.read_event()) is not None and not AudioStop.is_type(event.type):
                    if AudioChunk.is_type(event.type):
                        sound += AudioChunk.from_event(event).audio
        finally:
            await server.aclose()
        first, second = (u.codes for u in emulator.utterances)
        assert (first == second).all()
    written, rate_hz = soundfile.read(path, dtype="int16")
    assert rate_hz == 24_000
    heard = np.frombuffer(sound, "<i2").astype(np.int32)
    assert len(heard) == len(written) > 2 * rate_hz
    # The decoder's last bit depends on how its frames were cut, and may tip a rounding over.
    assert np.abs(heard - written).max() <= 1


async def test_home_assistant_finds_it() -> None:
    """Whoever browses for the protocol's services gets the port and the address, until it ends."""
    found: asyncio.Queue[tuple[ServiceStateChange, str]] = asyncio.Queue()

    def note(zeroconf: object, service_type: str, name: str, state_change: ServiceStateChange) -> None:
        found.put_nowait((state_change, name))

    network = AsyncZeroconf(interfaces=["127.0.0.1"], ip_version=IPVersion.V4Only)
    browser = AsyncServiceBrowser(network.zeroconf, TYPE, handlers=[note])
    try:
        async with announced(10200, ["127.0.0.1"], name="testbox"):
            state, name = await asyncio.wait_for(found.get(), 20)
            assert (state, name) == (ServiceStateChange.Added, f"Nearfield on testbox.{TYPE}")
            service = AsyncServiceInfo(TYPE, name)
            assert await service.async_request(network.zeroconf, 5000)
            assert service.port == 10200
            assert service.parsed_addresses() == ["127.0.0.1"]
        state, _ = await asyncio.wait_for(found.get(), 20)
        assert state is ServiceStateChange.Removed
    finally:
        await browser.async_cancel()
        await network.async_close()
