"""Sound: which devices there are, whether the chosen one asks for samples, and whether anybody hears it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from app.audio.devices import Device, DeviceChoice
from app.audio.output import OpenError, Output
from app.audio.sound_server import default_sink, likely_cause
from app.audio.sounddevice_output import list_devices, open_output
from app.config import AudioConfig
from app.headless.doctor.finding import Fact, Finding, Verdict
from app.headless.doctor.tone import LEVEL, TONE_HZ, TONE_S, ProbeSignal, tone

CHECK = "sound"
LIMIT_S = 45.0
"""Listing may take 5 s, each way to open a device 2 s, and then there is the tone."""
_RATE_HZ = 24_000
_SILENCE_S = 0.3
_LATE_S = 3.0
"""A sink that slept takes up to 2 s to wake."""
_LOOK_S = 0.02
_SHOWN_DEVICES = 8
_ASK_WITHIN_S = 1.0
_ENVIRONMENT = ("XDG_RUNTIME_DIR", "PULSE_SERVER", "PIPEWIRE_REMOTE", "ALSA_CARD", "AUDIODEV")


@dataclass(frozen=True)
class Surroundings:
    """What is asked besides PortAudio, and the time."""

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    default_sink: Callable[[], str | None] = default_sink
    why_muted: Callable[[], str] = lambda: why_muted()
    cause: Callable[[], str] = likely_cause
    clock: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], object] = time.sleep


def check(audio: AudioConfig, *, play: bool, around: Surroundings | None = None) -> Finding:
    """Open the output that ``audio`` names as everything else here does, and feed it.

    It gets a moment of silence, or with ``play`` a tone that whoever is there can hear.
    """
    around = around or Surroundings()
    facts: dict[str, Fact] = {
        "environment": {n: around.environ[n] for n in _ENVIRONMENT if n in around.environ}
    }
    try:
        devices = list_devices(refresh=True)
    except OpenError as error:
        return _unopened(error, facts, around)
    facts["devices"] = [device.choice.format() for device in devices]
    facts["default"] = next((device.choice.format() for device in devices if device.is_default), None)
    facts["sound server's sink"] = around.default_sink()
    if not devices:
        return Finding(CHECK, Verdict.PROBLEM, "there is no sound device", around.cause(), facts)
    pcm = np.zeros(round(_SILENCE_S * _RATE_HZ), np.float32)
    if play:
        pcm = tone(_RATE_HZ, level=LEVEL * audio.volume)
    signal = ProbeSignal(pcm, _RATE_HZ)
    try:
        output = open_output(
            signal, DeviceChoice.parse(audio.device), latency_s=audio.latency_s, ask_sink=around.default_sink
        )
    except OpenError as error:
        return _unopened(error, facts, around)
    try:
        _wait_until_heard(output, signal, around)
        facts["output"] = {
            "name": output.info.name,
            "rate_hz": output.info.rate_hz,
            "channels": output.info.channels,
            "latency_s": round(output.info.latency_s, 4),
            "callbacks": signal.calls,
            "underflows": output.underflows,
        }
        found = _judged(output, signal, around)
    finally:
        output.close()
    if len(devices) > 1:
        found = replace(found, summary=f"{found.summary}\n{_listed(devices)}")
    if play and found.verdict is Verdict.OK:
        summary = f"{found.summary}; a tone of {TONE_HZ:.0f} Hz was played"
        advice = "if you heard nothing, check the loudspeaker, or choose another device"
        found = replace(found, summary=summary, advice=advice)
    return replace(found, facts=facts)


def _listed(devices: Sequence[Device]) -> str:
    names = [d.choice.format() + " (default)" * d.is_default for d in devices]
    more = (
        f" and {len(names) - _SHOWN_DEVICES} more: nearfield devices" if len(names) > _SHOWN_DEVICES else ""
    )
    return f"devices: {', '.join(names[:_SHOWN_DEVICES])}{more}"


def _unopened(error: OpenError, facts: Mapping[str, Fact], around: Surroundings) -> Finding:
    advice = error.hint or around.cause()
    if error.busy:
        advice += "; if a kiosk of Nearfield plays there, that is it: systemctl --user stop nearfield"
        if "XDG_RUNTIME_DIR" not in around.environ:
            advice += "; XDG_RUNTIME_DIR is not set, so the sound server that would share it is not found"
    return Finding(CHECK, Verdict.PROBLEM, error.reason, advice, facts)


def _wait_until_heard(output: Output, signal: ProbeSignal, around: Surroundings) -> None:
    give_up_s = around.clock() + TONE_S + _LATE_S
    while around.clock() < give_up_s and output.failure is None:
        if signal.over_s is not None and around.clock() >= signal.over_s:
            return
        around.sleep(_LOOK_S)


def _judged(output: Output, signal: ProbeSignal, around: Surroundings) -> Finding:
    info = output.info
    ran = (
        f'"{info.name}" asked {signal.calls} times for samples, '
        f"{info.rate_hz} Hz, {info.latency_s * 1000:.0f} ms"
    )
    if output.failure is not None:
        return Finding(CHECK, Verdict.PROBLEM, f"playing failed: {output.failure!r}", "report this")
    if signal.over_s is None:
        text = f"{ran}; then it stopped asking, after {signal.taken_s:.1f} s"
        return Finding(CHECK, Verdict.PROBLEM, text, "restart the sound server, or choose another device")
    if not info.audible:
        return Finding(
            CHECK, Verdict.PROBLEM, f"{ran}; but it is a dummy sink: nobody hears anything", around.cause()
        )
    if muted := around.why_muted():
        return Finding(
            CHECK, Verdict.PROBLEM, f"{ran}; but {muted}", "turn it up in the desktop's mixer, or with pactl"
        )
    if info.note:
        return Finding(CHECK, Verdict.WARNING, info.note, "connect it, or set audio.device")
    if output.underflows:
        text = f"{ran}; it was served too late {output.underflows} times"
        return Finding(CHECK, Verdict.WARNING, text, "raise audio.latency_s")
    return Finding(CHECK, Verdict.OK, ran)


def why_muted(ask: Callable[[str], str] | None = None) -> str:
    """Say that the sound server's default sink is muted or turned down; empty if not, or unknown.

    ``ask`` returns what ``pactl`` says of that sink to a question.
    """
    ask = ask or _ask
    if "yes" in ask("get-sink-mute"):
        return "the sound server has muted it"
    percents = re.findall(r"(\d+)%", ask("get-sink-volume"))
    return "the sound server's volume is 0" if percents and not any(map(int, percents)) else ""


def _ask(what: str) -> str:
    if (pactl := shutil.which("pactl")) is None:
        return ""
    try:
        answer = subprocess.run(  # noqa: S603  # no input of a user in it
            [pactl, what, "@DEFAULT_SINK@"],
            capture_output=True,
            text=True,
            timeout=_ASK_WITHIN_S,
            env={**os.environ, "LC_ALL": "C"},
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout
