"""The parts of the window that are made once it is seen: history, voice, settings, and the dialogs."""

from __future__ import annotations

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from app.config import DEMO
from app.desktop.desktop import Desktop
from app.desktop.devices import ListDevices
from app.desktop.player_state import PlayerState
from app.engine.events import Severity
from app.errors import ConfigError
from app.gui.bridge import Bridge
from app.gui.history.view import HistoryView
from app.gui.logs import log_folder
from app.gui.main_window import MainWindow
from app.gui.open_text import OpenText
from app.gui.settings.dialog import SettingsDialog
from app.gui.settings.services import Services
from app.gui.tasks import Tasks


class Panels(QObject):
    """Makes them and connects them with what they are about."""

    def __init__(
        self, window: MainWindow, desktop: Desktop, bridge: Bridge, tasks: Tasks, list_devices: ListDevices
    ) -> None:
        super().__init__(window)
        self._window = window
        self._desktop = desktop
        self._bridge = bridge
        self._tasks = tasks
        self._list_devices = list_devices
        self._settings_dialog: SettingsDialog | None = None
        OpenText(window)
        self.history = HistoryView(desktop.history, tasks)
        window.left.add(self.history, window.act["history"], fills=True)
        self.history.replay.connect(desktop.player.replay)
        self.history.text_chosen.connect(window.editor.set_text)
        self.history.notice.connect(window.notices.add)
        bridge.state_changed.connect(self.history.show_state)
        window.chip.try_now.connect(self._on_try_now)
        window.chip.profile_chosen.connect(lambda name: tasks.spawn(self._choose(name)))
        window.chip.open_settings.connect(lambda: self.open_settings("server"))
        window.act["settings"].triggered.connect(lambda: self.open_settings())
        window.act["about"].triggered.connect(lambda: self.open_settings("about"))
        window.voice.changed.connect(lambda changes: desktop.settings.update(**changes))
        window.voice.voices_changed.connect(lambda: desktop.player.offer(window.voice.voices))
        self._server: object = None
        self._ends = (
            desktop.profiles.subscribe(self._show_profiles),
            desktop.settings.subscribe(lambda old, new: self._show_settings()),
        )
        self._show_settings()
        self._show_profiles()

    def save_audio(self, state: PlayerState) -> None:
        """Ask where the sound of the reading in ``state`` shall go, and write it there."""
        if state.recording:
            self.history.saver.ask(state.recording, state.text)

    def open_settings(self, page: str = "") -> None:
        """Show the settings, at one of their pages or where they were left."""
        if self._settings_dialog is None:
            services = Services(
                tasks=self._tasks,
                profiles=self._desktop.profiles,
                list_devices=self._list_devices,
                log_folder=log_folder(),
                open_folder=lambda folder: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))),
                newer_version=self._desktop.updates.newer,
            )
            self._settings_dialog = SettingsDialog(
                self._desktop.settings, self._desktop.secrets, services, self._window
            )
        self._settings_dialog.open_page(page)

    def close(self) -> None:
        """Follow nothing any longer."""
        for end in self._ends:
            end()

    def _show_settings(self) -> None:
        self._window.voice.show_voice(self._desktop.settings.effective.voice)

    async def _choose(self, name: str) -> None:
        """Use another server; what is wrong with it, or with its key, is told."""
        try:
            await self._desktop.profiles.choose(name)
        except ConfigError as error:
            self._window.notices.add(Severity.ERROR, str(error))
        if problem := self._desktop.secrets.problem:
            self._window.notices.add(Severity.WARNING, problem)

    def _on_try_now(self) -> None:
        self._tasks.spawn(self._desktop.host.try_now())

    def _show_profiles(self) -> None:
        profiles = self._desktop.profiles
        names = (DEMO, *(profile.name for profile in profiles.saved))
        self._window.chip.show_profiles(names, profiles.current)
        self._bridge.tell_link()
        server = profiles.server()
        if server == self._server:
            return
        is_demo, _ = server
        if not is_demo and (self._server is not None or self._window.is_first_start):
            # A server has voices to choose from; the demo has not.
            self._window.act["voice"].setChecked(True)
        self._server = server
        self._window.voice.set_demo(is_demo)
        self._window.voice.use(self._desktop.voice_services())
