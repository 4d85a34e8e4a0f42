"""Records a sink's monitor and knows at which instant each sample left it.

Not exact: the recorder is told of samples in pieces, late by up to a piece; the least late of them sets the
clock, so an instant is too late by a few milliseconds, never too early.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Mapping
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

_PIECE_BYTES = 4 * 48


class TimedRecorder:
    """A context manager: it records inside. Instants are ``time.perf_counter()``."""

    def __init__(self, env: Mapping[str, str], sink: str, rate_hz: int = 24_000) -> None:
        self._env = env
        self._device = f"{sink}.monitor"
        self._rate_hz = rate_hz
        self._data = bytearray()
        self._begins_s = float("inf")
        self._started = threading.Event()

    def __enter__(self) -> TimedRecorder:
        how = [f"--device={self._device}", f"--rate={self._rate_hz}", "--channels=1", "--format=float32le"]
        self._parec = subprocess.Popen(
            ["parec", *how, "--raw", "--latency-msec=2"],
            env=dict(self._env),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._thread = threading.Thread(target=self._read, name="timed recorder")
        self._thread.start()
        if not self._started.wait(10):
            self.__exit__(None, None, None)
            raise RuntimeError("parec recorded nothing")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parec.terminate()
        self._parec.wait(10)
        self._thread.join(10)
        assert self._parec.stdout is not None
        self._parec.stdout.close()

    @property
    def pcm(self) -> NDArray[np.float32]:
        """All that was recorded so far."""
        data = bytes(self._data)
        return np.frombuffer(data[: len(data) // 4 * 4], "<f4")

    def instant_of(self, sample: int) -> float:
        """When a sample left the sink."""
        return self._begins_s + sample / self._rate_hz

    def last_sound_s(self, threshold: float = 1e-4) -> float:
        """When the newest sample that was no silence left the sink."""
        loud = np.flatnonzero(np.abs(self.pcm) > threshold)
        return self.instant_of(int(loud[-1]) + 1) if len(loud) else float("-inf")

    def _read(self) -> None:
        assert self._parec.stdout is not None
        while data := self._parec.stdout.read1(_PIECE_BYTES):  # type: ignore[attr-defined]
            now_s = time.perf_counter()
            self._data += data
            self._begins_s = min(self._begins_s, now_s - len(self._data) / 4 / self._rate_hz)
            self._started.set()
