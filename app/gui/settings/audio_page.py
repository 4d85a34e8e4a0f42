"""Where the sound goes, and how soon."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QPushButton, QWidget

from app.config import Config
from app.desktop.devices import look_for_devices
from app.desktop.settings import Settings
from app.errors import NearfieldError
from app.gui.settings.controls import Level, Number, OneOf
from app.gui.settings.page import Page
from app.gui.settings.services import Services
from app.gui.style.icons import icon

_MS = 1000.0


class AudioPage(Page):
    """Device, volume and the times of the sound."""

    def __init__(self, settings: Settings, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._services = services
        self._devices: tuple[str, ...] | None = None
        self._is_looking = False
        self._chosen = ""
        self.device = self.add(OneOf(settings, "audio.device"))
        self.again = QPushButton(icon("refresh"), "")
        self.again.clicked.connect(self._look)
        self.device.beside.addWidget(self.again)
        self.volume = self.add(Level(settings, "audio.volume"))
        self.heading = self.add_heading()
        self.latency = self.add(Number(settings, "audio.latency_s", (0, 2000), 10, _MS))
        self.start_buffer = self.add(Number(settings, "audio.start_buffer_s", (0, 10_000), 20, _MS))
        self.lead_in = self.add(Number(settings, "audio.lead_in_s", (0, 5000), 50, _MS))
        self.finish()

    def open_page(self) -> None:
        """Look once which devices there are."""
        if self._devices is None:
            self._look()

    def show_config(self, config: Config) -> None:
        """Show what is in force."""
        self._chosen = config.audio.device
        self._offer()
        super().show_config(config)

    def retranslate(self) -> None:
        """Set all texts."""
        self.title.setText(self.tr("Sound"))
        self.device.name(self.tr("&Output device"))
        self.again.setText(self.tr("&Look again"))
        self.volume.name(self.tr("&Volume"), self.tr("Of what is heard; what is saved keeps its full level."))
        self.heading.setText(self.tr("Timing"))
        for row in (self.latency, self.start_buffer, self.lead_in):
            row.spin.setSuffix(self.tr(" ms"))
        self.latency.name(
            self.tr("L&atency of the device"), self.tr("Below 100 ms some sound servers crackle.")
        )
        self.start_buffer.name(
            self.tr("Sound to have &before it starts"),
            self.tr("Less starts sooner, more bridges a line that falters. It grows by itself where needed."),
        )
        self.lead_in.name(
            self.tr("&Silence first"),
            self.tr("Wakes a sleeping USB, HDMI or Bluetooth device, which else swallows the first word."),
        )
        self._offer()

    def _look(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            self.again.setEnabled(False)
            self._services.tasks.spawn(self._list())

    async def _list(self) -> None:
        remark = ""
        try:
            devices: Sequence[str] = await look_for_devices(self._services.list_devices)
            self._devices = tuple(devices)
            if not devices:
                remark = self.tr("There is no sound device now. As soon as one appears, it is used.")
        except NearfieldError as error:
            self._devices = ()
            remark = str(error)
        finally:
            self._is_looking = False
            self.again.setEnabled(True)
        self._offer()
        self.device.remark_on(remark, "warning")

    def _offer(self) -> None:
        with QSignalBlocker(self.device.choice):
            choices = [("", self.tr("System default"))]
            choices += [(name, name) for name in dict.fromkeys(self._devices or ())]
            if self._chosen and self._chosen not in (self._devices or ()):
                absent = self.tr("{0} (not there now)") if self._devices is not None else "{0}"
                choices.append((self._chosen, absent.format(self._chosen)))
            self.device.offer(choices)
