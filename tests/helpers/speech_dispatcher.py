"""A private speech-dispatcher with our output module as its only one, and spd-say to talk to it.

Not realistic: there is no desktop around it, and nobody else speaks.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

MODULE = Path(__file__).parents[2] / "packaging" / "speech-dispatcher" / "sd_nearfield"
INSTALL_HINT = "run packaging/bootstrap.sh --test, which installs speech-dispatcher"
_ANSWERS_WITHIN_S = 60.0
_CONFIG = """
AddModule "nearfield" "{module}" "nearfield.conf"
DefaultModule nearfield
DefaultVolume 100
LogDir "{logs}"
LogLevel 5
"""


class PrivateSpeechDispatcher:
    """A context manager; ``settings`` are the lines of the module's file."""

    def __init__(self, env: Mapping[str, str], settings: Mapping[str, str]) -> None:
        """``env`` is that of a private sound server."""
        self._env = dict(env)
        self._settings = settings
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> PrivateSpeechDispatcher:
        missing = [name for name in ("speech-dispatcher", "spd-say") if shutil.which(name) is None]
        if missing:
            raise FileNotFoundError(f"{', '.join(missing)} not installed: {INSTALL_HINT}")
        self.folder = Path(tempfile.mkdtemp(prefix="nf-spd-"))
        self._socket = self.folder / "socket"
        logs, modules = self.folder / "logs", self.folder / "config" / "modules"
        logs.mkdir()
        modules.mkdir(parents=True)
        (modules.parent / "speechd.conf").write_text(_CONFIG.format(module=MODULE, logs=logs))
        lines = [f'{key} "{value}"\n' for key, value in self._settings.items()]
        (modules / "nearfield.conf").write_text("".join(lines))
        self.env = {
            **self._env,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "SPEECHD_ADDRESS": f"unix_socket:{self._socket}",
        }
        places = ("--socket-path", self._socket, "--config-dir", modules.parent, "--log-dir", logs)
        with (self.folder / "server.log").open("wb") as server_log:
            self._server = subprocess.Popen(
                [
                    *("speech-dispatcher", "--run-single", "--timeout", "0"),
                    *("--communication-method", "unix_socket", "--pid-file", str(self.folder / "pid")),
                    *map(str, places),
                ],
                env=self.env,
                stdout=subprocess.DEVNULL,
                stderr=server_log,
                start_new_session=True,
            )
        try:
            self._wait_for_socket()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.send_signal(signal.SIGTERM)
            try:
                self._server.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._server.pid, signal.SIGKILL)
                self._server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def say(self, *words: str, wait: bool = True, within_s: float = 60.0) -> str:
        """Run spd-say and return what it prints; with ``wait`` it ends when the text was spoken."""
        done = subprocess.run(
            ["spd-say", *(["--wait"] if wait else []), *words],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=within_s,
        )
        assert done.returncode == 0, (done.stderr, self.log)
        return done.stdout

    def connect(self) -> socket.socket:
        """Return a connection as a screen reader has one."""
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            client.connect(str(self._socket))
        except OSError:
            client.close()
            raise
        client.settimeout(_ANSWERS_WITHIN_S)
        return client

    @property
    def log(self) -> str:
        """What the module wrote to its log."""
        files = sorted((self.folder / "logs").glob("nearfield*.log"))
        return "\n".join(file.read_text(errors="replace") for file in files)

    def _wait_for_socket(self) -> None:
        give_up_at = time.monotonic() + _ANSWERS_WITHIN_S
        while True:
            try:
                self.connect().close()
                return
            except OSError:
                assert self._server is not None
                if self._server.poll() is not None or time.monotonic() > give_up_at:
                    text = (self.folder / "server.log").read_text(errors="replace")
                    raise RuntimeError(f"speech-dispatcher did not start ({INSTALL_HINT}):\n{text}") from None
                time.sleep(0.05)
