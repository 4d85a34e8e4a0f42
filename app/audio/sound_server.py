"""What the system says about its sound, without opening anything: the default sink, likely causes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

_ASK_WITHIN_S = 1.0

# PulseAudio and PipeWire both make a sink of this name when there is no other.
_DUMMY_NAMES = ("auto_null", "dummy output")

# Devices that stand for "whatever the sound server plays to"; others are what they say they are.
_SERVER_NAMES = ("default", "pulse", "pipewire", "sysdefault")


def default_sink() -> str | None:
    """Name the sink a PulseAudio or PipeWire server plays to; None if there is no server to ask.

    Takes up to a second: not for an event loop.
    """
    pactl = shutil.which("pactl") if sys.platform.startswith("linux") else None
    if pactl is None:
        return None
    try:
        answer = subprocess.run(  # noqa: S603  # no input of a user in it
            [pactl, "get-default-sink"], capture_output=True, text=True, timeout=_ASK_WITHIN_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None


def is_dummy(device_name: str, ask_sink: Callable[[], str | None] = default_sink) -> bool:
    """Whether nobody can hear this device; ``ask_sink`` is asked if a sound server decides that."""
    name = device_name.lower()
    if any(dummy in name for dummy in _DUMMY_NAMES):
        return True
    return name in _SERVER_NAMES and (ask_sink() or "").lower() in _DUMMY_NAMES


def sound_fingerprint() -> object:
    """Make a value that changes when the default output may have: compare it, nothing else.

    It sees the sound server's default sink and ALSA's cards; on systems with neither it never
    changes. Takes up to a second: not for an event loop.
    """
    try:
        cards = Path("/proc/asound/cards").read_text(encoding="utf-8", errors="replace")
    except OSError:
        cards = ""
    return default_sink(), cards


def likely_cause(environ: Mapping[str, str] | None = None, runtime_folders: Path = Path("/run/user")) -> str:
    """Why there may be no sound device here, as advice; empty where nothing looks wrong."""
    environ = os.environ if environ is None else environ
    if not sys.platform.startswith("linux"):
        return "check that a loudspeaker or headphones are connected and enabled"
    card = Path("/dev/snd/controlC0")
    if card.exists() and not os.access(card, os.W_OK):
        return "this user may not use the sound card: add the user to the group audio"
    if "PULSE_SERVER" in environ:
        return f"PULSE_SERVER is {environ['PULSE_SERVER']}: check that a sound server answers there"
    runtime_dir = environ.get("XDG_RUNTIME_DIR")
    if not runtime_dir and not (runtime_folders / str(os.getuid())).exists():
        return "this machine seems to have neither a sound card nor a sound server; sound can go to a file"
    if not runtime_dir:
        return (
            "XDG_RUNTIME_DIR is not set, so the sound server cannot be found: run as a user service "
            "(systemctl --user) or set XDG_RUNTIME_DIR=/run/user/UID"
        )
    sockets = (Path(runtime_dir, "pulse", "native"), Path(runtime_dir, "pipewire-0"))
    if not any(socket.exists() for socket in sockets):
        return (
            f"no sound server is running in {runtime_dir}: start PipeWire or PulseAudio, "
            "or in a container pass its socket in"
        )
    return "check that a loudspeaker or headphones are connected"
