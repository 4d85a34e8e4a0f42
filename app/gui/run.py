"""The start of the window, told in order, and its end.

What a person waits for comes first: the window. What takes time (the engine, the embedded server, torch) is
imported, made and warmed up behind it, and says so until it is ready.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QLockFile
from PySide6.QtWidgets import QApplication

from app.config import DEMO, Config
from app.desktop.settings import Settings
from app.engine.events import Severity
from app.gui.clipboard import clipboard_text
from app.gui.closing import Closing
from app.gui.collector import Collector
from app.gui.first_paint import FirstPaint
from app.gui.instance import STARTS_S, Instance, Place, Request, claim, hand_over, place
from app.gui.language import Language
from app.gui.logs import log_to_file
from app.gui.loop import close_loop, open_loop
from app.gui.main_window import MainWindow
from app.gui.milestones import Milestones
from app.gui.signals import Signals
from app.gui.style.icons import app_icon
from app.gui.style.theme import theme
from app.gui.tasks import Tasks
from app.gui.tray import Tray
from app.gui.window_state import WindowState

if TYPE_CHECKING:
    from app.gui.intents import Intents

log = logging.getLogger("nearfield.gui")

__all__ = ["WindowOptions", "clipboard_text", "hand_over_clipboard", "run"]


@dataclass(frozen=True)
class WindowOptions:
    """What was asked of this start, and is no setting."""

    verbose: int = 0
    profile_startup: bool = False
    """Print the milestones and end as soon as everything is ready."""
    speak: str = ""
    """A text to speak at once, in the window that is open or in this one."""
    milestones: Milestones = field(default_factory=Milestones)


def run(config_path: Path | None, flags: Mapping[str, Any], demo: bool, options: WindowOptions) -> int:
    """Open the window, or raise the one that is open already, and return an exit code when it has ended.

    Raises:
        ConfigError: a flag or a variable of the environment that cannot be used.

    """
    options.milestones.mark("code of the window loaded")
    where, lock = None if options.profile_startup else place(config_path), None
    if where is not None:
        lock = claim(where)
        if lock is None:
            do = Request.SPEAK if options.speak else Request.RAISE
            if hand_over(where, Request(do, options.speak, token=_activation_token()), STARTS_S):
                return 0
            log.warning("the window that is open does not answer; here is another")
    log_to_file(verbose=options.verbose)
    given = {**flags, "profiles.current": DEMO} if demo else flags
    settings = Settings(config_path, flags=given)
    app = _application()
    options.milestones.mark("application made")
    language = Language(app)
    _dress(app, language, settings.effective)
    loop = open_loop(app)
    collector = Collector()
    try:
        return loop.run_until_complete(_live(app, language, settings, where if lock else None, options))
    finally:
        close_loop(loop)
        collector.close()
        _release(lock)
        log.info("ended")


def hand_over_clipboard(config_path: Path | None) -> bool:
    """Have the window that is open speak the clipboard; false if there is none."""
    where = place(config_path)
    return where is not None and hand_over(where, Request(Request.SPEAK_CLIPBOARD))


async def _live(
    app: QApplication, language: Language, settings: Settings, where: Place | None, options: WindowOptions
) -> int:
    """Show the window, start what is behind it, and end both in order."""
    ended = asyncio.Event()
    # Before anything is made: an interruption in the middle of that would leave half of it.
    signals = Signals(lambda _number: ended.set())
    tasks = Tasks()
    window = MainWindow(WindowState(settings.path.parent / "window.ini"), tasks)
    if window.is_first_start:
        window.welcome()
    tray = Tray(window.act, window)
    closing = Closing(window, settings, tray.is_available, app)
    closing.ending.connect(ended.set)
    window.close_asked.connect(closing.close_window)
    window.act["quit"].triggered.connect(closing.end)
    window.act["show_window"].triggered.connect(window.bring_up)
    instance = None if where is None else Instance(where, window)
    settings.subscribe(lambda old, new: _dress(app, language, new, old))
    painted = FirstPaint(window)
    window.show()
    options.milestones.mark("window made")
    starting = asyncio.ensure_future(_start(window, tasks, tray, settings, instance, painted, options))
    starting.add_done_callback(lambda task: _tell_failure(task, window))
    if options.profile_startup:
        starting.add_done_callback(lambda _: closing.end())
    try:
        await ended.wait()
    finally:
        window.keep_state()
        window.hide()
        tray.close()
        if instance is not None:
            instance.close()
        starting.cancel()
        (started,) = await asyncio.gather(starting, return_exceptions=True)
        if isinstance(started, contextlib.AsyncExitStack):
            await started.aclose()
        signals.close()
    if options.profile_startup:
        print(options.milestones.table())  # noqa: T201  # it is what was asked for
    return 1 if isinstance(started, Exception) else 0


async def _start(
    window: MainWindow,
    tasks: Tasks,
    tray: Tray,
    settings: Settings,
    instance: Instance | None,
    painted: FirstPaint,
    options: WindowOptions,
) -> contextlib.AsyncExitStack:
    """Make what is behind the window, once that is seen; returns what ends it."""
    await painted.wait()
    options.milestones.mark("window visible")
    await asyncio.get_running_loop().run_in_executor(None, _load_behind)
    from app.gui.behind import behind

    async with contextlib.AsyncExitStack() as stack:
        parts = await stack.enter_async_context(behind(window, settings, tasks))
        parts.bridge.state_changed.connect(tray.show_state)
        if instance is not None:
            instance.serve(lambda request: _on_request(request, window, parts.intents))
        options.milestones.mark("engine's code loaded")
        await parts.desktop.start()
        options.milestones.mark("engine started")
        if options.speak:
            window.editor.set_text(options.speak)
            parts.intents.speak(options.speak)
        if options.profile_startup and parts.desktop.host.engine is not None:
            with contextlib.suppress(Exception):
                await parts.desktop.host.engine.prepared()
            options.milestones.mark("decoder ready")
        return stack.pop_all()


def _tell_failure(starting: asyncio.Task[contextlib.AsyncExitStack], window: MainWindow) -> None:
    if not starting.cancelled() and (error := starting.exception()) is not None:
        log.error("what is behind the window could not be started", exc_info=error)
        text = QCoreApplication.translate("run", "Something unexpected happened at the start: {0}")
        window.notices.add(Severity.ERROR, text.format(repr(error)))


def _load_behind() -> None:
    """Load the code that the window itself does not need; in a thread, so that it goes on painting."""
    from decoder.streaming.preload import open_libraries

    # Torch's before all others: see there.
    open_libraries()
    importlib.import_module("app.gui.behind")


def _on_request(request: Request, window: MainWindow, intents: Intents) -> None:
    """Do what another start asks."""
    if request.do == Request.SPEAK_CLIPBOARD:
        intents.speak_clipboard()
        return
    if request.token:
        # Wayland lets a window come up only with the token of who was clicked.
        os.environ["XDG_ACTIVATION_TOKEN"] = request.token
    window.bring_up()
    if request.do == Request.SPEAK and request.text:
        intents.speak(request.text)


def _application() -> QApplication:
    QApplication.setApplicationName("nearfield")
    QApplication.setApplicationDisplayName("Nearfield")
    QApplication.setDesktopFileName("nearfield")
    app = QApplication(sys.argv[:1])
    app.setWindowIcon(app_icon())
    return app


def _dress(app: QApplication, language: Language, new: Config, old: Config | None = None) -> None:
    """Give everything the look and the language of the settings, unless it has them already."""
    look = new.appearance
    if old is None or look != old.appearance:
        mode: Any = look.theme  # one of the three, as the settings have checked
        theme().apply(app, mode, look.text_scale, look.reduced_motion)
        language.show("" if look.language == "system" else look.language)


def _activation_token() -> str:
    return os.environ.get("XDG_ACTIVATION_TOKEN") or os.environ.get("DESKTOP_STARTUP_ID", "")


def _release(lock: QLockFile | None) -> None:
    if lock is not None:
        lock.unlock()
