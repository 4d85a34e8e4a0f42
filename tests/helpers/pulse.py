"""A private PulseAudio whose only sink plays to nowhere, and a recorder of what was played to it.

Unrealistic: its clock is the system's timer, it takes any rate and channel count, and it never
runs dry for reasons of hardware. PortAudio reads its environment once, so whatever plays here runs
in a process of its own, with `PrivatePulse.env`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

SINK = "nearfield_test"
INSTALL_HINT = "run packaging/bootstrap.sh --test, which installs pulseaudio and what it needs"
_ANSWERS_WITHIN_S = 20.0

# All that ALSA shall know: no card of this machine, no other sound server.
_ALSA_CONFIG = """
defaults.namehint.showall on
defaults.namehint.basic on
defaults.namehint.extended on
pcm.default {
    type pulse
    hint { show on description "The sound server of this test" }
}
ctl.default {
    type pulse
}
"""


class PrivatePulse:
    """A context manager: the daemon runs inside, and everything of it is in a folder that goes away.

    Attributes: ``env`` for processes that shall play to it, ``rate_hz`` of its sink.
    """

    def __init__(self, rate_hz: int = 24_000, *, sink: str = SINK) -> None:
        self.rate_hz = rate_hz
        self._sink = sink
        self._daemon: subprocess.Popen[bytes] | None = None
        self._recorders: list[Recorder] = []

    def __enter__(self) -> PrivatePulse:
        missing = [name for name in ("pulseaudio", "pactl", "parec") if shutil.which(name) is None]
        plugin = "libasound_module_pcm_pulse.so"
        libs = (Path(top) for top in ("/usr/lib", "/usr/lib64", "/usr/local/lib"))
        if not any([*lib.glob(f"alsa-lib/{plugin}"), *lib.glob(f"*/alsa-lib/{plugin}")] for lib in libs):
            missing.append("ALSA's pulse plugin")
        if missing:
            raise FileNotFoundError(f"{', '.join(missing)} not installed: {INSTALL_HINT}")
        # A socket's path has at most 108 characters, and pytest's own folders come close to that.
        self._folder = Path(tempfile.mkdtemp(prefix="nf-pulse-"))
        self._socket = self._folder / "native"
        alsa = self._folder / "alsa.conf"
        alsa.write_text(_ALSA_CONFIG)
        self.env: Mapping[str, str] = {
            **{
                k: v
                for k, v in os.environ.items()
                if not k.startswith(("PULSE_", "ALSA_", "DBUS_", "DISPLAY"))
            },
            "HOME": str(self._folder),
            "XDG_RUNTIME_DIR": str(self._folder),
            "PULSE_RUNTIME_PATH": str(self._folder / "runtime"),
            "PULSE_STATE_PATH": str(self._folder / "state"),
            "PULSE_SERVER": f"unix:{self._socket}",
            "ALSA_CONFIG_PATH": str(alsa),
        }
        try:
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for recorder in self._recorders:
            recorder.stop()
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start the daemon, at first and after `kill`; returns when it answers."""
        self._socket.unlink(missing_ok=True)
        log = (self._folder / "daemon.log").open("ab")
        modules = (
            f"module-native-protocol-unix socket={self._socket} auth-anonymous=1",
            " ".join(self._sink_module),
        )
        with log:
            self._daemon = subprocess.Popen(
                [
                    "pulseaudio",
                    "--daemonize=no",
                    "--exit-idle-time=-1",
                    "--use-pid-file=no",
                    "--disable-shm=yes",
                    "-n",
                ]
                + [f"--load={module}" for module in modules],
                env=self.env,
                stdout=log,
                stderr=log,
            )
        give_up_at = time.monotonic() + _ANSWERS_WITHIN_S
        while self._ask("info").returncode != 0:
            if self._daemon.poll() is not None or time.monotonic() > give_up_at:
                text = (self._folder / "daemon.log").read_text(errors="replace")
                raise RuntimeError(f"pulseaudio did not start ({INSTALL_HINT}):\n{text[-2000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """End the daemon as a crash would; what plays to it is not told."""
        if self._daemon is not None:
            self._daemon.send_signal(signal.SIGKILL)
            self._daemon.wait()
            self._daemon = None

    def freeze(self) -> None:
        """Have the daemon hang with every connection to it open; the end of the block ends it, too."""
        assert self._daemon is not None
        self._daemon.send_signal(signal.SIGSTOP)

    def take_sink_away(self) -> None:
        """Unload the only sink, as when a card is unplugged; what plays to it is cut off."""
        self._ask("unload-module", "module-null-sink").check_returncode()

    def give_sink_back(self) -> None:
        """Load the sink again; recorders of the one before have ended."""
        self._ask("load-module", *self._sink_module).check_returncode()

    @property
    def _sink_module(self) -> list[str]:
        # With rewinds the monitor misses the first 50 ms of a stream, and the sink sleeps for up to 2 s.
        return [
            "module-null-sink",
            f"sink_name={self._sink}",
            f"rate={self.rate_hz}",
            "channels=1",
            "format=float32le",
            "norewinds=1",
        ]

    def set_mute(self, muted: bool) -> None:
        """Mute the sink, or not."""
        self._ask("set-sink-mute", self._sink, str(int(muted))).check_returncode()

    def set_volume(self, percent: int) -> None:
        """Set the sink's volume."""
        self._ask("set-sink-volume", self._sink, f"{percent}%").check_returncode()

    def is_played_to(self) -> bool:
        """Whether somebody's stream is open."""
        return bool(self._ask("list", "short", "sink-inputs").stdout.strip())

    def record(self) -> Recorder:
        """Record all that the sink plays, from now on."""
        recorder = Recorder(
            self.env, f"{self._sink}.monitor", self.rate_hz, self._folder / f"{len(self._recorders)}.raw"
        )
        self._recorders.append(recorder)
        give_up_at = time.monotonic() + _ANSWERS_WITHIN_S
        while not recorder.bytes_so_far:
            if time.monotonic() > give_up_at:
                raise RuntimeError("parec recorded nothing")
            time.sleep(0.02)
        return recorder

    def _ask(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["pactl", *words], env=self.env, capture_output=True, timeout=_ANSWERS_WITHIN_S)


class Recorder:
    """What came out of a sink, as ``float32 [samples]``, silence before, between and after included."""

    def __init__(self, env: Mapping[str, str], device: str, rate_hz: int, path: Path) -> None:
        self._path = path
        how = [f"--device={device}", f"--rate={rate_hz}", "--channels=1", "--format=float32le", "--raw"]
        self._parec = subprocess.Popen(
            ["parec", *how, "--latency-msec=50", str(path)],
            env=env,
            stderr=subprocess.DEVNULL,
        )

    @property
    def bytes_so_far(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def so_far(self) -> NDArray[np.float32]:
        """Return what has been recorded until now, some 50 ms ago."""
        data = self._path.read_bytes() if self._path.exists() else b""
        return np.frombuffer(data[: len(data) // 4 * 4], "<f4").astype(np.float32)

    def stop(self) -> NDArray[np.float32]:
        """End the recording and return it; repeatable."""
        if self._parec.poll() is None:
            self._parec.send_signal(signal.SIGINT)
            try:
                self._parec.wait(5)
            except subprocess.TimeoutExpired:
                self._parec.kill()
                self._parec.wait()
        return self.so_far()


def aligned(recording: NDArray[np.float32], played: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cut out of ``recording`` the part that matches ``played`` best: same length, same start."""
    if len(recording) < len(played):
        raise ValueError(f"recorded {len(recording)} samples, fewer than the {len(played)} that were played")
    size = 1 << (len(recording) + len(played)).bit_length()
    product = np.fft.rfft(recording, size) * np.conj(np.fft.rfft(played, size))
    lags = np.fft.irfft(product, size)[: len(recording) - len(played) + 1]
    start = int(np.argmax(lags))
    return recording[start : start + len(played)]
