"""What is loaded when, each in a fresh process: in this one everything is loaded already."""

from __future__ import annotations

import subprocess
import sys

import pytest

QT = ("PySide6", "qasync")
LATER = ("torch", "sounddevice", "soundfile", "httpx", "keyring", "huggingface_hub", "piper", "onnxruntime")
"""What takes long to load and no window needs to be seen."""
KIOSK = (
    "aiohttp", "prometheus_client", "wyoming", "zeroconf", "ifaddr", "mcp", "pydantic", "systemd_watchdog",
    "soundfile", "httpx",
)  # fmt: skip
"""What only those need who asked for it."""


def outcome(code: str, forbidden: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run ``code`` where importing one of ``forbidden`` fails, whether it is installed or not."""
    poison = "".join(f"sys.modules[{name!r}] = None\n" for name in forbidden)
    return subprocess.run(
        [sys.executable, "-c", f"import sys\n{poison}{code}"],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": "/usr/bin:/bin"},
    )


def assert_runs(code: str, forbidden: tuple[str, ...]) -> None:
    result = outcome(code, forbidden)
    assert result.returncode == 0, result.stderr


def test_the_poison_works() -> None:
    assert "import of torch halted" in outcome("import torch", ("torch",)).stderr


def test_headless_loads_no_window_and_needs_no_display() -> None:
    """D7: nor torch or PortAudio before they are needed (E5, A19)."""
    code = "import app.headless.run, app.headless.say, app.headless.fetching, app.engine.build"
    assert_runs(code, (*QT, "torch", "sounddevice"))


def test_nobody_needs_the_kiosks_packages_but_its_sources() -> None:
    code = (
        "import app.headless.run, app.headless.say, app.headless.named_pipe, app.headless.watched_folder\n"
        "import app.headless.doctor.run, app.headless.speechd.run, app.headless.mcp.run, app.gui.run\n"
    )
    assert_runs(code, KIOSK)


def test_the_window_is_seen_without_what_takes_long_to_load() -> None:
    """E5: torch is not imported before the window is shown; nor is anything else that can wait."""
    assert_runs("import app.gui.run, app.gui.behind", LATER)


def test_behind_the_window_there_is_no_qt() -> None:
    code = (
        "import importlib, pkgutil, app.desktop\n"
        "for module in pkgutil.walk_packages(app.desktop.__path__, 'app.desktop.'):\n"
        "    importlib.import_module(module.name)\n"
    )
    assert_runs(code, (*LATER, *QT))


def test_the_wire_loads_no_torch() -> None:
    code = (
        "import importlib, pkgutil, decoder.wire\n"
        "for module in pkgutil.walk_packages(decoder.wire.__path__, 'decoder.wire.'):\n"
        "    importlib.import_module(module.name)\n"
    )
    assert_runs(code, ("torch", *QT))


@pytest.mark.parametrize(
    "arguments", [["--help"], ["say", "--help"], ["fetch", "--help"], ["bench", "--help"], ["--version"]]
)
def test_help_loads_nothing_that_takes_time(arguments: list[str]) -> None:
    code = (
        f"from app.cli import main\ntry:\n    main({arguments!r})\nexcept SystemExit as end:\n"
        "    assert end.code == 0\n"
        "heavy = {'numpy', 'rich', 'websockets', 'soundfile', 'soxr'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    assert_runs(code, ("torch", "sounddevice", *QT))


def test_an_unknown_option_is_told_without_loading_anything() -> None:
    result = outcome(
        "from app.cli import main\nmain(['say', 'hi', '--bogus'])", ("torch", "sounddevice", *QT)
    )
    assert result.returncode == 2
    assert "--bogus" in result.stderr
