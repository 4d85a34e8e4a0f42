"""The host: which change needs a new engine, and that nobody notices more of it than needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.config import AppearanceConfig, Config, VoiceConfig
from app.desktop.host import VoicelessHost
from app.desktop.player_state import Phase
from app.engine.engine import Engine
from app.engine.events import DecoderState, LinkStatus, Notice
from app.engine.host import EngineReplaced, Wanted
from app.errors import ConfigError
from app.session.session import LinkState
from decoder.wire.events import Outcome
from server.emulator import Emulator
from tests.helpers.counting_talker import CountingTalker, text_for
from tests.helpers.desktop_rig import Workshop, desktop_rig
from tests.helpers.engine_rig import FAST
from tests.helpers.fake_decoder import FakeDecoder
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left
from tests.helpers.waiting import eventually

__all__ = ["no_task_is_left", "no_thread_is_left"]


def changed(config: Config, section: str, **values: Any) -> Config:
    return replace(config, **{section: replace(getattr(config, section), **values)})


@pytest.mark.parametrize(
    ("section", "values", "expected"),
    [
        ("server", {"url": "ws://other:8001"}, True),
        ("server", {"api_key": "secret"}, True),
        ("server", {"ca_file": "/x.pem"}, True),
        ("decoder", {"device": "cuda"}, True),
        ("decoder", {"precision": "fast"}, True),
        ("audio", {"latency_s": 0.2}, True),
        ("audio", {"start_buffer_s": 0.5}, True),
        ("audio", {"lead_in_s": 0.5}, True),
        ("audio", {"device": "ALSA: pulse"}, False),
        ("audio", {"volume": 0.5}, False),
        ("voice", {"name": "vivian"}, False),
        ("appearance", {"theme": "dark"}, False),
        ("window", {"keep_history": False}, False),
    ],
)
def test_which_change_needs_a_new_engine(section: str, values: dict[str, Any], expected: bool) -> None:
    old = Wanted(Config(), is_demo=False)
    assert Wanted(changed(Config(), section, **values), is_demo=False).needs_new_engine(old) is expected


def test_the_demo_does_not_care_for_the_servers_address() -> None:
    old = Wanted(Config(), is_demo=True)
    assert not Wanted(changed(Config(), "server", url="ws://other:1"), True).needs_new_engine(old)
    assert Wanted(Config(), is_demo=False).needs_new_engine(old)


async def test_another_server_is_used_without_a_restart(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path) as rig, Emulator(CountingTalker(), FAST) as other:
        rig.player.speak(text_for(3))
        await rig.until(Phase.IDLE)
        await rig.host.apply(changed(rig.config, "server", url=other.url), is_demo=False)
        rig.player.speak(text_for(4))
        await rig.until(Phase.IDLE)
        assert rig.state.outcome is Outcome.COMPLETE
        assert (len(rig.emulator.utterances), len(other.utterances)) == (1, 1)
        assert [e.engine is None for e in rig.of(EngineReplaced)] == [False, True, False]


async def test_what_is_spoken_while_the_server_is_changed_ends_and_is_told(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path) as rig, Emulator(CountingTalker(), FAST) as other:
        rig.player.speak(text_for(60))
        await rig.until(Phase.PLAYING)
        await rig.host.apply(changed(rig.config, "server", url=other.url), is_demo=False)
        assert rig.state.phase is Phase.IDLE
        assert rig.state.outcome is Outcome.CANCELLED
        rig.player.seek(0.0)
        assert rig.state.is_speaking, "what there is of it can still be heard, on the new engine"


async def test_voice_and_look_are_changed_without_touching_the_engine(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path) as rig:
        engine = rig.host.engine
        config = replace(rig.config, voice=VoiceConfig(name="Vivian "), appearance=AppearanceConfig("dark"))
        await rig.host.apply(config, is_demo=False)
        assert rig.host.engine is engine
        rig.player.speak(text_for(3))
        await rig.until(Phase.IDLE)
        assert rig.emulator.utterances[-1].config.voice == "vivian"


async def test_the_volume_reaches_the_engine_that_runs(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path) as rig:
        await rig.host.apply(changed(rig.config, "audio", volume=0.0), is_demo=False)
        rig.player.speak(text_for(5))
        await rig.until(Phase.IDLE)
        assert not rig.speaker.heard.any()
        assert rig.history.entries()[0].duration_s > 0


async def test_the_newest_of_many_changes_is_what_comes_of_them(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path) as rig:
        values = [0.1, 0.2, 0.3, 0.4]
        configs = [changed(rig.config, "audio", start_buffer_s=v) for v in values]
        await asyncio.gather(*(rig.host.apply(c, is_demo=False) for c in configs))
        assert rig.host.effective.audio.start_buffer_s == 0.4
        assert len(rig.workshop.speakers) == 3, "the first and the last: those in between need no engine"
        assert rig.workshop.speakers[0].is_closed


async def test_an_engine_that_cannot_be_made_is_told_and_a_better_setting_mends_it(tmp_path: Path) -> None:
    workshop = Workshop()

    def build(config: Config) -> Engine:
        if config.decoder.checkpoint == "nowhere":
            raise ConfigError("there is no checkpoint nowhere")
        return workshop.build(config)

    host = VoicelessHost(Wanted(changed(Config(), "decoder", checkpoint="nowhere"), False), make_engine=build)
    events: list[Any] = []
    host.subscribe(events.append)
    await host.start()
    try:
        assert host.engine is None
        assert "there is no checkpoint nowhere" in [e.text for e in events if isinstance(e, Notice)]
        assert not host.decoder.ready
        assert host.link.state is LinkState.OFFLINE
        await host.apply(Config(), is_demo=False)
        assert host.engine is not None
    finally:
        await host.aclose()


async def test_the_demo_runs_as_long_as_it_is_wanted(tmp_path: Path) -> None:
    inside: list[bool] = []
    workshop = Workshop()

    @asynccontextmanager
    async def demo(config: Config) -> AsyncIterator[tuple[Config, str | None]]:
        async with Emulator(CountingTalker(), FAST) as emulator:
            inside.append(True)
            yield changed(config, "server", url=emulator.url), "this demo only counts"
        inside.append(False)

    host = VoicelessHost(Wanted(Config(), is_demo=True), make_engine=workshop.build, demo=demo)
    events: list[Any] = []
    host.subscribe(events.append)
    await host.start()
    await eventually(lambda: host.link.state is LinkState.READY)
    assert [e.text for e in events if isinstance(e, Notice)] == ["this demo only counts"]
    await host.apply(Config(), is_demo=False)
    assert inside == [True, False]
    await host.aclose()


async def test_closing_while_the_engine_is_being_made_leaves_nothing(tmp_path: Path) -> None:
    workshop = Workshop()
    host = VoicelessHost(Wanted(Config(), is_demo=False), make_engine=workshop.build)
    starting = asyncio.ensure_future(host.start())
    await asyncio.sleep(0)
    await host.aclose()
    await starting
    assert host.engine is None
    await host.apply(changed(Config(), "audio", lead_in_s=1.0), is_demo=False)
    assert host.engine is None


async def test_news_is_kept_for_those_who_come_later(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path, workshop=Workshop(open_decoder=FakeDecoder)) as rig:
        await eventually(lambda: rig.host.decoder.ready)
        await eventually(lambda: rig.host.link.state is LinkState.READY)
        assert rig.of(DecoderState)[-1] is rig.host.decoder
        assert rig.of(LinkStatus)[-1] is rig.host.link


async def test_a_voice_that_was_just_chosen_is_the_one_that_speaks(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path) as rig:
        rig.host.want(Wanted(replace(rig.config, voice=VoiceConfig(name="vivian")), False))
        rig.player.speak(text_for(2))
        await rig.until(Phase.IDLE)
        assert rig.emulator.utterances[-1].config.voice == "vivian"


async def test_a_voice_that_cannot_be_spoken_is_in_the_way_of_its_texts_only(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path) as rig:
        config = replace(rig.config, voice=VoiceConfig(task="Base"))
        await rig.host.apply(changed(config, "audio", lead_in_s=0.1), is_demo=False)
        assert rig.host.engine is not None
        assert not rig.player.speak(text_for(2))
        assert any("uploaded voice" in n for n in rig.notices)
        rig.host.want(Wanted(replace(config, voice=VoiceConfig()), False))
        assert rig.player.speak(text_for(2))
        await rig.until(Phase.IDLE)


async def test_try_now_mends_an_engine_that_could_not_be_made(tmp_path: Path) -> None:
    workshop, is_there = Workshop(), False

    def build(config: Config) -> Engine:
        if not is_there:
            raise ConfigError("the checkpoint is on a disk that is not mounted")
        return workshop.build(config)

    host = VoicelessHost(Wanted(Config(), is_demo=False), make_engine=build)
    await host.start()
    try:
        assert host.engine is None
        is_there = True
        await host.try_now()
        assert host.engine is not None
    finally:
        await host.aclose()


async def test_what_a_change_of_the_settings_stopped_is_told(tmp_path: Path) -> None:
    async with desktop_rig(tmp_path) as rig:
        rig.player.speak(text_for(60))
        await rig.until(Phase.PLAYING)
        await rig.host.apply(changed(rig.config, "audio", lead_in_s=0.2), is_demo=False)
        assert rig.notices == ["The settings were changed: what was spoken is stopped."]
