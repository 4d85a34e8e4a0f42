"""``nearfield load`` as a user types it, against real servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.cli import main
from assets import folder
from server.emulator import Emulator, Scenario, SyntheticTalker
from tests.helpers.load_servers import BatchedServer, LeakingServer, LosingServer, PlainServer
from tests.helpers.own_loop import in_own_loop

FAST = Scenario(pace=0)
NARROW = 80
"""Columns of a terminal that nobody widened."""


@pytest.fixture(autouse=True)
def _nothing_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", str(NARROW))


def load(url: str, *arguments: str) -> int:
    return main(["load", "--server", url, "--words", "2", *arguments])


def test_tables_fit_a_narrow_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with in_own_loop(Emulator(SyntheticTalker(), FAST)) as emulator:
        assert load(emulator.url, "--sessions", "2", "3", "--repeat", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{emulator.url}: codec tokens, nearfield-synthetic"
    text = "\n".join(lines)
    for part in ("1st frame", "never dry with", "100%", "4 of 4", "6 of 6", "3 of 3"):
        assert part in text
    assert "…" not in text
    assert lines[-1] == "nothing failed; no cross-talk in 5 sessions"
    assert all(len(line) <= NARROW for line in lines[1:-1] if not line.startswith("note:"))


def test_json_is_one_object_and_the_picture_is_of_the_same_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="the optional extra bench is not installed")
    with in_own_loop(Emulator(SyntheticTalker(), FAST)) as emulator:
        assert load(emulator.url, "--sessions", "2", "--json", "--plot", str(tmp_path / "load.svg")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["has_passed"] is True
    assert found["levels"][0]["continuity"]["50"] == 1.0
    assert [each["seed"] for each in found["levels"][0]["each"]] == [1, 2]
    assert (tmp_path / "load.svg").stat().st_size > 1000


def test_the_key_comes_from_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_own_loop(Emulator(SyntheticTalker(), FAST, api_key="sesame")) as emulator:
        assert load(emulator.url, "--sessions", "2", "--no-solo") == 2
        assert "HTTP 401" in capsys.readouterr().err
        monkeypatch.setenv("NEARFIELD_API_KEY", "sesame")
        assert load(emulator.url, "--sessions", "2", "--no-solo") == 0
    assert "frames were not compared" in capsys.readouterr().out


def test_a_leak_is_told_with_who_got_what(capsys: pytest.CaptureFixture[str]) -> None:
    with in_own_loop(LeakingServer().running()) as url:
        assert load(url, "--sessions", "4") == 1
    out = capsys.readouterr().out
    assert "frames of session" in out
    assert "got other frames than their own" in out


def test_frames_that_are_lost_are_told_with_where(capsys: pytest.CaptureFixture[str]) -> None:
    with in_own_loop(LosingServer().running()) as url:
        assert load(url, "--sessions", "4") == 1
    assert "frames lost, added or changed, the first at frame 2" in capsys.readouterr().out


def test_another_turn_in_a_batch_may_be_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    with in_own_loop(BatchedServer().running()) as url:
        assert load(url, "--sessions", "4", "--words", "4") == 1
        assert "left its solo run at frame 4" in capsys.readouterr().out
        assert load(url, "--sessions", "4", "--words", "4", "--allow-divergence") == 0


def test_pauses_that_no_start_buffer_bridges_are_in_the_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    stalls = Scenario(pace=8, stall_at_frame=2, stall_s=0.6)
    with in_own_loop(Emulator(SyntheticTalker(), stalls)) as emulator:
        assert load(emulator.url, "--sessions", "2", "--no-solo") == 0
    assert capsys.readouterr().out.endswith(
        "nothing failed; of 2 sessions 100% run dry with a start buffer of 200 ms\n"
    )


def test_failures_are_shown_once_with_how_often(capsys: pytest.CaptureFixture[str]) -> None:
    with in_own_loop(PlainServer(turned_away=frozenset({2, 3})).running()) as url:  # 0 is the first contact
        assert load(url, "--sessions", "4", "--no-solo") == 1
    out = capsys.readouterr().out
    assert out.count("HTTP 503") == 1
    assert "(2 times)" in out
    assert out.endswith("2 failed\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--words", "1"), 2, "at least 2 words"),
        (("--sessions", "5000"), 2, "texts for 1024 sessions"),
        (("--plot", "load.gif"), 1, "ends with .png or .svg"),
        (("--server", "ftp://x"), 2, "not a server address"),
        (("--server", "ws://127.0.0.1:9"), 2, "cannot reach"),
    ],
)
def test_what_cannot_be_measured_is_said_in_a_line(
    arguments: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load("ws://127.0.0.1:9", *arguments) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("arguments", [("--sessions", "0"), ("--ramp-s", "-1"), ("--duration-s", "nan")])
def test_nonsense_is_refused(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        load("ws://127.0.0.1:9", *arguments)
    assert end.value.code == 2


# -- the emulator as a process of its own: neither side waits for the other's interpreter ------------------


@contextmanager
def emulator_process(*options: str) -> Iterator[str]:
    command = [sys.executable, "-m", "server.emulator", "--voice", "synthetic", "--port", "0", *options]
    with subprocess.Popen(command, cwd=folder().parent, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def test_sixty_four_sessions_at_twice_real_time_get_their_own_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with emulator_process("--pace", "2") as url:
        code = load(url, "--sessions", "64", "--solo-at-once", "32", "--json")
    found = json.loads(capsys.readouterr().out)
    (level,) = found["levels"]
    assert code == 0, found["caveats"]
    assert found["is_deterministic"] is True
    assert (level["texts"], level["complete_texts"], level["most_at_once"]) == (64, 64, 64)
    assert (level["compared_sessions"], level["mixed_up_sessions"]) == (64, [])
    assert level["failures"] == {}
    assert level["anomalies"] == {}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_shows_what_was_measured() -> None:
    with in_own_loop(Emulator(SyntheticTalker(), Scenario(pace=8))) as emulator:
        command = [sys.executable, "-m", "app.cli", "load", "--server", emulator.url, "--words", "2"]
        command += ["--no-solo", "--sessions", "2", "--duration-s", "60"]
        with subprocess.Popen(
            command, cwd=folder().parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"COLUMNS": str(NARROW)},
        ) as process:  # fmt: skip
            give_up_s = time.monotonic() + 20
            while len(emulator.utterances) < 5:
                assert time.monotonic() < give_up_s
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "Traceback" not in error
    assert "what listeners get" in out
    assert "interrupted, the figures are of what had ended by then" in out
