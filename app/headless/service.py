"""A kiosk under systemd: readiness, a line of status, and a watchdog that listens to the audio clock.

The watchdog is answered only while the event loop lives and the sound output asks for samples: a kiosk that
hangs is a kiosk that is silent, whatever else its process does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Protocol

from app.desk.status import Status
from app.errors import ConfigError

log = logging.getLogger("nearfield.service")

STILL_S = 15.0
"""So long the output may ask for nothing: a lost device is waited for and opened again in that time, and
after that the samples go to nowhere, in time."""
LOOK_S = 2.0
LOOKS_A_PERIOD = 4
"""The watchdog is answered this often in its period: one late look or lost message does no harm."""


class Manager(Protocol):
    """Who started the program and waits for news of it."""

    @property
    def period_s(self) -> float:
        """Within so many seconds it wants a sign of life; without a watchdog that is very long."""
        ...

    def ready(self) -> None:
        """Say that requests are taken from now on."""
        ...

    def status(self, text: str) -> None:
        """Say in a line what is going on, for ``systemctl status``."""
        ...

    def alive(self) -> None:
        """Give a sign of life."""
        ...


class Nobody:
    """There is no service manager: a terminal, a container, another system."""

    period_s = float("inf")

    def ready(self) -> None:
        """Tell nobody."""

    def status(self, text: str) -> None:
        """Tell nobody."""

    def alive(self) -> None:
        """Tell nobody."""


class Systemd:
    """systemd, reached at the address that it put into this process's environment.

    A manager that does not read must not stop the sound: what cannot be sent at once is left out.
    """

    def __init__(self, channel: socket.socket) -> None:
        try:
            from systemd_watchdog.systemd_watchdog import WatchDog
        except ImportError:
            raise ConfigError(
                "systemd waits for news of this service, and the package that sends it is missing: "
                "pip install 'nearfield[kiosk]'"
            ) from None
        channel.setblocking(False)
        self._watchdog = WatchDog(sock=channel)
        self.period_s = self._watchdog.timeout_td.total_seconds()

    def ready(self) -> None:
        """Send ``READY=1``."""
        self._send(self._watchdog.ready)

    def status(self, text: str) -> None:
        """Send ``STATUS=`` with ``text`` in one line."""
        self._send(lambda: self._watchdog.status(" ".join(text.split())))

    def alive(self) -> None:
        """Send ``WATCHDOG=1``."""
        self._send(self._watchdog.notify)

    def _send(self, tell: Callable[[], None]) -> None:
        try:
            tell()
        except OSError as error:
            log.debug("systemd was not told: %s", error)


@contextlib.contextmanager
def manager_of(environ: Mapping[str, str] = os.environ) -> Iterator[Manager]:
    """Yield the manager that started this process, or `Nobody`.

    Raises:
        ConfigError: there is one, and what it takes to talk to it is not installed.

    """
    if not environ.get("NOTIFY_SOCKET"):
        yield Nobody()
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        yield Systemd(channel)


@contextlib.asynccontextmanager
async def watched(
    manager: Manager,
    asked_s: Callable[[], float | None],
    status: Callable[[], str],
    *,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[None]:
    """Tell ``manager`` what is going on, and that all is well while it is, as long as the block runs.

    Args:
        manager: who is told.
        asked_s: when the output last asked for samples, on ``clock``'s scale; ``None`` while there is no
            output that could, because the engine is being made or cannot be.
        status: what is going on, in a line.
        clock: seconds, from anywhere.
        sleep: waits for some seconds.

    """
    telling = asyncio.create_task(_tell(manager, asked_s, status, clock, sleep))
    telling.add_done_callback(_on_end)
    try:
        yield
    finally:
        telling.cancel()
        await asyncio.wait({telling})


async def _tell(
    manager: Manager,
    asked_s: Callable[[], float | None],
    status: Callable[[], str],
    clock: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    told, was_alive = "", True
    while True:
        is_alive = audio_lives(asked_s(), clock())
        if is_alive:
            manager.alive()
        elif was_alive:
            log.error(
                "the sound output has asked for nothing for %.0f s: the watchdog is not answered", STILL_S
            )
        was_alive = is_alive
        text = status() if is_alive else "the sound output hangs"
        if text != told:
            told = text
            manager.status(text)
        await sleep(min(LOOK_S, manager.period_s / LOOKS_A_PERIOD))


def audio_lives(asked_s: float | None, now_s: float) -> bool:
    """Whether an output that last asked at ``asked_s`` is in order; ``None`` is no output, and no fault."""
    return asked_s is None or now_s - asked_s <= STILL_S


def status_line(status: Status) -> str:
    """Say in a line what a desk is doing; no word of what is spoken."""
    if status.why_mute:
        doing = "cannot be heard: " + "; ".join(status.why_mute)
    elif status.paused:
        doing = "paused"
    elif status.speaking is not None:
        doing = "speaking"
    else:
        doing = "ready"
    return f"{doing}, {len(status.queue)} waiting" if status.queue else doing


def _on_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("systemd is told nothing any more", exc_info=error)
