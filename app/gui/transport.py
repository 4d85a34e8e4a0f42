"""The row of controls below the text: speak, hold, stop, save, how loud, and where the sound goes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QSlider, QToolButton, QWidget

from app.gui.actions import Actions
from app.gui.mnemonics import without_mnemonic
from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.roles import set_role

_STEPS = 100


class Transport(QWidget):
    """Shows the actions of speech as buttons, and the volume and the device beside them.

    Signals:
        volume_moved: the volume as it is dragged, 0 to 1; heard at once.
        volume_chosen: where it was left; to be kept.
        devices_wanted: the menu of devices is about to be shown.
        device_chosen: a device as the configuration names it, empty for the system's default.

    """

    volume_moved = Signal(float)
    volume_chosen = Signal(float)
    devices_wanted = Signal()
    device_chosen = Signal(str)

    def __init__(self, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._before_mute = 1.0
        self._device = ""
        self._sounds_on = ""
        self._devices: Sequence[str] | None = None
        self.speak = _ActionButton(actions["speak"])
        self.speak.setIcon(icon("play", "accent_text"))
        set_role(self.speak, "primary")
        self.pause = _tool_button(actions["pause"])
        self.stop = _tool_button(actions["stop"])
        self.save = _tool_button(actions["save_audio"])
        self.mute = QToolButton()
        self.mute.setAutoRaise(True)
        self.mute.setCheckable(True)
        self.mute.clicked.connect(self._on_mute)
        self.volume = QSlider(Qt.Orientation.Horizontal)
        self.volume.setRange(0, _STEPS)
        self.volume.setPageStep(_STEPS // 10)
        self.volume.setMinimumWidth(64)
        self.volume.setMaximumWidth(112)
        self.volume.valueChanged.connect(self._on_volume)
        self.volume.sliderReleased.connect(self._on_volume_left)
        self.devices = QToolButton()
        self.devices.setIcon(icon("device"))
        self.devices.setAutoRaise(True)
        self.devices.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self.devices)
        self._menu.aboutToShow.connect(self._on_menu)
        self.devices.setMenu(self._menu)
        set_role(self.mute, "quiet")
        set_role(self.devices, "quiet")

        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(tokens.S)
        for control in (self.speak, self.pause, self.stop, self.save):
            row.addWidget(control)
        row.addStretch(1)
        row.addWidget(self.mute)
        row.addWidget(self.volume, 1)
        row.addWidget(self.devices)
        self._retranslate()
        self.show_volume(1.0)

    def show_volume(self, volume: float) -> None:
        """Show how loud it is, 0 to 1, without telling anybody."""
        self.volume.blockSignals(True)
        self.volume.setValue(round(volume * _STEPS))
        self.volume.blockSignals(False)
        self._paint_mute()

    def show_device(self, chosen: str, sounds_on: str) -> None:
        """Show the device that was chosen, empty for the default, and the one that sounds, empty for none."""
        self._device, self._sounds_on = chosen, sounds_on
        self._retranslate()

    def show_devices(self, devices: Sequence[str]) -> None:
        """Fill the menu with the devices there are, each as the configuration names it."""
        self._devices = devices
        self._fill_menu()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the language."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.LanguageChange:
            self._retranslate()

    # -- inside -----------------------------------------------------------------------------------------

    def _on_volume(self, step: int) -> None:
        self._paint_mute()
        self.volume_moved.emit(step / _STEPS)
        if not self.volume.isSliderDown():
            self.volume_chosen.emit(step / _STEPS)

    def _on_volume_left(self) -> None:
        self.volume_chosen.emit(self.volume.value() / _STEPS)

    def _on_mute(self) -> None:
        if self.volume.value():
            self._before_mute = self.volume.value() / _STEPS
            self.volume.setValue(0)
        else:
            self.volume.setValue(round(self._before_mute * _STEPS))

    def _paint_mute(self) -> None:
        is_mute = self.volume.value() == 0
        self.mute.setChecked(is_mute)
        self.mute.setIcon(icon("volume-mute" if is_mute else "volume"))
        name = self.tr("Unmute") if is_mute else self.tr("Mute")
        self.mute.setToolTip(name)
        self.mute.setAccessibleName(name)

    def _on_menu(self) -> None:
        self._fill_menu()
        self.devices_wanted.emit()

    def _fill_menu(self) -> None:
        self._menu.clear()
        group = QActionGroup(self._menu)
        self._add_device(group, self.tr("System default"), "")
        known = list(self._devices or ())
        if self._device and self._device not in known:
            known.append(self._device)
        for name in known:
            self._add_device(group, name, name)
        if self._devices is None:
            looking = self._menu.addAction(self.tr("Looking for devices…"))
            looking.setEnabled(False)
        elif not self._devices:
            none = self._menu.addAction(self.tr("No sound device was found"))
            none.setEnabled(False)

    def _add_device(self, group: QActionGroup, text: str, name: str) -> None:
        action = QAction(text.replace("&", "&&"), self._menu)
        action.setCheckable(True)
        action.setChecked(name == self._device)
        action.triggered.connect(lambda _=False, name=name: self.device_chosen.emit(name))
        group.addAction(action)
        self._menu.addAction(action)

    def _retranslate(self) -> None:
        if self._sounds_on:
            hint = self.tr("Sound goes to {0}").format(self._sounds_on)
        else:
            hint = self.tr("No sound device is open")
        self.devices.setToolTip(hint)
        self.devices.setAccessibleName(self.tr("Sound device"))
        self.devices.setAccessibleDescription(hint)
        self.volume.setAccessibleName(self.tr("Volume"))
        self.volume.setToolTip(self.tr("Volume"))
        self._paint_mute()


class _ActionButton(QPushButton):
    """A push button for an action: says what it says, can be pressed when it can be done."""

    def __init__(self, action: QAction) -> None:
        super().__init__()
        self._action = action
        self.clicked.connect(action.trigger)
        action.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        # The menu's mnemonic stays in the menu: Alt+S here would take it from there.
        text = without_mnemonic(self._action.text())
        self.setText(text)
        self.setAccessibleName(text)
        self.setToolTip(self._action.toolTip())
        self.setEnabled(self._action.isEnabled())


def _tool_button(action: QAction) -> QToolButton:
    button = NamedToolButton(action)
    button.setAutoRaise(True)
    set_role(button, "quiet")
    return button


class NamedToolButton(QToolButton):
    """A button for an action, icon only, whose name a screen reader reads."""

    def __init__(self, action: QAction) -> None:
        super().__init__()
        self.setDefaultAction(action)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        action.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        self.setAccessibleName(without_mnemonic(self.defaultAction().text()).rstrip("…"))
