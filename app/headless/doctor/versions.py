"""What is installed here, without loading what takes long to load."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from app.audio.sounddevice_output import portaudio_version
from app.errors import OutputError
from app.headless.doctor.finding import Finding, Verdict
from decoder.streaming.machine import this_machine

CHECK = "versions"
LIMIT_S = 20.0
_NEEDED = ("torch", "numpy", "safetensors", "websockets", "sounddevice", "soxr", "huggingface_hub")
_OPTIONAL = (
    "soundfile",
    "httpx",
    "aiohttp",
    "prometheus_client",
    "wyoming",
    "mcp",
    "systemd-watchdog",
    "PySide6-Essentials",
)


def check() -> Finding:
    """List the versions; what is needed and absent is a problem."""
    found = {name: _version(name) for name in (*_NEEDED, *_OPTIONAL)}
    facts: dict[str, str | None] = {
        "nearfield": version("nearfield"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.platform(),
        "machine": this_machine().describe(),
        **found,
        "PortAudio": _portaudio(),
        "libsndfile": _libsndfile(),
    }
    summary = ", ".join(f"{name} {facts[name]}" for name in ("nearfield", "python", "torch") if facts[name])
    missing = [name for name in _NEEDED if found[name] is None]
    if missing:
        names = " ".join(missing)
        return Finding(
            CHECK,
            Verdict.PROBLEM,
            f"not installed: {', '.join(missing)}",
            f"pip install {names}, or install nearfield again",
            facts,
        )
    return Finding(CHECK, Verdict.OK, summary, facts=facts)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _portaudio() -> str | None:
    try:
        return portaudio_version()
    except OutputError:  # said by the check of the sound
        return None


def _libsndfile() -> str | None:
    try:
        import soundfile
    except (ImportError, OSError):  # only the window exports files through it
        return None
    return str(soundfile.__libsndfile_version__)
