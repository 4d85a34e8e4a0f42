"""Log lines as the journal wants them, and as a terminal does."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.headless.service_logs import JournalFormatter, is_journal, priority


def record(level: int, text: str) -> logging.LogRecord:
    return logging.LogRecord("nearfield.audio", level, __file__, 1, text, None, None)


@pytest.mark.parametrize(
    ("level", "number"),
    [
        (logging.CRITICAL, 2),
        (logging.ERROR, 3),
        (logging.WARNING, 4),
        (logging.INFO, 6),
        (logging.DEBUG, 7),
        (5, 7),
        (35, 4),
    ],
)
def test_levels_become_priorities(level: int, number: int) -> None:
    assert priority(level) == number


def test_a_line_has_its_priority_and_no_time() -> None:
    assert JournalFormatter().format(record(logging.WARNING, "lost")) == "<4>nearfield.audio: lost"


def test_every_line_of_a_trace_has_one() -> None:
    """The journal takes each line for an entry of its own."""
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        failed = record(logging.ERROR, "it failed")
        failed.exc_info = sys.exc_info()
    lines = JournalFormatter().format(failed).splitlines()
    assert len(lines) > 3
    assert all(line.startswith("<3>") for line in lines)


def test_only_the_very_stream_that_the_environment_names_is_the_journal(tmp_path: Path) -> None:
    with (tmp_path / "a").open("w") as mine, (tmp_path / "b").open("w") as other:
        found = os.fstat(mine.fileno())
        environ = {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"}
        assert is_journal(mine, environ)
        assert not is_journal(other, environ)
        assert not is_journal(mine, {})
        assert not is_journal(mine, {"JOURNAL_STREAM": "nonsense"})


CODE = """
import logging, os, sys
from app.headless.service_logs import set_up_logs
found = os.fstat(2)
if sys.argv[1] == "journal":
    os.environ["JOURNAL_STREAM"] = f"{found.st_dev}:{found.st_ino}"
set_up_logs(int(sys.argv[2]))
logging.getLogger("nearfield.x").error("an error")
logging.getLogger("nearfield.x").info("a detail")
"""


def logged(where: str, verbosity: int) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE, where, str(verbosity)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stderr.splitlines()


def test_a_process_logs_to_the_journal_without_a_time() -> None:
    assert logged("journal", 1) == ["<3>nearfield.x: an error", "<6>nearfield.x: a detail"]


def test_a_process_logs_to_a_terminal_with_one() -> None:
    (line,) = logged("terminal", 0)
    assert line.endswith(" nearfield.x: an error")
    assert line[:4].isdecimal()
