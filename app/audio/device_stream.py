"""One PortAudio stream and its callback, which is all that runs in the real-time thread."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.audio.bounded import StuckError
from app.audio.output import OpenError, OutputInfo, SampleSource
from app.audio.resample import ResamplingSource

_T = TypeVar("_T")

_CLOSE_WITHIN_S = 1.5
_DROP_WITHIN_S = 1.0
_LOOK_AGAIN_S = 0.005
# A DAC further away than this is a host API that does not know; zero is one that does not say.
_MOST_AHEAD_S = 2.0
_SCRATCH_SAMPLES = 4096


class PortAudio(Protocol):
    """What a stream needs of the library."""

    def call(self, limit_s: float, what: str, action: Callable[[], _T]) -> _T:
        """Return what ``action`` returns; raises StuckError if it takes longer than ``limit_s``."""
        ...

    def borrow(self) -> Any:
        """Return the sounddevice module, for one stream."""
        ...

    def give_back(self) -> None:
        """Say that the stream was closed."""
        ...


@dataclass(frozen=True)
class StreamSetting:
    """One way to open a device."""

    device_index: int
    name: str
    rate_hz: int
    channels: int
    latency_s: float
    blocksize_samples: int


class DeviceStream:
    """An `Output`: a PortAudio stream that asks a source for samples. Made by `open_output`."""

    def __init__(self, source: SampleSource, setting: StreamSetting, library: PortAudio) -> None:
        self._library = library
        self._setting = setting
        self._source = (
            source if source.rate_hz == setting.rate_hz else ResamplingSource(source, setting.rate_hz)
        )
        self._info = OutputInfo(
            setting.name, setting.rate_hz, setting.channels, setting.latency_s, audible=True
        )
        self._latency_s = setting.latency_s
        self._scratch = np.zeros(_SCRATCH_SAMPLES, np.float32)
        self._silent = False
        self._callbacks = 0
        self._last_callback_s = time.perf_counter()
        self._underflows = 0
        self._failure: BaseException | None = None
        # Who releases the stream: never taken by the callback.
        self._fate = threading.Lock()
        self._stream: Any = None
        # Who calls PortAudio with the stream once it runs: one after the other.
        self._handling = threading.Lock()
        self._abandoned = False
        self._closed = False

    @property
    def info(self) -> OutputInfo:
        """What was opened."""
        return self._info

    @property
    def last_callback_s(self) -> float:
        """``time.perf_counter`` at the newest callback."""
        return self._last_callback_s

    @property
    def failure(self) -> BaseException | None:
        """What the source raised; it is not asked again, and the device gets silence."""
        return self._failure

    @property
    def underflows(self) -> int:
        """Callbacks that came too late, as PortAudio counts them."""
        return self._underflows

    def describe(self, *, note: str, audible: bool) -> None:
        """Add to `info` what only the opener knows."""
        self._info = replace(self._info, note=note, audible=audible)

    def start(self, give_up_s: float) -> None:
        """Open and start the stream, and see that the callback runs.

        Raises what sounddevice raises, or OpenError if that takes longer than ``give_up_s``.
        """
        try:
            self._library.call(give_up_s, f'starting the sound device "{self._setting.name}"', self._start)
            give_up_at_s = time.perf_counter() + give_up_s
            while not self._callbacks:
                if time.perf_counter() >= give_up_at_s:
                    reason = f'the sound device "{self._setting.name}" opened but never asked for samples'
                    raise OpenError(reason, "choose another device, or restart the sound server")
                time.sleep(_LOOK_AGAIN_S)
        except BaseException:
            self.close()
            raise

    def drop(self) -> None:
        """Throw away what the device was given and has not played, within a few milliseconds, and go on.

        Raises what sounddevice raises if the device does not start again: it then asks no more.
        """
        with self._fate:
            if self._closed or self._stream is None:
                return
        with contextlib.suppress(StuckError):
            self._library.call(
                _DROP_WITHIN_S, f'emptying the sound device "{self._setting.name}"', self._restart
            )

    def close(self) -> None:
        """Stop within 1.5 s, without waiting for what is buffered; a stream that hangs is left behind."""
        self._silent = True
        with self._fate:
            if self._closed:
                return
            self._closed = True
            if self._stream is None:
                # Still starting, or it failed: `_start` releases what it gets.
                self._abandoned = True
                return
        # If it hangs, the caller goes on, and the thread that hangs owns the stream.
        with contextlib.suppress(StuckError):
            self._library.call(
                _CLOSE_WITHIN_S, f'closing the sound device "{self._setting.name}"', self._release
            )

    def _start(self) -> None:
        setting = self._setting
        sounddevice = self._library.borrow()
        try:
            stream = sounddevice.OutputStream(
                samplerate=setting.rate_hz,
                blocksize=setting.blocksize_samples,
                device=setting.device_index,
                channels=setting.channels,
                dtype="float32",
                latency=setting.latency_s,
                callback=self._callback,
            )
        except BaseException:
            self._library.give_back()
            raise
        try:
            stream.start()
        except BaseException:
            stream.close(ignore_errors=True)
            self._library.give_back()
            raise
        reported_s = float(stream.latency)
        if 0.0 < reported_s <= _MOST_AHEAD_S:
            self._latency_s = reported_s
            self._info = replace(self._info, latency_s=reported_s)
        with self._fate:
            self._stream = stream
            abandoned = self._abandoned
        if abandoned:
            self._release()

    def _restart(self) -> None:
        with self._handling:
            if not self._closed:
                self._stream.abort()
                self._stream.start()

    def _release(self) -> None:
        try:
            with self._handling:
                # Not stop(), which waits until all that is buffered was heard.
                self._stream.abort(ignore_errors=True)
                self._stream.close(ignore_errors=True)
        finally:
            self._library.give_back()

    def _callback(self, outdata: NDArray[np.float32], samples: int, time_info: Any, status: Any) -> None:
        """PortAudio's real-time thread. ``outdata [samples, channels]`` holds garbage: write all of it."""
        now_s = time.perf_counter()
        self._last_callback_s = now_s
        self._callbacks += 1
        if self._silent or self._failure is not None:
            outdata.fill(0.0)
            return
        try:
            if status.output_underflow:
                self._underflows += 1
            ahead_s = time_info.outputBufferDacTime - time_info.currentTime
            if not 0.0 < ahead_s <= _MOST_AHEAD_S:
                ahead_s = self._latency_s
            self._fill(outdata, now_s + ahead_s)
        except BaseException as failure:
            # Raised into C it would be lost; here the keeper finds it.
            self._failure = failure
            outdata.fill(0.0)

    def _fill(self, outdata: NDArray[np.float32], dac_s: float) -> None:
        channels = outdata.shape[1]
        if channels == 1:
            self._source.read_into(outdata[:, 0], dac_s)
            return
        done = 0
        while done < len(outdata):
            mono = self._scratch[: len(outdata) - done]
            self._source.read_into(mono, dac_s + done / self._setting.rate_hz)
            block = outdata[done : done + len(mono)]
            block[:, 0] = mono
            block[:, 1] = mono
            block[:, 2:] = 0.0
            done += len(mono)
