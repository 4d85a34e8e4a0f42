"""The window with all that is behind it: real engine, real emulator, a loudspeaker that remembers."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.config import Profile
from app.desktop.desktop import Desktop
from app.desktop.host import VoicelessHost
from app.desktop.link_view import LinkKind
from app.desktop.player_state import Phase
from app.desktop.settings import Settings
from app.gui.behind import Behind, behind
from app.gui.main_window import MainWindow
from app.gui.tasks import Tasks
from app.gui.window_state import WindowState
from app.session.voices import VoiceList
from decoder.wire.events import Outcome
from server.emulator import Emulator, Scenario
from tests.helpers.counting_talker import CountingTalker, text_for
from tests.helpers.desktop_rig import Workshop
from tests.helpers.fake_decoder import SPEC
from tests.helpers.qt_loop import Run, run_in_qt
from tests.helpers.waiting import eventually

__all__ = ["run_in_qt"]

SENTENCES = [text_for(30, 1), text_for(30, 101), text_for(30, 201)]
THREE = " ".join(SENTENCES)


@pytest.fixture(autouse=True)
def nothing_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in ("NEARFIELD_SERVER", "NEARFIELD_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@dataclass
class Whole:
    """What a test looks at."""

    window: MainWindow
    parts: Behind
    emulator: Emulator
    workshop: Workshop
    settings: Settings

    @property
    def desktop(self) -> Desktop:
        return self.parts.desktop

    @property
    def phase(self) -> Phase:
        return self.desktop.player.state.phase

    def trigger(self, name: str) -> None:
        assert self.window.act[name].isEnabled(), name
        self.window.act[name].trigger()

    async def until(self, *phases: Phase, within_s: float = 8.0) -> None:
        await eventually(lambda: self.phase in phases, within_s, f"{phases}, not {self.phase}")

    async def ready(self) -> None:
        await eventually(lambda: self.desktop.host.decoder.ready, what="a decoder")


@asynccontextmanager
async def whole(
    tmp_path: Path, scenario: Scenario | None = None, *, speed: float = 8.0
) -> AsyncIterator[Whole]:
    """Open a window at an emulator until the block ends."""
    workshop = Workshop(speed=speed)
    async with Emulator(CountingTalker(SPEC), scenario or Scenario(pace=0)) as emulator:
        settings = Settings(tmp_path / "config.yaml", environment={}, flags={"server.url": emulator.url})
        tasks = Tasks()
        window = MainWindow(WindowState(tmp_path / "window.ini"), tasks)
        window.show()

        def make_desktop(settings: Settings) -> Desktop:
            return Desktop(settings, lambda wanted: VoicelessHost(wanted, make_engine=workshop.build))

        try:
            async with behind(
                window, settings, tasks, make_desktop=make_desktop, list_devices=lambda: ["ALSA: one"]
            ) as parts:
                await parts.desktop.start()
                yield Whole(window, parts, emulator, workshop, settings)
        finally:
            window.hide()
            window.deleteLater()


def test_a_text_is_spoken_marked_measured_and_kept(run_in_qt: Run, tmp_path: Path) -> None:
    async def speak() -> None:
        async with whole(tmp_path, speed=2.0) as w:
            await w.ready()
            w.window.editor.set_text(THREE)
            marked: set[str] = set()

            def look() -> None:
                marked.update(s.cursor.selectedText().strip() for s in w.window.editor.extraSelections())

            w.parts.bridge.state_changed.connect(look)
            w.trigger("speak")
            await w.until(Phase.PLAYING)
            await w.until(Phase.IDLE, within_s=20)
            look()
            state = w.desktop.player.state
            assert state.outcome is Outcome.COMPLETE
            assert marked == set(SENTENCES)
            await eventually(lambda: w.window.status.words.text() == "Finished")
            assert w.window.act["save_audio"].isEnabled()
            assert w.window.act["report"].isEnabled()
            assert [entry.text for entry in w.desktop.history.entries()] == [THREE]
            assert w.parts.panels.history.model.rowCount() == 1
            w.trigger("report")
            assert QApplication.clipboard().text().startswith("TTFA ")

    run_in_qt(speak(), 40)


@pytest.mark.parametrize(
    "moment", [Phase.CONNECTING, Phase.WAITING, Phase.BUFFERING, Phase.PLAYING, Phase.PAUSED]
)
def test_stop_in_every_state_is_silent_at_once(run_in_qt: Run, tmp_path: Path, moment: Phase) -> None:
    async def stop() -> None:
        async with whole(tmp_path, Scenario(pace=1.0, first_frame_delay_s=0.3)) as w:
            await w.ready()
            w.window.editor.set_text(text_for(60))
            w.trigger("speak")
            if moment is Phase.PAUSED:
                await w.until(Phase.PLAYING)
                w.trigger("pause")
            # Phases may be gone before one looks; what matters is that it was on its way.
            with contextlib.suppress(AssertionError):
                await w.until(moment, within_s=1.0)
            QTest.keyClick(w.window.editor, Qt.Key.Key_Escape)
            assert w.phase is Phase.IDLE
            assert not w.window.act["stop"].isEnabled()

    run_in_qt(stop(), 30)


def test_pause_and_resume_lose_no_sample(run_in_qt: Run, tmp_path: Path) -> None:
    async def pause() -> None:
        async with whole(tmp_path, speed=2.0) as w:
            await w.ready()
            w.window.editor.set_text(text_for(50))
            w.trigger("speak")
            await w.until(Phase.PLAYING)
            w.trigger("pause")
            await w.until(Phase.PAUSED)
            held_s = w.desktop.player.state.heard_s
            await asyncio.sleep(0.3)
            assert w.desktop.player.state.heard_s - held_s < 0.15
            w.trigger("pause")
            await w.until(Phase.IDLE, within_s=20)
            state = w.desktop.player.state
            assert state.outcome is Outcome.COMPLETE
            assert state.heard_s == pytest.approx(state.decoded_s, abs=0.05)

    run_in_qt(pause(), 40)


def test_two_clicks_speak_once_more_not_twice(run_in_qt: Run, tmp_path: Path) -> None:
    """C11."""

    async def click() -> None:
        async with whole(tmp_path) as w:
            await w.ready()
            w.window.editor.set_text(text_for(10))
            w.trigger("speak")
            w.trigger("speak")
            await w.until(Phase.IDLE, within_s=20)
            assert w.desktop.player.state.outcome is Outcome.COMPLETE
            assert w.desktop.player.state.decoded_s == pytest.approx(0.8, abs=0.01)

    run_in_qt(click(), 40)


def test_twenty_times_speak_and_stop_while_everything_is_collected(run_in_qt: Run, tmp_path: Path) -> None:
    """D1, D5."""

    async def often() -> None:
        moments = random.Random(5)
        async with whole(tmp_path, Scenario(pace=1.0)) as w:
            await w.ready()
            collect = QTimer(w.window)
            collect.timeout.connect(gc.collect)
            collect.start(10)
            w.window.editor.set_text(text_for(40))
            for _ in range(20):
                w.trigger("speak")
                await asyncio.sleep(moments.uniform(0.0, 0.15))
                if w.window.act["stop"].isEnabled():
                    w.trigger("stop")
                assert w.phase is Phase.IDLE
            w.window.editor.set_text(text_for(5))
            w.trigger("speak")
            await w.until(Phase.IDLE, within_s=20)
            assert w.desktop.player.state.outcome is Outcome.COMPLETE

    run_in_qt(often(), 60)


def test_typing_stays_fluent_while_it_speaks(run_in_qt: Run, tmp_path: Path) -> None:
    """C1: no tick later than a tenth of a second, in the best of three readings, for others may be busy."""

    async def longest_gap_s(w: Whole) -> float:
        loop = asyncio.get_running_loop()
        gap_s, last_s = 0.0, loop.time()
        w.trigger("speak")
        while w.phase is not Phase.IDLE:
            QTest.keyClick(w.window.editor, Qt.Key.Key_X)
            await asyncio.sleep(0.01)
            now_s = loop.time()
            gap_s, last_s = max(gap_s, now_s - last_s), now_s
        return gap_s

    async def type_on() -> None:
        async with whole(tmp_path) as w:
            await w.ready()
            w.window.editor.set_text(THREE)
            gaps_s = []
            while len(gaps_s) < 3 and min(gaps_s, default=1.0) > 0.1:
                gaps_s.append(await longest_gap_s(w))
            assert min(gaps_s) < 0.1

    run_in_qt(type_on(), 60)


def test_a_setting_reaches_what_it_is_about_without_a_new_engine(run_in_qt: Run, tmp_path: Path) -> None:
    async def change() -> None:
        async with whole(tmp_path) as w:
            await w.ready()
            engine = w.desktop.host.engine
            w.settings.update(**{"audio.volume": 0.25, "window.keep_history": False})
            await eventually(lambda: w.desktop.host.effective.audio.volume == 0.25)
            assert w.window.transport.volume.value() == 25
            assert not w.desktop.history.keep
            assert w.desktop.host.engine is engine

    run_in_qt(change())


def test_another_server_is_used_without_a_restart(run_in_qt: Run, tmp_path: Path) -> None:
    async def change() -> None:
        async with whole(tmp_path) as w, Emulator(CountingTalker(SPEC), Scenario(pace=0)) as other:
            await w.ready()
            await w.desktop.profiles.add(Profile("Studio", other.url))
            w.window.chip.profile_chosen.emit("Studio")
            await eventually(lambda: w.desktop.host.effective.server.url == other.url)
            await eventually(lambda: w.window.chip.text().startswith("Studio: ready"))
            w.window.editor.set_text(text_for(5))
            w.trigger("speak")
            await w.until(Phase.IDLE, within_s=20)
            assert w.desktop.player.state.outcome is Outcome.COMPLETE

    run_in_qt(change(), 40)


def test_a_server_that_is_lost_is_shown_and_found_again(run_in_qt: Run, tmp_path: Path) -> None:
    async def lose() -> None:
        workshop = Workshop()
        first = Emulator(CountingTalker(SPEC), Scenario(pace=0))
        await first.__aenter__()
        port = int(first.url.rpartition(":")[2].partition("/")[0])
        settings = Settings(tmp_path / "config.yaml", environment={}, flags={"server.url": first.url})
        tasks = Tasks()
        window = MainWindow(WindowState(tmp_path / "window.ini"), tasks)
        kinds: list[LinkKind] = []

        def make_desktop(settings: Settings) -> Desktop:
            return Desktop(settings, lambda wanted: VoicelessHost(wanted, make_engine=workshop.build))

        async with behind(window, settings, tasks, make_desktop=make_desktop, list_devices=list) as parts:
            parts.bridge.link_changed.connect(lambda view: kinds.append(view.kind))
            await parts.desktop.start()
            await eventually(lambda: kinds and kinds[-1] is LinkKind.CODEC)
            await first.__aexit__(None, None, None)
            await eventually(lambda: kinds[-1] in (LinkKind.OFFLINE, LinkKind.ASLEEP))
            async with Emulator(CountingTalker(SPEC), Scenario(pace=0), port=port):
                window.chip.try_now.emit()
                await eventually(lambda: kinds[-1] is LinkKind.CODEC, 10)
        window.deleteLater()

    run_in_qt(lose(), 40)


MOMENTS = 50


def test_closing_at_fifty_random_moments_of_a_reading(run_in_qt: Run, tmp_path: Path) -> None:
    """D3, in one process: nothing is left running and nobody complains, or the fixture fails."""
    moments = random.Random(50)

    async def close_after(moment_s: float) -> None:
        async with whole(tmp_path, Scenario(pace=1.0)) as w:
            w.window.editor.set_text(text_for(20))
            w.trigger("speak")
            await asyncio.sleep(moment_s)

    async def close_often() -> None:
        for _ in range(MOMENTS):
            await asyncio.wait_for(close_after(moments.uniform(0.0, 0.6)), 5.0 + 0.6)

    run_in_qt(close_often(), 150)


def test_the_clipboard_is_spoken_as_another_start_asks(run_in_qt: Run, tmp_path: Path, qtbot: QtBot) -> None:
    async def ask() -> None:
        async with whole(tmp_path) as w:
            await w.ready()
            QApplication.clipboard().setText(text_for(5))
            w.parts.intents.speak_clipboard()
            await w.until(Phase.IDLE, within_s=20)
            assert w.desktop.player.state.outcome is Outcome.COMPLETE

    run_in_qt(ask(), 30)


def test_a_voice_that_the_server_lacks_gives_way_visibly(run_in_qt: Run, tmp_path: Path) -> None:
    async def vivian_alone() -> VoiceList:
        return VoiceList(("vivian",), ())

    async def speak() -> None:
        async with whole(tmp_path) as w:
            await w.ready()
            unused = w.desktop.voice_services()
            assert unused is not None
            w.window.voice.use(replace(unused, list=vivian_alone))
            await eventually(lambda: w.window.voice.voices is not None)
            w.settings.update(**{"voice.name": "nobody"})
            w.window.editor.set_text(text_for(3))
            w.trigger("speak")
            await w.until(Phase.IDLE)
            assert w.emulator.utterances[-1].config.voice is None
            assert any("nobody" in shown.text for shown in w.window.notices.shown)

    run_in_qt(speak(), 30)
