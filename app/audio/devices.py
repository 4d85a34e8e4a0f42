"""Output devices as people name them: by host API and name, never by an index that changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# ALSA puts the card's number into the name, and that number changes when cards are plugged in
# another order: the same card is the same name without it.
_CARD_NUMBER = re.compile(r"\s*\(hw:\d+,\d+\)$")

_SEPARATOR = ": "

# Nearly every device has one of these.
_COMMON_RATES_HZ = (48_000, 44_100)


@dataclass(frozen=True)
class DeviceChoice:
    """The device a user asked for; an empty host API means any."""

    host_api: str
    name: str

    @classmethod
    def parse(cls, text: str) -> DeviceChoice | None:
        """Read ``"ALSA: pulse"`` or a bare ``"pulse"``; None for ``""`` and ``"default"``."""
        text = text.strip()
        if text.lower() in ("", "default"):
            return None
        host_api, separator, name = text.partition(_SEPARATOR)
        return cls(host_api.strip(), name.strip()) if separator else cls("", text)

    def format(self) -> str:
        """Return the string that `parse` reads, for a configuration file."""
        return f"{self.host_api}{_SEPARATOR}{self.name}" if self.host_api else self.name


@dataclass(frozen=True)
class Device:
    """An output device in the list of this moment."""

    index: int
    """Valid until the list is refreshed: never store it."""
    host_api: str
    name: str
    max_channels: int
    default_rate_hz: int
    high_latency_s: float
    """The latency at which the driver believes to be safe."""
    is_default: bool

    @property
    def choice(self) -> DeviceChoice:
        """What to store in order to find this device again."""
        return DeviceChoice(self.host_api, self.name)

    def settings_to_try(self, source_hz: int) -> Iterator[tuple[int, int]]:
        """Rates in Hz and channel counts, best first: the source's rate, the device's, common ones."""
        rates = dict.fromkeys((source_hz, self.default_rate_hz, *_COMMON_RATES_HZ))
        channel_counts = dict.fromkeys((1, 2, self.max_channels))
        for rate_hz in rates:
            for channels in channel_counts:
                if rate_hz > 0 and channels > 0:
                    yield rate_hz, channels


def find_device(devices: Sequence[Device], choice: DeviceChoice | None) -> tuple[Device | None, str]:
    """Find the chosen device, or the default one with a statement that says why.

    Returns ``(None, "")`` if there is neither. The statement is empty when the user gets what they
    asked for.
    """
    default = next((device for device in devices if device.is_default), None)
    if default is None and devices:
        # Some host APIs name no default although they have devices.
        default = devices[0]
    if choice is None:
        return default, ""
    for same in (_same_name, _same_card):
        for device in devices:
            if same(device, choice):
                return device, ""
    if default is None:
        return None, ""
    known = ", ".join(f'"{device.choice.format()}"' for device in devices)
    return default, (
        f'the sound device "{choice.format()}" is not there, using the default one, '
        f'"{default.choice.format()}" (known: {known})'
    )


def _same_name(device: Device, choice: DeviceChoice) -> bool:
    if choice.host_api in ("", device.host_api) and choice.name == device.name:
        return True
    # A bare name may contain the separator itself, as in "HDA Intel PCH: ALC257 Analog".
    return choice.format() == device.name


def _same_card(device: Device, choice: DeviceChoice) -> bool:
    unnumbered = DeviceChoice(choice.host_api, _CARD_NUMBER.sub("", choice.name))
    card = _CARD_NUMBER.sub("", device.name)
    return (choice.host_api in ("", device.host_api) and unnumbered.name == card) or (
        unnumbered.format() == card
    )
