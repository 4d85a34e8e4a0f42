"""What a person asks of the window, handed on to the player and the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from app.desktop.devices import ListDevices, look_for_devices
from app.desktop.player_state import PlayerState
from app.desktop.settings import Settings
from app.engine.events import Notice, OutputChanged, Severity
from app.errors import NearfieldError
from app.gui.actions import THEMES
from app.gui.bridge import Bridge, ShownPlayer
from app.gui.main_window import MainWindow
from app.gui.notice_words import in_words
from app.gui.tasks import Tasks


class Intents(QObject):
    """Connects the window with the player, in both directions, for as long as both are there."""

    def __init__(
        self,
        window: MainWindow,
        player: ShownPlayer,
        bridge: Bridge,
        settings: Settings,
        tasks: Tasks,
        *,
        set_volume: Callable[[float], None],
        save_audio: Callable[[PlayerState], None],
        list_devices: ListDevices,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._player = player
        self._settings = settings
        self._tasks = tasks
        self._set_volume = set_volume
        self._list_devices = list_devices
        self._sounds_on = ""
        self._sound_was_lost = False
        bridge.state_changed.connect(window.show_state)
        bridge.measured.connect(window.show_measured)
        bridge.noticed.connect(self._on_notice)
        bridge.link_changed.connect(window.chip.show_link)
        bridge.output_changed.connect(self._on_output)
        bridge.decoder_changed.connect(
            lambda event: window.status.show_preparing(not event.ready and not event.is_broken)
        )
        for name, slot in {
            "speak": self._on_speak,
            "speak_selection": self._on_speak_selection,
            "speak_clipboard": self.speak_clipboard,
            "pause": self._on_pause,
            "stop": self._on_stop,
            "save_audio": lambda: save_audio(player.state),
            "report": self._on_report,
        }.items():
            window.act[name].triggered.connect(slot)
        for theme in THEMES:
            window.act[f"theme_{theme}"].triggered.connect(lambda _=False, theme=theme: self._on_theme(theme))
        window.waveform.seek_requested.connect(player.seek)
        window.sentence_asked.connect(player.seek_sentence)
        window.transport.volume_moved.connect(set_volume)
        window.transport.volume_chosen.connect(lambda volume: settings.update(**{"audio.volume": volume}))
        window.transport.devices_wanted.connect(lambda: tasks.spawn(self._look_for_devices()))
        window.transport.device_chosen.connect(lambda name: settings.update(**{"audio.device": name}))
        self._end_following = settings.subscribe(lambda old, new: self._show_settings())
        self._show_settings()
        window.act["speak"].setEnabled(True)

    def close(self) -> None:
        """Follow the settings no longer."""
        self._end_following()

    def speak(self, text: str) -> None:
        """Speak ``text``, whatever is in the editor."""
        self._window.voice.flush()
        self._player.speak(text)

    def speak_clipboard(self) -> None:
        """Speak the text of the clipboard."""
        text = QGuiApplication.clipboard().text()
        if not text.strip():
            self._window.notices.add(Severity.INFO, self.tr("There is no text in the clipboard."))
            return
        self.speak(text)

    # -- inside -----------------------------------------------------------------------------------------

    def _on_speak(self) -> None:
        self.speak(self._window.editor.text())

    def _on_speak_selection(self) -> None:
        text = self._window.editor.selected_text()
        if not text.strip():
            self._window.notices.add(Severity.INFO, self.tr("Nothing is selected in the text."))
            return
        self.speak(text)

    def _on_pause(self) -> None:
        if self._window.act.shows_resume:
            self._player.resume()
        else:
            self._player.pause()

    def _on_stop(self) -> None:
        self._player.stop()

    def _on_report(self) -> None:
        from app.desktop.latency import report_text

        if (numbers := self._player.state.numbers) is not None:
            QGuiApplication.clipboard().setText(report_text(numbers))
            self._window.notices.add(Severity.INFO, self.tr("The report is in the clipboard."))

    def _on_notice(self, notice: Notice) -> None:
        self._window.notices.add(notice.severity, in_words(notice))

    def _on_output(self, event: OutputChanged) -> None:
        if event.info is not None and self._sound_was_lost:
            self._window.notices.add(
                Severity.INFO, self.tr("The sound is back, at {0}.").format(event.info.name)
            )
        self._sound_was_lost = event.info is None
        self._sounds_on = "" if event.info is None else event.info.name
        self._show_settings()

    def _on_theme(self, theme: str) -> None:
        self._settings.update(**{"appearance.theme": theme})

    def _show_settings(self) -> None:
        config = self._settings.effective
        self._window.transport.show_volume(config.audio.volume)
        self._window.transport.show_device(config.audio.device, self._sounds_on)
        self._window.act[f"theme_{config.appearance.theme}"].setChecked(True)

    async def _look_for_devices(self) -> None:
        names: Sequence[str] = ()
        try:
            names = await look_for_devices(self._list_devices)
        except NearfieldError as error:
            self._window.notices.add(Severity.WARNING, str(error))
        self._window.transport.show_devices(names)
