"""What the settings ask of the rest of the program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from app.config import Profile
from app.desktop.checkpoints import Checkpoint, Fetch, look_at
from app.desktop.connection_check import Finding, check_connection
from app.desktop.devices import ListDevices
from app.desktop.profiles import Profiles
from app.gui.tasks import Tasks


@dataclass(frozen=True)
class Services:
    """Handed to the dialog; what a test replaces."""

    tasks: Tasks
    profiles: Profiles
    list_devices: ListDevices
    log_folder: Path
    open_folder: Callable[[Path], object]
    """Shows a folder in the desktop's file manager."""
    test_connection: Callable[[Profile, str], Awaitable[Finding]] = check_connection
    """Given a profile that need not be saved, and its key."""
    look_at: Callable[[str], Awaitable[Checkpoint]] = look_at
    fetch: Fetch | None = None
    """``None``: from Hugging Face, or wherever ``HF_ENDPOINT`` says."""
    newer_version: Callable[[], str] = str
    """What is known to be newer than this program; nothing if nothing is."""
