"""What systemd is told, and when it is told nothing; the socket is a real one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from app.desk.status import Speaking, Waiting
from app.errors import ConfigError
from app.headless.service import (
    STILL_S,
    Manager,
    Nobody,
    Systemd,
    audio_lives,
    manager_of,
    status_line,
    watched,
)
from app.session.events import LinkState
from tests.helpers.fake_desk import READY
from tests.helpers.waiting import eventually


@dataclass
class Journal:
    """systemd's end of the socket."""

    channel: socket.socket

    def next(self) -> str:
        return self.channel.recv(4096).decode()


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(path))
        channel.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(path))
        monkeypatch.setenv("WATCHDOG_USEC", "30000000")
        monkeypatch.delenv("WATCHDOG_PID", raising=False)
        yield Journal(channel)


@dataclass
class Told:
    """A manager that keeps what it was told."""

    period_s: float = 30.0
    log: list[str] = field(default_factory=list)

    def ready(self) -> None:
        self.log.append("ready")

    def status(self, text: str) -> None:
        self.log.append(text)

    def alive(self) -> None:
        self.log.append("alive")


@dataclass
class Turns:
    """A clock that stands still until a sleeper is let go on."""

    now_s: float = 1000.0
    slept_s: list[float] = field(default_factory=list)
    _go: asyncio.Queue[float] = field(default_factory=asyncio.Queue)

    async def sleep(self, wait_s: float) -> None:
        self.slept_s.append(wait_s)
        self.now_s += await self._go.get()

    async def go_on(self, by_s: float) -> None:
        """Let one sleep end ``by_s`` later, and wait until the next one begins."""
        turn = len(self.slept_s)
        self._go.put_nowait(by_s)
        await eventually(lambda: len(self.slept_s) > turn)


def test_without_a_manager_nothing_is_told_and_nothing_needed() -> None:
    with manager_of({}) as manager:
        assert isinstance(manager, Nobody)
        manager.ready()
        manager.status("well")
        manager.alive()


def test_systemd_gets_readiness_status_and_signs_of_life(systemd: Journal) -> None:
    """Each is one datagram of the protocol, and a status is one line."""
    with manager_of() as manager:
        assert isinstance(manager, Systemd)
        assert manager.period_s == 30.0
        manager.ready()
        manager.status("cannot be heard:\nno server")
        manager.alive()
        assert [systemd.next() for _ in range(3)] == [
            "READY=1\n",
            "STATUS=cannot be heard: no server\n",
            "WATCHDOG=1\n",
        ]


