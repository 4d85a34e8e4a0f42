"""A `sounddevice` module without PortAudio: devices by script, and a callback clock turned by hand.

Unrealistic: the callback runs in the caller's thread (`FakeStream.tick`), once in ``start`` and
else only when ticked; nothing is ever played; a device takes any latency and reports it back;
PortAudio's error texts are shorter; only output streams exist.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

INVALID_SAMPLE_RATE = -9997
INVALID_CHANNEL_COUNT = -9998
DEVICE_UNAVAILABLE = -9985
UNANTICIPATED_HOST_ERROR = -9999


class FakePortAudioError(Exception):
    """Text and PaErrorCode, as in sounddevice."""


@dataclass
class FakeDevice:
    """One output device and what it does when it is opened."""

    name: str = "speakers"
    host_api: str = "ALSA"
    max_channels: int = 2
    default_rate_hz: float = 44_100.0
    rates_hz: Sequence[int] | None = None
    """Rates it takes; None is any."""
    channels: Sequence[int] | None = None
    """Channel counts it takes; None is up to ``max_channels``."""
    error_code: int | None = None
    """What it says to any refusal, right or wrong; None is the right code."""
    busy_opens: int = 0
    """So many attempts to open it find it in use."""
    open_error: Exception | None = None
    calls_back: bool = True
    """Whether ``start`` runs the callback once."""
    start_blocks: threading.Event | None = None
    """``start`` waits for it."""
    stop_blocks: threading.Event | None = None
    """``stop``, ``abort`` and ``close`` wait for it."""


@dataclass(frozen=True)
class _Status:
    output_underflow: bool = False


@dataclass
class _TimeInfo:
    currentTime: float
    outputBufferDacTime: float


class FakeStream:
    """What ``OutputStream`` returns. Attributes ``asked``: the arguments it was opened with."""

    def __init__(self, device: FakeDevice, callback: Callable[..., None], asked: dict[str, Any]) -> None:
        self.device = device
        self.asked = asked
        self.latency: float = asked["latency"]
        self.started = False
        self.closed = False
        self.in_callback = False
        self._callback = callback
        self._time_s = 1000.0

    def start(self) -> None:
        self._not_from_callback()
        if self.device.start_blocks is not None:
            self.device.start_blocks.wait()
        self.started = True
        if self.device.calls_back:
            self.tick(64)

    def stop(self, ignore_errors: bool = True) -> None:
        self._not_from_callback()
        if self.device.stop_blocks is not None:
            self.device.stop_blocks.wait()
        self.started = False

    abort = stop

    def close(self, ignore_errors: bool = True) -> None:
        self.stop(ignore_errors)
        self.closed = True

    def tick(self, samples: int, *, ahead_s: float = 0.1, underflow: bool = False) -> NDArray[np.float32]:
        """Run the callback once on a buffer full of 1.0; returns it, ``[samples, channels]``."""
        outdata = np.full((samples, self.asked["channels"]), 1.0, np.float32)
        self._time_s += samples / self.asked["samplerate"]
        self.in_callback = True
        try:
            self._callback(
                outdata, samples, _TimeInfo(self._time_s, self._time_s + ahead_s), _Status(underflow)
            )
        finally:
            self.in_callback = False
        return outdata

    def _not_from_callback(self) -> None:
        assert not self.in_callback, "PortAudio was called from its own callback"


@dataclass
class FakeSounddevice:
    """The module. ``devices`` may change at any time; it is seen after ``_terminate``, ``_initialize``."""

    devices: list[FakeDevice] = field(default_factory=lambda: [FakeDevice()])
    default: int = 0
    streams: list[FakeStream] = field(default_factory=list)
    attempts: list[tuple[int, int]] = field(default_factory=list)
    """Rate in Hz and channels of every attempt to open a stream."""
    refreshes: int = 0

    PortAudioError = FakePortAudioError

    def __post_init__(self) -> None:
        self._listed = list(self.devices)
        self._initialised = True

    def install(self, monkeypatch: pytest.MonkeyPatch) -> FakeSounddevice:
        """Be what ``import sounddevice`` gives until the test ends."""
        monkeypatch.setitem(sys.modules, "sounddevice", self)
        return self

    def only(self, *devices: FakeDevice) -> None:
        """Have these devices and no others, listed already."""
        self.devices[:] = devices
        self._listed[:] = devices

    @property
    def stream(self) -> FakeStream:
        """The newest stream."""
        return self.streams[-1]

    @property
    def open_streams(self) -> int:
        return sum(not stream.closed for stream in self.streams)

    def get_portaudio_version(self) -> tuple[int, str]:
        return 1246720, "PortAudio V19.6.0, of this test"

    def query_hostapis(self) -> tuple[dict[str, Any], ...]:
        return tuple({"name": name} for name in self._host_apis())

    def query_devices(self, device: int | None = None, kind: str | None = None) -> Any:
        assert self._initialised, "PortAudio is not initialised"
        if kind == "output":
            if not 0 <= self.default < len(self._listed):
                raise FakePortAudioError("Error querying device -1", -9996)
            return self._as_dict(self.default)
        return tuple(self._as_dict(index) for index in range(len(self._listed)))

    def OutputStream(self, *, device: int, callback: Callable[..., None], **asked: Any) -> FakeStream:
        assert self._initialised, "PortAudio is not initialised"
        chosen = self._listed[device]
        rate, channels = asked["samplerate"], asked["channels"]
        self.attempts.append((rate, channels))
        if chosen.open_error is not None:
            raise chosen.open_error
        if chosen.busy_opens:
            chosen.busy_opens -= 1
            raise FakePortAudioError("Error opening OutputStream: Device unavailable", DEVICE_UNAVAILABLE)
        if chosen.rates_hz is not None and rate not in chosen.rates_hz:
            raise FakePortAudioError("Invalid sample rate", chosen.error_code or INVALID_SAMPLE_RATE)
        if channels not in (chosen.channels or range(1, chosen.max_channels + 1)):
            raise FakePortAudioError("Invalid number of channels", chosen.error_code or INVALID_CHANNEL_COUNT)
        stream = FakeStream(chosen, callback, asked)
        self.streams.append(stream)
        return stream

    def _terminate(self) -> None:
        assert not self.open_streams, "PortAudio was terminated under an open stream"
        self._initialised = False

    def _initialize(self) -> None:
        self.refreshes += 1
        self._listed = list(self.devices)
        self._initialised = True

    def _exit_handler(self) -> None:
        """Stands for what sounddevice registers with atexit."""

    def _host_apis(self) -> list[str]:
        return list(dict.fromkeys(device.host_api for device in self._listed))

    def _as_dict(self, index: int) -> dict[str, Any]:
        device = self._listed[index]
        return {
            "index": index,
            "name": device.name,
            "hostapi": self._host_apis().index(device.host_api),
            "max_output_channels": device.max_channels,
            "default_samplerate": device.default_rate_hz,
            "default_high_output_latency": 0.035,
        }


@contextmanager
def import_fails(error: Exception) -> Iterator[None]:
    """Let ``import sounddevice`` raise ``error``, as it does where PortAudio is missing."""

    class Finder:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "sounddevice":
                raise error

    loaded = sys.modules.pop("sounddevice", None)
    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        if loaded is not None:
            sys.modules["sounddevice"] = loaded
