from __future__ import annotations

import pytest

from app.config import Config, ServerConfig, VoiceConfig
from app.errors import Unreachable
from app.headless import languages
from app.headless.voices import KEPT_S, KnownVoices, asked_for, voices_of
from server.emulator import Emulator
from tests.helpers.counting_talker import CountingTalker


class Asked:
    """A server that is asked, and when."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.names: tuple[str, ...] | None = ("ryan",)
        self.times: list[float] = []

    def clock(self) -> float:
        return self.now_s

    async def ask(self, config: Config) -> tuple[str, ...]:
        self.times.append(self.now_s)
        if self.names is None:
            raise Unreachable("nobody answers")
        return self.names


async def test_the_server_is_asked_now_and_then() -> None:
    """However often programs ask; without an answer, what was known stays."""
    asked = Asked()
    config = Config()
    known = KnownVoices(lambda: config, asked.ask, asked.clock)
    assert [await known.names() for _ in range(3)] == [("ryan",)] * 3
    assert asked.times == [0.0]
    asked.now_s, asked.names = KEPT_S, ("ryan", "vivian")
    assert await known.names() == ("ryan", "vivian")
    asked.now_s, asked.names = 2 * KEPT_S, None
    assert await known.names() == ("ryan", "vivian")
    config = Config(server=ServerConfig(url="ws://elsewhere:1"))
    assert await known.names() == ("default",)
    assert len(asked.times) == 4


async def test_without_a_list_there_is_the_voice_that_is_configured() -> None:
    """By its name, or by the one that stands for it."""
    asked = Asked()
    asked.names = None
    named = Config(voice=VoiceConfig(name=" Vivian "))
    assert await KnownVoices(lambda: named, asked.ask, asked.clock).names() == ("vivian",)
    assert await KnownVoices(Config, asked.ask, asked.clock).names() == ("default",)


async def test_a_real_list() -> None:
    """Without the placeholder."""
    async with Emulator(CountingTalker()) as emulator:
        assert await voices_of(Config(server=ServerConfig(url=emulator.url))) == ("vivian",)


@pytest.mark.parametrize(
    ("name", "voice"), [(None, ""), ("", ""), (" Default ", ""), ("vivian", "vivian"), (" Ryan", "Ryan")]
)
def test_what_a_name_means(name: str | None, voice: str) -> None:
    """The placeholder is none."""
    assert asked_for(name) == voice


@pytest.mark.parametrize(
    ("tag", "name"),
    [("en", "English"), ("de-AT", "German"), ("pt_BR.UTF-8", "Portuguese"), ("ZH-Hans", "Chinese"),
     ("cs", None), ("", None), (None, None), ("C", None)],
)  # fmt: skip
def test_languages(tag: str | None, name: str | None) -> None:
    """Ten of them have a name; the rest are left to the talker's ear."""
    assert languages.name_of(tag) == name
