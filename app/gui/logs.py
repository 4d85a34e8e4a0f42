"""The log of the window: a file that starts anew when it is full, for nobody watches a terminal."""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

import platformdirs

_BYTES = 1_000_000
_KEPT = 3
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_folder() -> Path:
    """Return where the window's log files are."""
    return platformdirs.user_log_path("nearfield", appauthor=False)


def log_to_file(folder: Path | None = None, *, verbose: int = 0) -> logging.Handler:
    """Write what is logged to ``nearfield.log``, beside what goes to the terminal; returns the handler.

    A folder that cannot be written costs the file, not the window.
    """
    folder = folder or log_folder()
    handler: logging.Handler
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(
            folder / "nearfield.log", maxBytes=_BYTES, backupCount=_KEPT, encoding="utf-8", delay=True
        )
    except OSError as error:
        logging.getLogger("nearfield.gui").warning("no log file: %s", error)
        return logging.NullHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    handler.setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
    root = logging.getLogger()
    for other in root.handlers:
        # The terminal keeps the level it was given; the file is told more.
        other.setLevel(max(other.level, root.level))
    root.setLevel(min(root.level, handler.level))
    root.addHandler(handler)
    for chatty in ("asyncio", "qasync", "websockets"):
        logging.getLogger(chatty).setLevel(max(logging.getLogger(chatty).level, logging.WARNING))
    sys.excepthook = _log_what_was_not_caught
    return handler


def _log_what_was_not_caught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    logging.getLogger("nearfield.gui").critical("not caught", exc_info=(kind, error, trace))