def test_a_watchdog_of_another_process_is_not_answered_in_a_hurry(
    systemd: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_PID", "1")
    with manager_of() as manager:
        assert manager.period_s > 3600


def test_a_manager_that_reads_nothing_holds_nobody_up(systemd: Journal) -> None:
    """Its socket runs full; a blocking send would stop the event loop, and the sound with it."""
    with manager_of() as manager:
        for _ in range(5_000):
            manager.alive()
    assert systemd.next() == "WATCHDOG=1\n"


def test_a_manager_that_has_gone_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    with manager_of() as manager:
        manager.ready()


def test_the_package_that_talks_to_systemd_is_missed_in_words(
    systemd: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it the unit would time out for no visible reason."""
    monkeypatch.setitem(sys.modules, "systemd_watchdog.systemd_watchdog", None)
    with pytest.raises(ConfigError, match=r"pip install 'nearfield\[kiosk\]'"), manager_of():
        pass


async def test_signs_of_life_follow_the_audio_clock(caplog: pytest.LogCaptureFixture) -> None:
    """They stop when the output hangs, once that is certain, and go on when it does."""
    manager, turns = Told(), Turns()
    asked_s = turns.now_s
    with caplog.at_level(logging.ERROR):
        async with watched(
            manager, lambda: asked_s, lambda: "ready", clock=lambda: turns.now_s, sleep=turns.sleep
        ):
            await eventually(lambda: turns.slept_s)
            assert manager.log == ["alive", "ready"]
            await turns.go_on(STILL_S - 0.1)
            assert manager.log == ["alive", "ready", "alive"]
            await turns.go_on(0.2)
            await turns.go_on(5.0)
            assert manager.log[3:] == ["the sound output hangs"]
            asked_s = turns.now_s
            await turns.go_on(1.0)
            assert manager.log[4:] == ["alive", "ready"]
    assert len(caplog.records) == 1, "told once, not with every look"


async def test_the_status_is_told_when_it_changes() -> None:
    manager, turns, doing = Told(), Turns(), "preparing"
    async with watched(manager, lambda: None, lambda: doing, clock=lambda: turns.now_s, sleep=turns.sleep):
        await eventually(lambda: turns.slept_s)
        await turns.go_on(1.0)
        doing = "ready"
        await turns.go_on(1.0)
        await turns.go_on(1.0)
    assert [text for text in manager.log if text != "alive"] == ["preparing", "ready"]


@pytest.mark.parametrize(("period_s", "most_s"), [(30.0, 2.0), (4.0, 1.0), (float("inf"), 2.0)])
async def test_the_watchdog_is_answered_several_times_in_its_period(period_s: float, most_s: float) -> None:
    manager, turns = Told(period_s), Turns()
    async with watched(manager, lambda: None, lambda: "ready", clock=lambda: turns.now_s, sleep=turns.sleep):
        await eventually(lambda: turns.slept_s)
    assert turns.slept_s == [most_s]


async def test_a_loop_that_is_stuck_gives_no_sign_of_life(systemd: Journal) -> None:
    """The signs come from the loop itself, not from a thread that would outlive it."""
    with manager_of() as manager:
        quick: Manager = replace_period(manager, 0.04)
        async with watched(quick, lambda: None, lambda: "ready"):
            assert await asyncio.to_thread(systemd.next) == "WATCHDOG=1\n"
            assert await asyncio.to_thread(systemd.next) == "STATUS=ready\n"
            assert await asyncio.to_thread(systemd.next) == "WATCHDOG=1\n"
            systemd.channel.setblocking(False)
            while is_told(systemd):
                pass
            time.sleep(0.1)  # noqa: ASYNC251  # this is what being stuck is
            assert not is_told(systemd)
            await eventually(lambda: is_told(systemd))


def is_told(systemd: Journal) -> bool:
    with contextlib.suppress(BlockingIOError):
        return bool(systemd.next())
    return False


async def test_what_fails_while_telling_is_logged_and_ends_the_signs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Then systemd starts the service anew: better than one that is believed to be well."""

    def status() -> str:
        raise RuntimeError("no status today")

    manager = Told(period_s=0.01)
    async with watched(manager, lambda: None, status):
        await eventually(lambda: caplog.records)
    assert manager.log == ["alive"]
    assert "told nothing any more" in caplog.text
    assert "no status today" in caplog.text


def test_no_output_is_no_hanging_output() -> None:
    assert audio_lives(None, 0.0)
    assert audio_lives(100.0, 100.0 + STILL_S)
    assert not audio_lives(100.0, 100.1 + STILL_S)


def test_the_status_line_says_what_matters_and_no_word_of_the_text() -> None:
    speaking = Speaking("a", "http", "a secret", "a secret", 1.0)
    waiting = tuple(Waiting(str(n), "http", "another secret", 0, 1.0) for n in range(3))
    assert status_line(READY) == "ready"
    assert status_line(replace(READY, speaking=speaking, queue=waiting)) == "speaking, 3 waiting"
    assert status_line(replace(READY, paused=True, speaking=speaking)) == "paused"
    offline = replace(READY, link=LinkState.OFFLINE, link_detail="connection refused", queue=waiting[:1])
    assert status_line(offline) == "cannot be heard: server: offline, connection refused, 1 waiting"


def replace_period(manager: Manager, period_s: float) -> Manager:
    assert isinstance(manager, Systemd)
    manager.period_s = period_s
    return manager
