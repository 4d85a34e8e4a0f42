"""From a configuration to an engine: what is taken, what is refused, and that nothing is opened yet."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from dataclasses import replace
from typing import Any

import pytest

import assets
from app.audio.keeper import OutputEvent, OutputLost, OutputMissing, OutputOpened
from app.audio.output import OutputInfo
from app.config import AudioConfig, Config, DecoderConfig, ServerConfig, VoiceConfig
from app.engine.build import Weights, build, output_events, session_config
from app.engine.engine import Engine
from app.engine.events import EngineEvent, Notice, OutputChanged, Severity
from app.errors import ConfigError
from app.playback.shared_decoder import SharedDecoder
from decoder.errors import CheckpointError
from tests.helpers.fake_sounddevice import FakeDevice, FakeSounddevice

DEMO = Config(decoder=DecoderConfig(checkpoint=str(assets.folder("demo_voice"))))


def test_building_opens_and_loads_nothing() -> None:
    threads = threading.active_count()
    assert isinstance(build(DEMO), Engine)
    assert threading.active_count() == threads


def test_building_loads_neither_torch_nor_the_sound_library() -> None:
    code = (
        "import sys, assets\n"
        "from app.config import Config, DecoderConfig\n"
        "from app.engine.build import build\n"
        "build(Config(decoder=DecoderConfig(checkpoint=str(assets.folder('demo_voice')))))\n"
        "print([m for m in ('torch', 'sounddevice', 'PySide6') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize(("packet_frames", "asked"), [(0, None), (1, 1), (25, 25)])
def test_packets_are_asked_for_only_if_they_are_set(packet_frames: int, asked: int | None) -> None:
    message = session_config(Config(server=ServerConfig(packet_frames=packet_frames)))
    assert message.packet_frames == asked
    assert ("packet_frames" in message.to_json()) is (asked is not None)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (replace(DEMO, server=ServerConfig(url="ftp://box")), "is not a server address"),
        (replace(DEMO, server=ServerConfig(url="ws://8.8.8.8", api_key="sesame")), "unencrypted"),
        (replace(DEMO, voice=VoiceConfig(task="Singing")), "CustomVoice"),
        (replace(DEMO, voice=VoiceConfig(task="VoiceDesign")), "instructions"),
        (replace(DEMO, voice=VoiceConfig(language="Klingon")), "Klingon"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_before_anything_starts(config: Config, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build(config)


def test_a_checkpoint_that_is_not_there_is_told_by_its_path() -> None:
    with pytest.raises(CheckpointError, match="no-such-folder"):
        build(Config(decoder=DecoderConfig(checkpoint="/no-such-folder")))


def test_what_is_empty_is_left_to_the_server() -> None:
    sent = session_config(Config())
    assert (sent.voice, sent.language, sent.task_type, sent.instructions, sent.seed) == (None,) * 5
    assert sent.accept_codec_context


def test_a_voice_is_named_as_servers_compare_names() -> None:
    voice = VoiceConfig(" Vivian ", "English", "CustomVoice", "gently", 0)
    sent = session_config(Config(voice=voice))
    assert (sent.voice, sent.language, sent.task_type) == ("vivian", "English", "CustomVoice")
    assert (sent.instructions, sent.seed) == ("gently", 0)


CARD = OutputInfo("ALSA: card", 48_000, 2, 0.1, audible=True)
DUMMY = OutputInfo("Pulse: auto_null", 48_000, 2, 0.1, audible=False)


@pytest.mark.parametrize(
    ("event", "info", "warnings"),
    [
        (OutputOpened(CARD), CARD, []),
        (OutputOpened(replace(CARD, note="USB card is absent")), CARD, ["USB card is absent"]),
        (OutputOpened(DUMMY), DUMMY, ["Pulse: auto_null is a dummy sink: nobody hears anything"]),
        (
            OutputLost(CARD, "it was unplugged", "opening it again"),
            None,
            ["it was unplugged: opening it again"],
        ),
        (OutputMissing("there is no device", ""), None, ["there is no device"]),
    ],
)
def test_what_becomes_of_the_sound_output_is_told(
    event: OutputEvent, info: OutputInfo | None, warnings: list[str]
) -> None:
    changed, *notices = output_events(event, audible=True)
    assert isinstance(changed, OutputChanged)
    assert (changed.info and changed.info.name) == (info and info.name)
    assert notices == [Notice(Severity.WARNING, text) for text in warnings]
    # This is what health says if it is not green, so it is a reason then.
    assert (changed.detail == "opened") == (info is not None and info.audible)


def test_nobody_is_warned_of_a_dummy_sink_who_wants_to_hear_nothing() -> None:
    assert output_events(OutputOpened(DUMMY), audible=False) == [OutputChanged(DUMMY, "opened")]


async def test_without_a_device_the_sound_goes_nowhere_and_nobody_is_warned() -> None:
    told: list[EngineEvent] = []
    engine = build(replace(DEMO, audio=AudioConfig(device="no such card")), audible=False)
    engine.subscribe(told.append)
    await engine.start()
    await asyncio.wait_for(engine.prepared(), 60)
    await engine.aclose()
    assert [e for e in told if isinstance(e, OutputChanged)] == [
        OutputChanged(OutputInfo("none", 24_000, 1, 0.02, audible=False), "opened")
    ]


async def test_the_sound_goes_on_at_a_device_that_was_plugged_in_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = FakeSounddevice().install(monkeypatch)
    told: list[EngineEvent] = []
    engine = build(replace(DEMO, audio=AudioConfig(latency_s=0.3)))
    engine.subscribe(told.append)
    await engine.start()
    fake.devices.append(FakeDevice("headset"))
    await engine.use_device("ALSA: headset")
    await engine.use_device("ALSA: none of these")
    await asyncio.wait_for(engine.prepared(), 60)
    await engine.aclose()
    infos = [e.info for e in told if isinstance(e, OutputChanged)]
    names = ["ALSA: speakers", "ALSA: headset", "ALSA: speakers"]
    assert [info and info.name for info in infos] == names
    assert [stream.asked["latency"] for stream in fake.streams] == [0.3] * 3
    assert not fake.open_streams
    absent = [e.text for e in told if isinstance(e, Notice) and "none of these" in e.text]
    assert len(absent) == 1


async def test_engines_with_shared_weights_load_the_decoder_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is not measured again, and decodes the same."""
    import decoder.streaming

    loads: list[object] = []
    load = decoder.streaming.load_decoder

    def counting(*arguments: Any, **settings: Any) -> Any:
        loads.append(arguments)
        return load(*arguments, **settings)

    monkeypatch.setattr(decoder.streaming, "load_decoder", counting, raising=False)
    weights: Weights = SharedDecoder()
    engines = [build(DEMO, audible=False, paced=False, weights=weights) for _ in range(2)]
    for engine in engines:
        await engine.start()
    await asyncio.wait_for(asyncio.gather(*(engine.prepared() for engine in engines)), 60)
    for engine in engines:
        await engine.aclose()
    assert len(loads) == 1
