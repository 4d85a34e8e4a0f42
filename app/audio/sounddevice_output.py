"""The door to PortAudio, and the only file that imports sounddevice.

Its calls may block for ever, so each is given up after a while; what it opened after that, it
closes itself.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from app.audio.bounded import StuckError, call_within
from app.audio.device_stream import DeviceStream, StreamSetting
from app.audio.devices import Device, DeviceChoice, find_device
from app.audio.output import OpenError, SampleSource
from app.audio.sound_server import default_sink, is_dummy, likely_cause

_T = TypeVar("_T")

# "low" latency crackles on some sound servers; PortAudio's "high" is below this on many.
_LEAST_LATENCY_S = 0.1
_MOST_LATENCY_S = 0.5
# PortAudio asks all host APIs for all devices: slow where there are many.
_LIST_WITHIN_S = 5.0
# A server that hangs for hours must not cost a thread for every time that it is tried.
_MOST_STUCK = 3
_DEVICE_UNAVAILABLE = -9985

_NO_LIBRARY_HINT = "install PortAudio: apt install libportaudio2 (or your system's package of that library)"


def list_devices(*, refresh: bool = False) -> tuple[Device, ...]:
    """List the output devices, in PortAudio's order.

    PortAudio looks once, when it starts. ``refresh`` makes it look again, which it can only do
    while no stream is open; otherwise the old list is returned. Takes up to five seconds: not for
    an event loop. Raises OpenError if PortAudio is missing or does not answer.
    """
    _library.check_answers()

    def listed() -> tuple[Device, ...]:
        return _library.devices(refresh=refresh)

    try:
        return _library.call(_LIST_WITHIN_S, "listing the sound devices", listed)
    except OpenError:
        raise
    except Exception as error:
        raise OpenError(f"PortAudio cannot start ({error})", likely_cause()) from error


def open_output(
    source: SampleSource,
    choice: DeviceChoice | None = None,
    *,
    latency_s: float | None = None,
    blocksize_samples: int = 0,
    give_up_s: float = 1.0,
    ask_sink: Callable[[], str | None] = default_sink,
) -> DeviceStream:
    """Open the chosen or the default device and start asking ``source`` for samples.

    The source's rate in mono comes first; whatever the error, the device's own rate, 48 and
    44.1 kHz and other channel counts follow. ``latency_s`` None means the driver's safe choice, at
    least 0.1 s; ``blocksize_samples`` 0 leaves the size to the driver. Opening and the first
    callback may each take ``give_up_s``. ``ask_sink`` names the sound server's default sink. Not for
    an event loop.

    Raises OpenError: no device, in use, refused, or stuck.
    """
    device, note = find_device(list_devices(refresh=True), choice)
    if device is None:
        raise OpenError("there is no sound device", likely_cause())
    name = device.choice.format()
    if latency_s is None:
        latency_s = min(max(_LEAST_LATENCY_S, device.high_latency_s), _MOST_LATENCY_S)
    refusals: list[Exception] = []
    for rate_hz, channels in device.settings_to_try(source.rate_hz):
        setting = StreamSetting(device.index, name, rate_hz, channels, latency_s, blocksize_samples)
        output = DeviceStream(source, setting, _library)
        try:
            output.start(give_up_s)
        except OpenError:
            raise
        except Exception as refusal:
            # Any error may be about rate or channels, whatever its code says.
            refusals.append(refusal)
            continue
        output.describe(note=note, audible=not is_dummy(device.name, ask_sink))
        return output
    if any(_DEVICE_UNAVAILABLE in refusal.args for refusal in refusals):
        hint = "close the program that plays to it, or choose another device"
        raise OpenError(f'the sound device "{name}" is in use', hint, busy=True)
    reason = refusals[0].args[0] if refusals and refusals[0].args else "no reason given"
    raise OpenError(f'the sound device "{name}" cannot be opened ({reason})', "choose another device")


def portaudio_version() -> str:
    """Return PortAudio's version in words; takes up to five seconds: not for an event loop.

    Raises OpenError if PortAudio is missing or does not answer.
    """
    found = _library.call(_LIST_WITHIN_S, "starting PortAudio", lambda: _imported().get_portaudio_version())
    return str(found[1])


class _Library:
    """PortAudio as this process has it: one list of devices, and a count of open streams."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._module: Any = None
        self._initialised = False
        # Threads whose call was given up.
        self._stuck: list[threading.Thread] = []
        self._streams = 0

    def check_answers(self) -> None:
        """Raise OpenError if so many calls hang that another would only add to them."""
        self._stuck = [thread for thread in self._stuck if thread.is_alive()]
        if len(self._stuck) >= _MOST_STUCK:
            raise OpenError("PortAudio does not answer", "restart the sound server")

    def call(self, limit_s: float, what: str, action: Callable[[], _T]) -> _T:
        """Make a call of PortAudio; raises StuckError if it takes longer than ``limit_s``."""
        try:
            return call_within(limit_s, what, action)
        except StuckError as error:
            self._stuck.append(error.thread)
            # PortAudio's own farewell would hang the exit of a process in which a call of it hangs.
            farewell = getattr(self._module, "_exit_handler", None)
            if farewell is not None:
                atexit.unregister(farewell)
            raise

    def borrow(self) -> Any:
        """Return the sounddevice module, for one stream: no refresh until `give_back`."""
        with self._lock:
            self._streams += 1
            return self._module

    def give_back(self) -> None:
        """Say that a stream was closed."""
        with self._lock:
            self._streams -= 1

    def devices(self, *, refresh: bool) -> tuple[Device, ...]:
        """List the output devices, looking for them again if asked to and possible."""
        # Someone who hangs may hold the lock: then this call fails, and does not hang too.
        if not self._lock.acquire(timeout=_LIST_WITHIN_S / 2):
            raise OpenError("PortAudio does not answer", "restart the sound server")
        try:
            module = _imported()
            if module is not self._module:
                self._module, self._initialised = module, True
            elif refresh and not self._streams:
                if self._initialised:
                    module._terminate()
                self._initialised = False
                module._initialize()
                self._initialised = True
            return tuple(_output_devices(module))
        finally:
            self._lock.release()


# PortAudio itself is one per process.
_library = _Library()


def _imported() -> Any:
    try:
        import sounddevice
    except ImportError as error:
        raise OpenError("the Python package sounddevice is missing", "pip install sounddevice") from error
    except OSError as error:
        raise OpenError(f"the PortAudio library is missing ({error})", _NO_LIBRARY_HINT) from error
    return sounddevice


def _output_devices(module: Any) -> Iterator[Device]:
    host_apis = module.query_hostapis()
    try:
        default_index = module.query_devices(kind="output")["index"]
    except (module.PortAudioError, ValueError):
        default_index = -1
    for index, found in enumerate(module.query_devices()):
        if found["max_output_channels"] > 0:
            yield Device(
                index=index,
                host_api=host_apis[found["hostapi"]]["name"],
                name=found["name"],
                max_channels=found["max_output_channels"],
                default_rate_hz=round(found["default_samplerate"]),
                high_latency_s=found["default_high_output_latency"],
                is_default=index == default_index,
            )
