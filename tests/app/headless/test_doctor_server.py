"""What is found of a server, against the emulator and servers that are none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

import assets
from app.config import Config, VoiceConfig
from app.headless.doctor import server
from app.headless.doctor.finding import Finding, Verdict
from app.headless.doctor.server import check_server, check_speech, is_missing, mode_of
from app.session.voices import UploadedVoice, VoiceList
from decoder.wire.events import Mode
from server.emulator import Emulator, Scenario, SyntheticTalker
from server.emulator.talkers import demo_spec


def config_for(url: str, **voice: str) -> Config:
    config = Config()
    return replace(
        config,
        server=replace(config.server, url=url),
        voice=replace(config.voice, **voice),  # type: ignore[arg-type]
        decoder=replace(config.decoder, checkpoint=str(assets.folder("demo_voice"))),
    )


async def found(look: Callable[[Config], Finding], scenario: Scenario, **voice: str) -> Finding:
    """Look at an emulator from a thread, as the doctor does."""
    async with Emulator(SyntheticTalker(demo_spec()), scenario) as emulator:
        return await asyncio.to_thread(look, config_for(emulator.url, **voice))


async def test_a_server_of_codec_tokens() -> None:
    finding = await found(check_server, Scenario())
    assert finding.verdict is Verdict.OK
    assert "it streams codec tokens" in finding.summary
    assert "voices: " in finding.summary
    assert mode_of(finding) is Mode.CODEC
    assert isinstance(finding.facts["connect_s"], float)


async def test_a_server_that_decodes_itself() -> None:
    """A stock server only shows it with a text, so asking says nothing and speaking says it."""
    scenario = Scenario(kind="stock", pace=0)
    assert mode_of(await found(check_server, scenario)) in (Mode.UNKNOWN, Mode.PCM)
    finding = await found(check_speech, scenario)
    assert finding.verdict is Verdict.OK
    assert finding.facts["mode"] == "PCM"


async def test_nobody_there() -> None:
    finding = await asyncio.to_thread(check_server, config_for("ws://127.0.0.1:9"))
    assert finding.verdict is Verdict.PROBLEM
    assert "cannot reach ws://127.0.0.1:9" in finding.summary
    assert "start the server" in finding.advice
    assert mode_of(finding) is None


async def test_a_wrong_key() -> None:
    finding = await found(check_server, Scenario(handshake_status=401))
    assert finding.verdict is Verdict.PROBLEM
    assert "NEARFIELD_API_KEY" in finding.advice


async def test_a_voice_that_the_server_lacks() -> None:
    finding = await found(check_server, Scenario(), name="nobody")
    assert finding.verdict is Verdict.PROBLEM
    assert "nobody is none of them" in finding.summary
    assert mode_of(finding) is Mode.CODEC, "it is there all the same"


VOICES = VoiceList(("vivian",), (UploadedVoice("Mia"),))


@pytest.mark.parametrize(
    ("voice", "missing"),
    [
        (VoiceConfig(), False),
        (VoiceConfig(name=" Vivian"), False),
        (VoiceConfig(name="mia"), False),
        (VoiceConfig(name="default"), False),
        (VoiceConfig(name="ryan"), True),
        (VoiceConfig(name="ryan", task="Base"), False),
    ],
)
def test_names_are_compared_as_servers_do(voice: VoiceConfig, missing: bool) -> None:
    assert is_missing(voice, VOICES) == missing
    assert not is_missing(voice, VoiceList()), "a server that lists nothing may have it"


async def test_a_few_words_take_their_time_to_the_first_frame() -> None:
    finding = await found(check_speech, Scenario(pace=0, first_frame_delay_s=0.2))
    assert finding.verdict is Verdict.OK
    first_s = finding.facts["first_frame_s"]
    assert isinstance(first_s, float)
    assert 0.2 <= first_s < 1.0
    assert finding.facts["mode"] == "codec tokens"
    assert isinstance(finding.facts["audio_s"], float)
    assert finding.facts["audio_s"] > 0.5


async def test_a_server_that_is_slow_to_begin() -> None:
    finding = await found(check_speech, Scenario(pace=0, first_frame_delay_s=1.1))
    assert finding.verdict is Verdict.WARNING
    assert "slow to begin" in finding.summary


async def test_a_server_that_cannot_keep_up() -> None:
    finding = await found(check_speech, Scenario(pace=0.4))
    assert finding.verdict is Verdict.PROBLEM
    assert "slower than real time" in finding.summary


async def test_a_server_that_fails_is_told_in_its_words() -> None:
    finding = await found(check_speech, Scenario(pace=0, error_at_frame=0, error_text="out of memory"))
    assert finding.verdict is Verdict.PROBLEM
    assert "out of memory" in finding.summary


async def test_a_server_that_says_nothing_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "FIRST_FRAME_S", 0.3)
    finding = await found(check_speech, Scenario(first_frame_delay_s=30.0))
    assert finding.verdict is Verdict.PROBLEM
    assert "brought no sound" in finding.summary


async def test_a_checkpoint_that_does_not_fit_the_server_is_told() -> None:
    async with Emulator(SyntheticTalker(), Scenario(pace=0)) as emulator:
        finding = await asyncio.to_thread(check_speech, config_for(emulator.url))
    assert finding.verdict is Verdict.PROBLEM
    assert "codebook_size" in finding.summary
