"""Pictures of the window in its main states, with everything real behind it but the loudspeaker.

::

    xvfb-run -a -s "-screen 0 2600x1800x24" .venv/bin/python -m tests.gui.screenshots FOLDER [STATE …]

Each state is a picture of that name; without names, all of them. Look at every one after a change that
can be seen. The Chinese ones need a font with Chinese characters (fonts-wqy-microhei or fonts-noto-cjk on
Debian).
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication, QMenu, QWidget

import assets
from app.config import DEMO, Config
from app.desktop.desktop import Desktop
from app.desktop.host import VoicelessHost
from app.desktop.player_state import Phase
from app.desktop.settings import Settings
from app.engine.build import build
from app.engine.engine import Engine
from app.gui.behind import Behind, behind
from app.gui.language import Language
from app.gui.loop import close_loop, open_loop
from app.gui.main_window import LEAST, MainWindow
from app.gui.style.theme import theme
from app.gui.tasks import Tasks
from app.gui.window_state import WindowState
from server.emulator import Emulator, Scenario, SyntheticTalker
from tests.helpers.waiting import eventually

TEXT = (
    "Speech can be decoded where the listener is. The server sends half a kilobyte for each second, and this"
    " machine makes the sound of it.\n\nThat is why it starts so soon, even over a thin and shaky line. “And"
    " what if the line breaks?” Then what has arrived is heard to its end, and you are told."
)
LINES = (
    "Good morning. It is seven degrees outside, and it will rain in the afternoon.",
    "The train to Basel leaves from platform nine.",
    "Chapter two, in which nothing happens as it was planned.",
)
DEVICES = ["ALSA: pulse", "ALSA: HDA Intel PCH: ALC257 Analog", "ALSA: USB Audio DAC"]


@dataclass
class Scene:
    """A window and what is behind it, and where its pictures go."""

    window: MainWindow
    parts: Behind
    folder: Path
    emulator: Emulator | None = None
    taken: list[Path] = field(default_factory=list)

    @property
    def phase(self) -> Phase:
        return self.parts.desktop.player.state.phase

    async def take(self, name: str, widget: QWidget | None = None) -> None:
        """Take a picture once everything that wants to be painted has been."""
        await asyncio.sleep(0.4)
        path = self.folder / f"{name}.png"
        (widget or self.window).grab().save(str(path))
        self.taken.append(path)

    async def ready(self) -> None:
        host = self.parts.desktop.host
        await eventually(lambda: host.decoder.ready, 60, "a decoder that is ready")

    async def speak(self, text: str, until_s: float) -> None:
        """Speak, and return when that much was heard."""
        self.window.editor.set_text(text)
        self.window.act["speak"].trigger()
        await eventually(lambda: self.parts.desktop.player.state.heard_s >= until_s, 60, "some sound")

    async def over(self) -> None:
        await eventually(lambda: self.phase is Phase.IDLE, 90, "the end")


@asynccontextmanager
async def scene(
    app: QApplication, folder: Path, *, demo: bool = True, scenario: Scenario | None = None, **flags: Any
) -> AsyncIterator[Scene]:
    """Open a window of its own, with a home of its own, until the block ends."""
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name in ("CONFIG", "DATA", "STATE"):
            os.environ[f"XDG_{name}_HOME"] = str(home / name.lower())
        emulator = None
        given = {name.replace("__", "."): value for name, value in flags.items()}
        if demo:
            given["profiles.current"] = DEMO
        else:
            given["decoder.checkpoint"] = str(assets.folder("demo_voice"))
        if not demo and "server.url" not in given:
            emulator = await stack.enter_async_context(Emulator(SyntheticTalker(), scenario))
            given["server.url"] = emulator.url
        (home / "config.yaml").touch()
        settings = Settings(home / "config.yaml", environment={}, flags=given)
        look = settings.effective.appearance
        theme().apply(app, look.theme, look.text_scale, True)  # type: ignore[arg-type]
        language = Language(app)
        language.show("" if look.language == "system" else look.language)
        window = MainWindow(WindowState(home / "window.ini"), Tasks())
        window.welcome()
        window.show()

        def make_engine(config: Config) -> Engine:
            return build(config, audible=False)

        def make_desktop(settings: Settings) -> Desktop:
            return Desktop(settings, lambda wanted: VoicelessHost(wanted, make_engine=make_engine))

        parts = await stack.enter_async_context(
            behind(window, settings, Tasks(), make_desktop=make_desktop, list_devices=lambda: DEVICES)
        )
        await parts.desktop.start()
        yield Scene(window, parts, folder, emulator)
        window.hide()
        language.show("en")


# -- the states ---------------------------------------------------------------------------------------


async def first_run(app: QApplication, folder: Path) -> None:
    async with scene(app, folder) as s:
        await s.take("first-run-preparing")
        await s.ready()
        await s.take("first-run")


async def speaking(app: QApplication, folder: Path) -> None:
    for look in ("light", "dark"):
        async with scene(app, folder, appearance__theme=look) as s:
            await s.ready()
            await s.speak(TEXT, 4.0)
            await s.take(f"speaking-{look}")
            s.window.act["pause"].trigger()
            await s.take(f"paused-{look}")
            s.window.act["stop"].trigger()
            await s.take(f"stopped-{look}")


async def narrow(app: QApplication, folder: Path) -> None:
    async with scene(app, folder) as s:
        s.window.resize(LEAST)
        await s.ready()
        await s.speak(TEXT, 4.0)
        await s.take("narrow-760x520")
        s.window.act["history"].setChecked(True)
        await s.take("narrow-history")


async def large_text(app: QApplication, folder: Path) -> None:
    async with scene(app, folder, appearance__text_scale=1.6) as s:
        await s.ready()
        await s.speak(TEXT, 4.0)
        await s.take("large-text")


async def pcm_fallback(app: QApplication, folder: Path) -> None:
    async with scene(app, folder, demo=False, scenario=Scenario(kind="stock")) as s:
        await s.speak(TEXT, 3.0)
        await s.take("pcm-fallback")
        menu = s.window.chip.menu()
        menu.popup(s.window.mapToGlobal(s.window.chip.geometry().bottomLeft()))
        await s.take("pcm-fallback-menu", menu)
        menu.close()


async def offline(app: QApplication, folder: Path) -> None:
    async with scene(app, folder, demo=False, server__url="ws://127.0.0.1:9") as s:
        await asyncio.sleep(3)
        await s.take("offline")
        s.window.editor.set_text(TEXT)
        s.window.act["speak"].trigger()
        await asyncio.sleep(1)
        await s.take("offline-after-speak")


async def refused(app: QApplication, folder: Path) -> None:
    async with scene(app, folder, demo=False, scenario=Scenario(handshake_status=401)) as s:
        await asyncio.sleep(1)
        await s.take("refused")


async def voices(app: QApplication, folder: Path) -> None:
    for task in ("CustomVoice", "VoiceDesign", "Base"):
        instructions = "Warm and slow." if task == "VoiceDesign" else ""
        flags = {"voice__task": task, "voice__instructions": instructions}
        async with scene(app, folder, demo=False, **flags) as s:
            await asyncio.sleep(1.5)
            await s.take(f"voice-{task}")


async def history(app: QApplication, folder: Path) -> None:
    for look in ("light", "dark"):
        async with scene(app, folder, appearance__theme=look) as s:
            s.window.act["history"].setChecked(True)
            await s.take(f"history-empty-{look}")
            for line in LINES:
                await s.speak(line, 0.5)
                s.window.act["stop"].trigger()
            await s.take(f"history-{look}")


async def settings(app: QApplication, folder: Path) -> None:
    for look in ("light", "dark"):
        async with scene(app, folder, appearance__theme=look) as s:
            s.parts.panels.open_settings()
            dialog = next(w for w in app.topLevelWidgets() if type(w).__name__ == "SettingsDialog")
            for page in ("server", "voice", "decoder", "audio", "appearance", "window", "about"):
                s.parts.panels.open_settings(page)
                await s.take(f"settings-{page}-{look}", dialog)
            dialog.close()


async def chinese(app: QApplication, folder: Path) -> None:
    async with scene(app, folder, appearance__language="zh_CN") as s:
        await s.ready()
        s.window.act["history"].setChecked(True)
        await s.speak(TEXT, 4.0)
        await s.take("chinese")
        for number, title in enumerate(s.window.menuBar().actions()):
            menu = title.menu()
            assert isinstance(menu, QMenu)
            menu.popup(s.window.pos())
            await s.take(f"chinese-menu-{number}", menu)
            menu.close()
        for page in ("server", "voice", "decoder", "audio", "appearance", "window", "about"):
            s.parts.panels.open_settings(page)
            dialog = next(w for w in app.topLevelWidgets() if type(w).__name__ == "SettingsDialog")
            await s.take(f"chinese-settings-{page}", dialog)
        dialog.close()
    async with scene(app, folder, demo=False, appearance__language="zh_CN", voice__task="Base") as s:
        s.window.act["voice"].setChecked(True)
        await asyncio.sleep(1.5)
        await s.take("chinese-voice")
        s.window.voice.clone()
        dialog = next(w for w in app.topLevelWidgets() if type(w).__name__ == "CloneDialog")
        await s.take("chinese-clone", dialog)
        dialog.close()


STATES: dict[str, Callable[[QApplication, Path], Awaitable[None]]] = {
    "first-run": first_run,
    "speaking": speaking,
    "narrow": narrow,
    "large-text": large_text,
    "pcm-fallback": pcm_fallback,
    "offline": offline,
    "refused": refused,
    "voices": voices,
    "history": history,
    "settings": settings,
    "chinese": chinese,
}
AT_TWICE = ("first-run", "speaking", "narrow", "settings")
"""Taken once more at a scale of 200 %, in a process of their own: Qt takes its scale at the start."""


def main(folder: Path, names: list[str]) -> None:
    """Take the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    app = QApplication(sys.argv[:1])
    loop = open_loop(app)
    try:
        for name in names or STATES:
            print(name, flush=True)
            loop.run_until_complete(STATES[name](app, folder))
    finally:
        close_loop(loop)
    if not names:
        doubled = {**os.environ, "QT_SCALE_FACTOR": "2"}
        command = [sys.executable, "-m", "tests.gui.screenshots", str(folder / "200-percent"), *AT_TWICE]
        subprocess.run(command, check=True, env=doubled)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
