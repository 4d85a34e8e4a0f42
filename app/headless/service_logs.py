"""Where log lines go: to a terminal with the time, to systemd's journal with a priority in its place."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from typing import TextIO

_LEVELS = (logging.ERROR, logging.INFO, logging.DEBUG)
_PRIORITIES = (
    (logging.CRITICAL, 2),
    (logging.ERROR, 3),
    (logging.WARNING, 4),
    (logging.INFO, 6),
)
_DEBUG_PRIORITY = 7
"""Of syslog, as sd-daemon(3) has them."""


class JournalFormatter(logging.Formatter):
    """``<3>name: message``: the journal knows the time, and takes the number for the line's priority.

    It takes each line for an entry of its own, so that every line of a trace has one.
    """

    def __init__(self) -> None:
        super().__init__("%(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Format ``record``, each of its lines with the priority in front."""
        prefix = f"<{priority(record.levelno)}>"
        return "\n".join(prefix + line for line in super().format(record).splitlines())


def priority(level: int) -> int:
    """Return syslog's number for a level of ``logging``."""
    return next((number for least, number in _PRIORITIES if level >= least), _DEBUG_PRIORITY)


def is_journal(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether ``stream`` leads into systemd's journal; a child may have been given another one."""
    device, _, inode = environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return (device, inode) == (str(found.st_dev), str(found.st_ino))


def set_up_logs(
    verbosity: int, stream: TextIO | None = None, environ: Mapping[str, str] = os.environ
) -> None:
    """Have log lines written to ``stream`` (``None``: standard error): errors, with 1 more, with 2 all.

    Does nothing if somebody has set them up before.
    """
    where = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(where)
    handler.setFormatter(
        JournalFormatter()
        if is_journal(where, environ)
        else logging.Formatter("%(asctime)s %(name)s: %(message)s")
    )
    logging.basicConfig(level=_LEVELS[min(verbosity, len(_LEVELS) - 1)], handlers=[handler])
