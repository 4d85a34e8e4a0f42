"""Which devices sound can go to, as the settings name them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.desktop.background import in_thread

ListDevices = Callable[[], Sequence[str]]
"""Takes up to seconds, in a thread; raises NearfieldError if PortAudio is missing or does not answer."""


def device_names() -> list[str]:
    """Return the output devices that there are, see `ListDevices`."""
    from app.audio.sounddevice_output import list_devices

    return [device.choice.format() for device in list_devices()]


async def look_for_devices(list_devices: ListDevices) -> Sequence[str]:
    """Return what ``list_devices`` does, without holding up the event loop."""
    return await in_thread("list the devices", list_devices)
