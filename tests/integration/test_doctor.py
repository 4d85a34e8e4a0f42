"""The command as a person runs it, beside a real sound server that is well, mute, dumb or dead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.headless.doctor.tone import LEVEL, TONE_HZ, TONE_S
from tests.helpers.pulse import PrivatePulse

NEARFIELD = (sys.executable, "-m", "app.cli")
PATIENCE_S = 120


def doctor(*arguments: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NEARFIELD, "doctor", *arguments], capture_output=True, text=True, timeout=PATIENCE_S, env=dict(env)
    )


def finding(done: subprocess.CompletedProcess[str], check: str) -> dict[str, Any]:
    (found,) = [c for c in json.loads(done.stdout)["checks"] if c["check"] == check]
    assert isinstance(found, dict)
    return found


def seconds_of_tone(recording: NDArray[np.float32], rate_hz: int) -> float:
    """Count the 50 ms pieces in which nearly all there is is the tone."""
    piece = rate_hz // 20
    whole = recording[: len(recording) // piece * piece].reshape(-1, piece)
    times_s = np.arange(piece) / rate_hz
    amplitudes = np.abs(whole @ np.exp(-2j * np.pi * TONE_HZ * times_s)) * 2 / piece
    powers = (whole**2).mean(axis=1)
    is_tone = (amplitudes > 0.9 * LEVEL) & (amplitudes**2 / 2 > 0.95 * powers)
    return float(is_tone.sum() * 0.05)


def test_a_healthy_machine_plays_the_tone_and_says_so(tmp_path: Path) -> None:
    """The tone is what the sink gets; the report can be sent to anybody."""
    report = tmp_path / "report.md"
    with PrivatePulse() as pulse:
        recorder = pulse.record()
        env = {**pulse.env, "NEARFIELD_KIOSK_HTTP_TOKEN": "hidden-token"}
        done = doctor("--demo", "--tone", "--json", "--report", str(report), env=env)
        recording = recorder.stop()
        home = pulse.env["HOME"]
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["verdict"] == "ok"
    assert finding(done, "sound")["facts"]["output"]["callbacks"] > 3
    assert abs(seconds_of_tone(recording, 24_000) - TONE_S) < 0.3
    for text in (done.stdout, report.read_text()):
        assert "hidden-token" not in text
        assert home not in text
        assert "~/" in text


def test_a_muted_sink_is_not_healthy() -> None:
    """Everything runs and nobody hears anything; without the tone nothing but silence is played."""
    with PrivatePulse() as pulse:
        pulse.set_mute(True)
        done = doctor("--demo", "--json", env=pulse.env)
    assert done.returncode == 1
    assert "muted" in finding(done, "sound")["summary"]
    assert finding(done, "server")["verdict"] == "ok"


def test_a_dummy_sink_is_not_healthy() -> None:
    """A23: containers have it, and everything looks well."""
    with PrivatePulse(sink="auto_null") as pulse:
        done = doctor("--demo", "--json", env=pulse.env)
    assert done.returncode == 1
    assert "dummy" in finding(done, "sound")["summary"]


def test_a_sound_server_that_hangs_does_not_hang_the_doctor() -> None:
    """The rest is looked at, and the process ends although a thread of it never will."""
    with PrivatePulse() as pulse:
        pulse.freeze()
        begun_s = time.perf_counter()
        done = doctor("--demo", "--json", env=pulse.env)
        assert time.perf_counter() - begun_s < 40
    assert done.returncode == 1, done.stderr
    assert finding(done, "sound")["verdict"] == "problem"
    assert "sound server" in finding(done, "sound")["advice"]
    assert [finding(done, name)["verdict"] for name in ("versions", "decoder")] == ["ok", "ok"]


def test_nothing_here_is_an_exit_code_and_next_steps(tmp_path: Path) -> None:
    """A3: as a service without XDG_RUNTIME_DIR, with no server and no checkpoint."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = doctor("--server", "ws://127.0.0.1:9", env=env)
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("→") >= 3
    assert "not healthy" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_configuration_that_cannot_be_used_is_exit_code_2(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("kiosk: {http_port: loud}")
    done = doctor("--config", str(file), "--json", env=os.environ)
    assert done.returncode == 2
    assert "kiosk.http_port" in finding(done, "configuration")["summary"]


def test_an_unknown_option_lists_the_known_ones() -> None:
    done = doctor("--loud", env=os.environ)
    assert done.returncode == 2
    assert "--tone" in done.stderr
