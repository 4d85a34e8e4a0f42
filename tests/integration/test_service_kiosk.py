"""A kiosk in a process of its own, with this test in the place of systemd."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import assets
from tests.helpers.pulse import PrivatePulse

PATIENCE_S = 60.0
DEMO = str(assets.folder("demo_voice"))


@dataclass
class Service:
    """A process, and all that it has told systemd."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    told: list[tuple[float, str]] = field(default_factory=list)
    """When, and what."""

    def until(self, words: str, within_s: float = PATIENCE_S) -> str:
        """Wait until it tells something with ``words`` in it."""
        give_up_s = time.monotonic() + within_s
        while time.monotonic() < give_up_s:
            self.take(min(1.0, max(0.01, give_up_s - time.monotonic())))
            if self.told and words in self.told[-1][1]:
                return self.told[-1][1]
        raise AssertionError(f"never told “{words}”: {self.told}")

    def take(self, within_s: float) -> None:
        """Take the next message, if there is one in time."""
        self.channel.settimeout(within_s)
        with contextlib.suppress(TimeoutError):
            text = self.channel.recv(4096).decode()
            self.told.append((time.monotonic(), text))

    def terminate(self) -> tuple[int, float]:
        """Send SIGTERM; return the exit code and how long it took."""
        begun_s = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_S)
        return code, time.monotonic() - begun_s

    def longest_silence_s(self) -> float:
        """Return the longest time between two signs of life."""
        signs = [at_s for at_s, text in self.told if text == "WATCHDOG=1\n"]
        return max(later - earlier for earlier, later in itertools.pairwise(signs))


@contextlib.contextmanager
def service(folder: Path, env: Mapping[str, str], *flags: str, watchdog_s: float = 30.0) -> Iterator[Service]:
    """Run a kiosk as the unit does; its log goes to ``folder/log``, and it has no standard input."""
    path = folder / "notify"
    config = folder / "config.yaml"
    config.write_text(f"kiosk: {{sources: [pipe], pipe: '{folder / 'pipe'}'}}\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel, (folder / "log").open("wb") as log:
        channel.bind(str(path))
        found = os.fstat(log.fileno())
        process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "--no-gui", "--config", str(config), *flags],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={
                **env,
                "NOTIFY_SOCKET": str(path),
                "WATCHDOG_USEC": str(round(watchdog_s * 1e6)),
                "JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}",
            },
        )
        try:
            yield Service(process, channel)
        finally:
            process.kill()
            process.wait()


def log_lines(folder: Path) -> list[str]:
    return (folder / "log").read_text().splitlines()


def test_it_is_ready_without_server_network_and_sound_and_says_what_is_missing(tmp_path: Path) -> None:
    """A box that is switched on before everything else; SIGTERM is a good end within 5 s."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    with service(tmp_path, env, "--server", "ws://127.0.0.1:9", "--checkpoint", DEMO, "-v") as kiosk:
        kiosk.until("READY=1")
        status = kiosk.until("STATUS=cannot be heard: server: offline", 30.0)
        kiosk.until("WATCHDOG=1")
        code, took_s = kiosk.terminate()
    assert "server: " in status
    assert code == 0
    assert took_s < 5.0
    logged = [line for line in log_lines(tmp_path) if "nearfield." in line]
    assert logged, "it said nothing"
    assert all(line.startswith(("<3>", "<4>", "<6>")) for line in logged), logged


def test_a_sound_server_that_hangs_does_not_end_the_box(tmp_path: Path) -> None:
    """The watchdog stays answered: sound goes to nowhere until there is a server again."""
    with PrivatePulse() as pulse, service(tmp_path, pulse.env, "--demo", watchdog_s=8.0) as kiosk:
        kiosk.until("STATUS=ready")
        pulse.freeze()
        kiosk.until("STATUS=cannot be heard: sound: ", 40.0)
        begun_s = time.monotonic()
        while time.monotonic() < begun_s + 3.0:
            kiosk.take(1.0)
        assert kiosk.longest_silence_s() < 8.0
        code, took_s = kiosk.terminate()
    assert code == 0
    assert took_s < 5.0


@pytest.mark.parametrize("text", ["kiosk: {sources: [radio]}", "kiosk: [", "server: {url: 'ftp://x'}"])
def test_a_configuration_that_cannot_be_used_is_exit_code_2(tmp_path: Path, text: str) -> None:
    """The unit does not start it again for that."""
    config = tmp_path / "config.yaml"
    config.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "--no-gui", "--config", str(config)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
