"""All parts behind the window together, without it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.config import Profile
from app.desktop.desktop import Desktop
from app.desktop.host import VoicelessHost
from app.desktop.player_state import Phase
from app.desktop.settings import Settings
from app.engine.events import Notice
from app.engine.host import EngineReplaced
from decoder.wire.events import Outcome
from server.emulator import Emulator, Scenario
from tests.helpers.counting_talker import CountingTalker, text_for
from tests.helpers.desktop_rig import Workshop
from tests.helpers.fake_decoder import SPEC
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left
from tests.helpers.waiting import eventually

__all__ = ["no_task_is_left", "no_thread_is_left"]


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@asynccontextmanager
async def desktop_at(url: str, path: Path) -> AsyncIterator[Desktop]:
    workshop = Workshop()
    settings = Settings(path / "config.yaml", environment={}, flags={"server.url": url})
    desktop = Desktop(settings, lambda wanted: VoicelessHost(wanted, make_engine=workshop.build))
    try:
        yield desktop
    finally:
        await desktop.aclose()


async def test_it_starts_speaks_and_ends(tmp_path: Path) -> None:
    async with (
        Emulator(CountingTalker(SPEC), Scenario(pace=0)) as emulator,
        desktop_at(emulator.url, tmp_path) as desktop,
    ):
        assert desktop.server_title == emulator.url
        await desktop.start()
        assert desktop.player.speak(text_for(5))
        await eventually(lambda: desktop.player.state.outcome is Outcome.COMPLETE)
        assert (tmp_path / "data/nearfield/history").is_dir()


async def test_of_many_changes_at_once_the_last_is_what_counts(tmp_path: Path) -> None:
    async with (
        Emulator(CountingTalker(SPEC), Scenario(pace=0)) as emulator,
        desktop_at(emulator.url, tmp_path) as desktop,
    ):
        await desktop.start()
        made: list[EngineReplaced] = []
        desktop.host.subscribe(lambda e: made.append(e) if isinstance(e, EngineReplaced) else None)
        for tenths in range(1, 10):
            desktop.settings.update(**{"audio.start_buffer_s": tenths / 10})
        await eventually(lambda: desktop.host.effective.audio.start_buffer_s == 0.9)
        await eventually(lambda: bool(made) and made[-1].engine is not None)
        assert len([event for event in made if event.engine is not None]) <= 2


async def test_the_history_follows_its_settings_at_once(tmp_path: Path) -> None:
    async with desktop_at("ws://127.0.0.1:9", tmp_path) as desktop:
        await desktop.start()
        desktop.settings.update(**{"window.history_mb": 20, "window.keep_history": False})
        assert desktop.history.most_bytes == 20_000_000
        assert not desktop.history.keep


async def test_a_profile_that_is_chosen_is_used_and_named(tmp_path: Path) -> None:
    async with (
        Emulator(CountingTalker(SPEC), Scenario(pace=0)) as other,
        desktop_at("ws://127.0.0.1:9", tmp_path) as desktop,
    ):
        await desktop.start()
        await desktop.profiles.add(Profile("Studio", other.url))
        await desktop.profiles.choose("Studio")
        assert desktop.server_title == "Studio"
        await eventually(lambda: desktop.host.effective.server.url == other.url)
        assert desktop.voice_services() is not None


async def test_what_is_wrong_with_the_file_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("audio: [")
    async with desktop_at("ws://127.0.0.1:9", tmp_path) as desktop:
        told: list[str] = []
        desktop.host.subscribe(lambda e: told.append(e.text) if isinstance(e, Notice) else None)
        await desktop.start()
        assert any("kept as" in text for text in told)


async def test_that_a_problem_with_the_file_is_over_is_no_news(tmp_path: Path) -> None:
    async with desktop_at("ws://127.0.0.1:9", tmp_path) as desktop:
        told: list[str] = []
        desktop.host.subscribe(lambda e: told.append(e.text) if isinstance(e, Notice) else None)
        await desktop.start()
        assert any("There is no file" in text for text in told)
        desktop.settings.update(**{"audio.volume": 0.5})
        assert all(told)


async def test_it_ends_within_seconds_in_the_middle_of_everything(tmp_path: Path) -> None:
    """D3, D4: also while it is being started."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"ws://127.0.0.1:{silent.getsockname()[1]}"
        for wait_s in (0.0, 0.05, 0.3):
            async with desktop_at(url, tmp_path) as desktop:
                starting = asyncio.ensure_future(desktop.start())
                await asyncio.sleep(wait_s)
                desktop.player.speak(text_for(20))
                assert desktop.player.state.phase is not Phase.IDLE
                began_s = time.perf_counter()
                await desktop.aclose()
                assert time.perf_counter() - began_s < 5
                await asyncio.gather(starting, return_exceptions=True)
