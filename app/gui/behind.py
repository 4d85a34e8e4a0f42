"""What is behind the window, connected with it; imported once the window is seen, for that takes a while."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from app.desktop.desktop import Desktop
from app.desktop.devices import ListDevices, device_names
from app.desktop.settings import Settings
from app.gui.bridge import Bridge
from app.gui.intents import Intents
from app.gui.main_window import MainWindow
from app.gui.panels import Panels
from app.gui.tasks import Tasks


@dataclass(frozen=True)
class Behind:
    """The parts, for who needs one of them."""

    desktop: Desktop
    bridge: Bridge
    intents: Intents
    panels: Panels


@asynccontextmanager
async def behind(
    window: MainWindow,
    settings: Settings,
    tasks: Tasks,
    *,
    make_desktop: Callable[[Settings], Desktop] = Desktop,
    list_devices: ListDevices = device_names,
) -> AsyncIterator[Behind]:
    """Make the parts and connect them; the block starts the desktop, and its end ends everything in order."""
    async with AsyncExitStack() as stack:
        desktop = make_desktop(settings)
        stack.push_async_callback(desktop.aclose)
        stack.push_async_callback(tasks.aclose)
        bridge = Bridge(desktop.player, lambda: desktop.server_title, window)
        panels = Panels(window, desktop, bridge, tasks, list_devices)
        stack.callback(panels.close)
        intents = Intents(
            window,
            desktop.player,
            bridge,
            settings,
            tasks,
            set_volume=desktop.set_volume,
            save_audio=panels.save_audio,
            list_devices=list_devices,
        )
        stack.callback(intents.close)
        desktop.host.subscribe(bridge.on_event)
        yield Behind(desktop, bridge, intents, panels)
