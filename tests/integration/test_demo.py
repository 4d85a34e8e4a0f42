"""The command a newcomer runs first, in a process of its own, as they would run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import soundfile

NEARFIELD = (sys.executable, "-m", "app.cli")
PATIENCE_S = 120


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NEARFIELD, *arguments], input=stdin, capture_output=True, text=True, timeout=PATIENCE_S
    )


def test_the_first_command_speaks_and_writes_a_file(tmp_path: Path) -> None:
    """A sentence becomes a WAV of speech-like length and level, and the numbers are printed."""
    path = tmp_path / "hello.wav"
    done = run("say", "--demo", "Hello from the edge", "-o", str(path))
    assert done.returncode == 0, done.stderr
    for word in ("complete", "TTFA", "RTF", "buffer", "underruns 0"):
        assert word in done.stdout
    pcm, rate_hz = soundfile.read(path)
    assert rate_hz == 24_000
    assert 0.8 < len(pcm) / rate_hz < 4.0
    assert 0.01 < np.sqrt(np.mean(pcm**2)) < 0.5


def test_a_paragraph_is_read_from_a_pipe(tmp_path: Path) -> None:
    """Every line is spoken in order, without an underrun, into one file."""
    path = tmp_path / "paragraph.wav"
    lines = ["The first line is short.", "", "The second one is a little longer than the first.", "Done."]
    done = run("say", "--demo", "--no-play", "--json", "-o", str(path), "-", stdin="\n".join(lines))
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["text"] for r in reports] == [line for line in lines if line]
    assert all(r["outcome"] == "complete" and r["underruns"] == 0 for r in reports)
    total_s = sum(r["audio_s"] for r in reports)
    assert abs(soundfile.info(path).duration - total_s) < 0.001


def test_nothing_to_say_is_not_sent() -> None:
    """A text without a letter or a number ends well, with a gentle notice."""
    done = run("say", "--demo", "…")
    assert done.returncode == 0
    assert "nothing to say" in done.stderr


def test_no_server_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    """Whoever has no server is told where none was found, and how to hear something all the same."""
    done = run("say", "hello", "--server", "ws://127.0.0.1:9", "--checkpoint", "assets/demo_voice")
    assert done.returncode == 2
    assert done.stderr.count("\n") <= 2
    assert "cannot reach ws://127.0.0.1:9" in done.stderr
    assert "start the demo with --demo" in done.stderr


def test_a_newcomer_without_server_and_checkpoint_is_led_to_the_demo() -> None:
    """Nothing was named, nothing was fetched: the server is missed first, many times without an abort."""
    for _ in range(5):
        done = run("say", "hello", "--server", "ws://127.0.0.1:9")
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("nearfield: cannot reach ws://127.0.0.1:9")
        assert "start the demo with --demo" in done.stderr


def test_a_refusal_while_torch_is_imported_ends_without_an_abort(tmp_path: Path) -> None:
    """An interrupt in the first seconds finds the decode thread inside a library that cannot be ended."""
    for wait_s in (1.5, 2.5):
        with subprocess.Popen(
            [*NEARFIELD, "--no-gui", "--server", "ws://127.0.0.1:9", "--checkpoint", "assets/demo_voice"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            time.sleep(wait_s)
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
        assert "terminate" not in err


def test_a_file_is_not_touched_before_there_is_sound(tmp_path: Path) -> None:
    """A server that is not there costs nobody an older recording."""
    path = tmp_path / "keep.wav"
    path.write_bytes(b"precious")
    assert run("say", "hi", "-o", str(path), "--server", "ws://127.0.0.1:9").returncode == 2
    assert path.read_bytes() == b"precious"


def test_a_wrong_checkpoint_is_named(tmp_path: Path) -> None:
    """A folder without a checkpoint is an error that names it, not a trace."""
    done = run("say", "hello", "--checkpoint", str(tmp_path))
    assert done.returncode == 2
    assert str(tmp_path) in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_at_once_and_leaves_a_valid_file(tmp_path: Path) -> None:
    """Ctrl-C in mid-sentence: exit code 130 within seconds, and the sound so far can be opened."""
    path = tmp_path / "cut.wav"
    text = "This sentence is long enough to be interrupted in the middle, and then it is. " * 4
    with subprocess.Popen(
        [*NEARFIELD, "say", "--demo", text, "-o", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        deadline_s = time.monotonic() + PATIENCE_S
        while not (path.exists() and path.stat().st_size > 48_000):
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        interrupted_s = time.monotonic()
        out, err = process.communicate(timeout=PATIENCE_S)
        assert time.monotonic() - interrupted_s < 10
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "cancelled" in out
    assert 1.0 < soundfile.info(path).duration < 30
