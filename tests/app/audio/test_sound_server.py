from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from app.audio.sound_server import default_sink, is_dummy, likely_cause, sound_fingerprint

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sound servers are Linux's")


def put_pactl(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program named pactl first on the path."""
    pactl = folder / "pactl"
    pactl.write_text(f"#!/bin/sh\n{script}\n")
    pactl.chmod(pactl.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


@linux
@pytest.mark.parametrize(
    ("script", "sink"), [("echo auto_null", "auto_null"), ("echo; exit 0", None), ("exit 1", None)]
)
def test_default_sink_is_what_the_server_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, sink: str | None
) -> None:
    put_pactl(tmp_path, monkeypatch, script)
    assert default_sink() == sink


@linux
def test_a5_fingerprint_changes_with_the_default_sink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_pactl(tmp_path, monkeypatch, "echo speakers")
    before = sound_fingerprint()
    assert sound_fingerprint() == before
    put_pactl(tmp_path, monkeypatch, "echo headset")
    assert sound_fingerprint() != before


def test_no_pactl_is_no_sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert default_sink() is None


def test_a23_card_of_its_own_does_not_depend_on_the_sound_server() -> None:
    def asked() -> str:
        raise AssertionError("asked the server about a card")

    assert not is_dummy("HDA Intel PCH: ALC257 Analog (hw:0,0)", asked)
    assert is_dummy("default", lambda: "auto_null")


@linux
def test_a3_service_without_runtime_dir_is_told_so(tmp_path: Path) -> None:
    (tmp_path / str(os.getuid())).mkdir()
    assert "XDG_RUNTIME_DIR is not set" in likely_cause({}, tmp_path)


@linux
def test_a2_machine_without_sound_is_not_told_of_services(tmp_path: Path) -> None:
    assert "neither a sound card nor a sound server" in likely_cause({}, tmp_path)


@linux
def test_a3_runtime_dir_without_a_server_is_told_so(tmp_path: Path) -> None:
    assert "no sound server is running" in likely_cause({"XDG_RUNTIME_DIR": str(tmp_path)})
    (tmp_path / "pipewire-0").touch()
    assert "loudspeaker" in likely_cause({"XDG_RUNTIME_DIR": str(tmp_path)})


@linux
def test_a3_server_named_by_the_user_is_named() -> None:
    assert "tcp:kitchen" in likely_cause({"PULSE_SERVER": "tcp:kitchen"})
