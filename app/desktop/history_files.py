"""The history on disk: for each reading a WAV file, what was said in JSON beside it, and its peaks."""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import re
import secrets
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from app.desktop.player_state import Sentence
from app.errors import RecordingError
from decoder.wire.events import Outcome

log = logging.getLogger("nearfield.history")

_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{12}")
_SUFFIXES = (".wav", ".json", ".npy")
_TRASH = "trash"
_TITLE_CHARS = 80


@dataclass(frozen=True)
class Facts:
    """What the JSON beside a recording says."""

    text: str
    voice: str
    made_at: datetime.datetime
    """When it was begun, with its time zone."""
    rate_hz: int = 24_000
    ttfa_s: float | None = None
    outcome: Outcome | None = None
    """``None`` as long as it is being made: whoever finds that later knows that it was interrupted."""
    sentences: tuple[Sentence, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A past reading."""

    id: str
    """Unique and in the order of time."""
    text: str
    voice: str
    made_at: datetime.datetime
    """When it was begun, with its time zone."""
    duration_s: float
    ttfa_s: float | None
    outcome: Outcome | None
    """How it ended; ``None`` if the program ended before it did."""
    sentences: tuple[Sentence, ...]
    path: Path
    """Its WAV file."""
    rate_hz: int = 24_000
    size_bytes: int = 0
    """What it takes on the disk."""

    @property
    def title(self) -> str:
        """The first words of the text, in one line of 80 characters at most."""
        line = " ".join(self.text[: 4 * _TITLE_CHARS].split())
        if len(line) <= _TITLE_CHARS:
            return line
        cut = line.rfind(" ", _TITLE_CHARS // 2, _TITLE_CHARS)
        return f"{line[: cut if cut > 0 else _TITLE_CHARS - 1]}…"


def new_id(now: datetime.datetime) -> str:
    """Return an identifier that sorts by time, to the second, and serves as a file name."""
    return f"{now.astimezone(datetime.timezone.utc):%Y%m%d-%H%M%S}-{secrets.token_hex(6)}"


class HistoryFiles:
    """The files of one folder that belong to the history; no others are ever touched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def wav_path(self, entry_id: str) -> Path:
        """Return where the sound is."""
        return self.folder / f"{entry_id}.wav"

    def peaks_path(self, entry_id: str) -> Path:
        """Return where the peaks of the sound are kept."""
        return self.folder / f"{entry_id}.npy"

    def make_folder(self) -> None:
        """Make the folder, for its owner only: what one has read to oneself is nobody else's business.

        Raises RecordingError if that is not possible.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(
                f"the history cannot be kept in {self.folder}: {error.strerror or error}"
            ) from error

    def write_facts(self, entry_id: str, facts: Facts) -> None:
        """Write the JSON, whole or not at all. Raises RecordingError if the disk is full or read-only."""
        path = self.folder / f"{entry_id}.json"
        unfinished = path.with_suffix(".json.new")
        try:
            # Not synced to the disk: that may take the event loop's time, and only a power cut would lose it.
            unfinished.write_bytes(msgspec.json.encode(facts))
            unfinished.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise RecordingError(f"cannot write {path}: {error.strerror or error}") from error

    def load(self) -> list[Entry]:
        """Read what is there, oldest first; removes leftovers without sound, and empties the trash."""
        self.empty_trash()
        sizes = self._sizes()
        entries = []
        for entry_id in sorted({name.rpartition(".")[0] for name in sizes}):
            data_bytes = sizes.get(f"{entry_id}.wav", 0) - 44
            if data_bytes < 2:
                self.remove(entry_id)
                continue
            facts = self._facts(entry_id)
            if facts is not None:
                size_bytes = sum(sizes.get(entry_id + suffix, 0) for suffix in _SUFFIXES)
                entries.append(self.entry(entry_id, facts, data_bytes // 2, size_bytes))
        return sorted(entries, key=lambda e: (e.made_at, e.id))

    def entry(self, entry_id: str, facts: Facts, samples: int, size_bytes: int) -> Entry:
        """Put together what is known of a recording."""
        return Entry(
            id=entry_id,
            text=facts.text,
            voice=facts.voice,
            made_at=facts.made_at,
            duration_s=samples / facts.rate_hz,
            ttfa_s=facts.ttfa_s,
            outcome=facts.outcome,
            sentences=facts.sentences,
            path=self.wav_path(entry_id),
            rate_hz=facts.rate_hz,
            size_bytes=size_bytes,
        )

    def size_bytes(self, entry_id: str) -> int:
        """Return what the files of a recording take."""
        size_bytes = 0
        for path in self._paths(entry_id):
            with contextlib.suppress(FileNotFoundError):
                size_bytes += path.stat().st_size
        return size_bytes

    def remove(self, entry_id: str) -> None:
        """Delete the files of a recording. Raises RecordingError if that is not possible."""
        try:
            for path in self._paths(entry_id):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise RecordingError(f"cannot delete {error.filename}: {error.strerror or error}") from error

    def to_trash(self, entry_id: str) -> None:
        """Move the files of a recording out of sight. Raises RecordingError if that is not possible."""
        self._move(entry_id, self.folder, self.folder / _TRASH)

    def from_trash(self, entry_id: str) -> None:
        """Bring them back. Raises RecordingError if that is not possible."""
        self._move(entry_id, self.folder / _TRASH, self.folder)

    def empty_trash(self) -> None:
        """Delete what was moved there; what cannot be deleted stays, and that is logged."""
        trash = HistoryFiles(self.folder / _TRASH)
        for entry_id in {name.rpartition(".")[0] for name in trash._sizes()}:
            trash.drop(entry_id)

    def drop_from_trash(self, entry_id: str) -> None:
        """Delete one recording that was moved there, likewise."""
        HistoryFiles(self.folder / _TRASH).drop(entry_id)

    def drop(self, entry_id: str) -> None:
        """Delete the files of a recording if that is possible; a failure is logged."""
        try:
            self.remove(entry_id)
        except RecordingError as error:
            log.warning("%s", error)

    def _paths(self, entry_id: str) -> Iterator[Path]:
        return (self.folder / f"{entry_id}{suffix}" for suffix in _SUFFIXES)

    def _sizes(self) -> dict[str, int]:
        """Return the sizes of the history's files by name."""
        sizes = {}
        try:
            with os.scandir(self.folder) as found:
                for file in found:
                    stem, dot, suffix = file.name.partition(".")
                    if dot + suffix in _SUFFIXES and _ID.fullmatch(stem) and file.is_file():
                        sizes[file.name] = file.stat().st_size
        except FileNotFoundError:
            return {}
        except OSError as error:
            log.warning("the history in %s cannot be read: %s", self.folder, error)
        return sizes

    def _facts(self, entry_id: str) -> Facts | None:
        """Read the JSON; where there is none, say what the WAV says. ``None`` if that is no WAV file."""
        try:
            return msgspec.json.decode((self.folder / f"{entry_id}.json").read_bytes(), type=Facts)
        except FileNotFoundError:
            pass
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("what belongs to the recording %s cannot be read: %s", entry_id, error)
        try:
            with self.wav_path(entry_id).open("rb") as file:
                riff, wave, rate_hz = struct.unpack("<4s4x4s12xI", file.read(28))
        except (OSError, struct.error):
            return None
        if (riff, wave) != (b"RIFF", b"WAVE") or not rate_hz:
            return None
        made_at = datetime.datetime.strptime(entry_id[:15], "%Y%m%d-%H%M%S")
        return Facts("", "", made_at.replace(tzinfo=datetime.timezone.utc), rate_hz)

    def _move(self, entry_id: str, source: Path, target: Path) -> None:
        try:
            target.mkdir(mode=0o700, exist_ok=True)
            for path in HistoryFiles(source)._paths(entry_id):  # the sound first: without it there is nothing
                with contextlib.suppress(FileNotFoundError):
                    path.replace(target / path.name)
        except OSError as error:
            raise RecordingError(f"cannot move {entry_id} to {target}: {error.strerror or error}") from error
