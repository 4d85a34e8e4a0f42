from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.gui.logs import log_to_file


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root, hook = logging.getLogger(), sys.excepthook
    level, handlers = root.level, list(root.handlers)
    levels = [handler.level for handler in handlers]
    yield
    for handler in set(root.handlers) - set(handlers):
        handler.close()
    root.setLevel(level)
    root.handlers[:] = handlers
    for handler, before in zip(handlers, levels, strict=True):
        handler.setLevel(before)
    sys.excepthook = hook


def test_what_is_logged_is_in_the_file_and_not_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    terminal = logging.StreamHandler(sys.stderr)
    root.handlers[:] = [terminal]
    root.setLevel(logging.ERROR)
    log_to_file(tmp_path)
    logging.getLogger("nearfield.x").info("for the file")
    logging.getLogger("nearfield.x").error("for both")
    text = (tmp_path / "nearfield.log").read_text("utf-8")
    assert "for the file" in text
    assert "for both" in text
    err = capsys.readouterr().err
    assert "for the file" not in err
    assert "for both" in err


def test_the_file_starts_anew_before_it_grows_without_end(tmp_path: Path) -> None:
    log_to_file(tmp_path)
    for _ in range(60):
        logging.getLogger("nearfield.x").info("x" * 100_000)
    files = sorted(tmp_path.iterdir())
    assert 1 < len(files) <= 4
    assert all(file.stat().st_size < 1_200_000 for file in files)


def test_a_folder_that_cannot_be_written_costs_only_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert isinstance(log_to_file(tmp_path / "file" / "logs"), logging.NullHandler)


def test_what_nobody_caught_is_in_the_file(tmp_path: Path) -> None:
    log_to_file(tmp_path)
    try:
        raise ZeroDivisionError("in a slot")
    except ZeroDivisionError as error:
        sys.excepthook(ZeroDivisionError, error, error.__traceback__)
    assert "ZeroDivisionError: in a slot" in (tmp_path / "nearfield.log").read_text("utf-8")
