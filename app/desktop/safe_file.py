"""Small files that are whole at every moment: replaced at once, or left as they were."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from itertools import count
from pathlib import Path

PRIVATE = 0o600
"""Only the person may read it."""


def replace_text(path: Path, text: str, mode: int = PRIVATE) -> None:
    """Write ``text`` to ``path``, so that a crash at any moment leaves the old content or the new.

    The folder is made if there is none. A link is followed: what it points to is replaced. A file that was
    made read-only stays as it is. Raises OSError, and then nothing has changed.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is read-only", str(target))
    # In the same folder: only within a file system can a file take another's place at once.
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)  # mkstemp made it private
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def free_name(path: Path, what: str) -> Path:
    """Return the first of ``NAME.WHAT-1``, ``NAME.WHAT-2``, … beside ``path`` that nothing has."""
    names = (path.with_name(f"{path.name}.{what}-{number}") for number in count(1))
    return next(name for name in names if not os.path.lexists(name))


def _sync_folder(folder: Path) -> None:
    """Have the new name survive a power cut, where the system can do that."""
    with contextlib.suppress(OSError):  # Windows opens no folders, some network file systems sync none
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
