from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import shiboken6

from app.config import Profile
from app.desktop.checkpoints import Checkpoint
from app.desktop.connection_check import Finding
from app.desktop.profiles import Profiles
from app.desktop.secrets import Secrets
from app.desktop.settings import Settings
from app.gui.settings.dialog import SettingsDialog
from app.gui.settings.services import Services
from app.gui.tasks import Tasks
from decoder.errors import CheckpointError
from decoder.wire.events import Mode
from tests.helpers.qt_loop import Run, run_in_qt
from tests.helpers.waiting import eventually

__all__ = ["run_in_qt"]

LAB = Profile("Lab", "wss://lab.example")
BOX = Profile("Box", "ws://192.168.1.20:8001", "", True)


class Desk:
    """The dialog with real settings, keys and profiles; devices, servers and weights are to order."""

    def __init__(self, folder: Path, run: Run, **arguments: Any) -> None:
        self.run = run
        self.path = folder / "config.yaml"
        self.settings = Settings(self.path, **{"environment": {}, **arguments})
        self.secrets = Secrets(folder, lambda: None)
        self.profiles = Profiles(self.settings, self.secrets)
        self.tasks = Tasks()
        self.devices: list[str] = ["ALSA: pulse", "ALSA: HDMI"]
        self.device_error: Exception | None = None
        self.opened: list[Path] = []
        self.tested: list[tuple[Profile, str]] = []
        self.answer: Finding | Exception = Finding(Mode.CODEC, 0.034)
        self.weights: dict[str, Checkpoint] = {}
        self.looked_at: list[str] = []
        self.slow: dict[str, asyncio.Event] = {}
        self.download_steps = threading.Semaphore(0)
        self.services = Services(
            self.tasks,
            self.profiles,
            self._list_devices,
            folder / "log",
            self.opened.append,
            self._test,
            self._look_at,
            self._fetch,
        )
        self.dialog = SettingsDialog(self.settings, self.secrets, self.services)

    def has_weights(self, source: str) -> None:
        self.weights[source] = Checkpoint(Path("/weights") / source.strip("/"), 457_000_000, 24_000)

    def until(self, condition: Callable[[], object], what: str = "") -> None:
        self.run(eventually(condition, what=what))

    def settle(self) -> None:
        """Let everything that was started end."""
        self.until(lambda: not self.tasks._tasks, "the tasks of the dialog end")

    def do(self, work: Awaitable[Any]) -> None:
        async def done() -> None:
            await work

        self.run(done())

    def _list_devices(self) -> list[str]:
        if self.device_error is not None:
            raise self.device_error
        return self.devices

    async def _test(self, profile: Profile, key: str) -> Finding:
        self.tested.append((replace(profile), key))
        await asyncio.sleep(0)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def _look_at(self, source: str) -> Checkpoint:
        self.looked_at.append(source)
        await self.slow[source].wait() if source in self.slow else await asyncio.sleep(0)
        if source not in self.weights:
            raise CheckpointError(f"{source}: no such folder")
        return self.weights[source]

    def _fetch(self, repo: str, report: Callable[[int, int], None]) -> Path:
        for done in (100, 300, 457):
            self.download_steps.acquire()
            report(done * 1_000_000, 457_000_000)
        self.has_weights(repo)
        return self.weights[repo].folder


MakeDesk = Callable[..., Desk]


@pytest.fixture
def make_desk(run_in_qt: Run, tmp_path: Path) -> Iterator[MakeDesk]:
    made: list[Desk] = []

    def make(**arguments: Any) -> Desk:
        desk = Desk(tmp_path / "nearfield", run_in_qt, **arguments)
        made.append(desk)
        return desk

    yield make
    for desk in made:
        for _ in range(9):
            desk.download_steps.release()
        run_in_qt(desk.tasks.aclose())
        if shiboken6.isValid(desk.dialog):
            shiboken6.delete(desk.dialog)


@pytest.fixture
def desk(make_desk: MakeDesk) -> Desk:
    return make_desk()
