"""Past readings with their sound: kept within bounds, found again, undone, exported."""

from __future__ import annotations

import contextlib
import datetime
import logging
import tempfile
import unicodedata
from collections import deque
from collections.abc import Callable
from pathlib import Path

from app.desktop.history_files import Entry, Facts, HistoryFiles, new_id
from app.desktop.listeners import Listeners
from app.desktop.peaks import save_peaks
from app.desktop.player_state import Sentence
from app.desktop.recording import Recording, StoredSound
from app.errors import RecordingError
from decoder.wire.events import Outcome

log = logging.getLogger("nearfield.history")

__all__ = ["Entry", "History"]

_MOST_UNDONE = 20
"""Deleted entries that can still be brought back; older ones leave the disk."""


class History:
    """Owns the recordings of a folder; used in the event loop's thread, but for `export`.

    The folder is read on first use. Whoever lets the program be killed finds what was recorded at the next
    start, as an entry without an outcome.
    """

    def __init__(
        self,
        folder: Path,
        most_bytes: int,
        *,
        keep: bool = True,
        clock: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.timezone.utc),
    ) -> None:
        """Entries beyond ``most_bytes`` go, the oldest first; the newest may be larger than that.

        Args:
            folder: where the files are; made when something is kept in it.
            most_bytes: bound of all files together, what is being recorded not counted.
            keep: whether recordings become entries; if not, each is gone when the next one begins.
            clock: what time it is.

        """
        self.keep = keep
        self._files = HistoryFiles(folder)
        self._most_bytes = most_bytes
        self._clock = clock
        self._entries: dict[str, Entry] | None = None
        self._folded: dict[str, str] = {}
        """The texts as `entries` searches them."""
        self._deleted: deque[Entry] = deque()
        self._facts: dict[str, Facts] = {}
        """What is being recorded."""
        self._latest: Recording | None = None
        self._unkept: Recording | None = None
        """The latest, if it is not to become an entry."""
        self._listeners: Listeners[[]] = Listeners("the history")

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._files.folder

    @property
    def most_bytes(self) -> int:
        """Bound of all files together."""
        return self._most_bytes

    @most_bytes.setter
    def most_bytes(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        if self._prune():
            self._listeners.tell()

    @property
    def size_bytes(self) -> int:
        """What all entries take on the disk."""
        return sum(e.size_bytes for e in self._known().values())

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have ``listener`` called after each change; returns what ends that."""
        return self._listeners.add(listener)

    # -- recording --------------------------------------------------------------------------------------

    def begin(self, text: str, voice: str, *, rate_hz: int = 24_000, kept: bool = True) -> Recording:
        """Make a recording of ``text``; its ``finish`` makes it an entry, if it has a sample by then.

        With ``kept=False``, or while ``keep`` is off, it is a file without a name in a temporary folder.

        Raises:
            RecordingError: the folder cannot be written to. Without a recording nobody can seek:
                tell the user once, then try ``kept=False``.

        """
        self._drop_unkept()
        now = self._clock()
        entry_id = new_id(now)
        if kept and self.keep:
            self._known()
            recording = self._begin_kept(entry_id, Facts(text, voice, now, rate_hz))
        else:
            recording = self._begin_unkept(entry_id, rate_hz)
        self._latest = recording
        return recording

    def close(self) -> None:
        """Let go of what was not to be kept; the rest is on the disk already."""
        self._drop_unkept()

    def _begin_kept(self, entry_id: str, facts: Facts) -> Recording:
        self._files.make_folder()
        path = self._files.wav_path(entry_id)
        recording = Recording(path, id=entry_id, rate_hz=facts.rate_hz, on_finish=self._on_finish)
        try:
            self._files.write_facts(entry_id, facts)
        except RecordingError:
            recording.close()
            raise
        self._facts[entry_id] = facts
        return recording

    def _begin_unkept(self, entry_id: str, rate_hz: int) -> Recording:
        path = Path(tempfile.gettempdir()) / f"nearfield-{entry_id}.wav"
        recording = Recording(path, id=entry_id, rate_hz=rate_hz, on_finish=lambda *_: None)
        # Its descriptors do not need the name, and without one it is gone however the process ends.
        # (Windows lets nobody delete an open file: there it goes with the next one.)
        with contextlib.suppress(OSError):
            path.unlink()
        self._unkept = recording
        return recording

    def _drop_unkept(self) -> None:
        if self._unkept is not None:
            self._unkept.close()
            with contextlib.suppress(OSError):
                self._unkept.path.unlink(missing_ok=True)
            self._unkept = self._latest = None

    def _on_finish(
        self, recording: Recording, ttfa_s: float | None, outcome: Outcome, sentences: tuple[Sentence, ...]
    ) -> None:
        begun = self._facts.pop(recording.id)
        if not recording.samples:
            self._files.drop(recording.id)
            return
        facts = Facts(
            begun.text, begun.voice, begun.made_at, begun.rate_hz, ttfa_s, outcome, tuple(sentences)
        )
        save_peaks(self._files.peaks_path(recording.id), recording.peaks())
        try:
            self._files.write_facts(recording.id, facts)
        except RecordingError as error:
            # What `begin` wrote is still there: after a restart it looks like an interrupted one.
            log.warning("%s", error)
        self._put(
            self._files.entry(recording.id, facts, recording.samples, self._files.size_bytes(recording.id))
        )
        self._prune()
        self._listeners.tell()

    # -- looking ----------------------------------------------------------------------------------------

    def entries(self, search: str = "") -> list[Entry]:
        """Return the entries, newest first: those whose text or voice has every word of ``search``.

        Neither case nor the width of characters matters.
        """
        newest_first = reversed(self._known().values())
        words = _folded(search).split()
        if not words:
            return list(newest_first)
        return [e for e in newest_first if all(word in self._folded[e.id] for word in words)]

    def find(self, entry_id: str) -> Entry | None:
        """Return one entry, if it is still there."""
        return self._known().get(entry_id)

    def open(self, entry_id: str) -> StoredSound:
        """Open the sound of an entry; the caller closes it. Raises RecordingError if it is not there."""
        entry = self.find(entry_id)
        if entry is None:
            raise RecordingError("this recording is no longer in the history")
        return StoredSound(
            entry.path, id=entry.id, rate_hz=entry.rate_hz, peaks_path=self._files.peaks_path(entry.id)
        )

    def export(self, entry_id: str, path: Path) -> None:
        """Save the sound of an entry, or of the latest recording, as the suffix of ``path`` says.

        May be called in any thread, since it may take seconds.

        Raises:
            RecordingError: unknown suffix, no such entry, or the file cannot be written.

        """
        from app.desktop.export import export

        latest, entry = self._latest, self.find(entry_id)
        title = entry.title if entry is not None else ""
        if latest is not None and latest.id == entry_id:
            export(latest, path, title)
            return
        with contextlib.closing(self.open(entry_id)) as sound:
            export(sound, path, title)

    # -- removing ---------------------------------------------------------------------------------------

    @property
    def can_undo(self) -> bool:
        """Whether there is a deletion that `undo_delete` would take back."""
        return bool(self._deleted)

    def delete(self, entry_id: str) -> None:
        """Take an entry out; `undo_delete` brings it back. Unknown ones are fine.

        Raises RecordingError if its files cannot be moved.
        """
        entry = self.find(entry_id)
        if entry is None:
            return
        self._files.to_trash(entry_id)
        self._forget(entry_id)
        self._deleted.append(entry)
        if len(self._deleted) > _MOST_UNDONE:
            self._files.drop_from_trash(self._deleted.popleft().id)
        self._listeners.tell()

    def undo_delete(self) -> Entry | None:
        """Bring the entry back that was deleted last; ``None`` if there is none.

        Raises RecordingError if its files cannot be moved.
        """
        if not self._deleted:
            return None
        entry = self._deleted[-1]
        self._files.from_trash(entry.id)
        self._deleted.pop()
        self._put(entry)
        self._listeners.tell()
        return entry

    def clear(self) -> None:
        """Delete all entries and their files for good, those deleted before too.

        What is being recorded stays. Raises RecordingError if a file cannot be deleted; the others are.
        """
        failed: RecordingError | None = None
        for entry_id in list(self._known()):
            try:
                self._files.remove(entry_id)
            except RecordingError as error:
                failed = error
            else:
                self._forget(entry_id)
        self._deleted.clear()
        self._files.empty_trash()
        self._listeners.tell()
        if failed is not None:
            raise failed

    # -- inside -----------------------------------------------------------------------------------------

    def _known(self) -> dict[str, Entry]:
        """Return the entries, oldest first."""
        if self._entries is None:
            self._entries = {e.id: e for e in self._files.load()}
            self._folded = {e.id: _searched(e) for e in self._entries.values()}
            self._prune()
        return self._entries

    def _put(self, entry: Entry) -> None:
        entries = [*self._known().values(), entry]
        self._entries = {e.id: e for e in sorted(entries, key=lambda e: (e.made_at, e.id))}
        self._folded[entry.id] = _searched(entry)

    def _forget(self, entry_id: str) -> None:
        del self._known()[entry_id]
        del self._folded[entry_id]

    def _prune(self) -> bool:
        """Delete the oldest entries until the rest fits; whether any went."""
        entries = list(self._known().values())
        too_many_bytes = sum(e.size_bytes for e in entries) - self._most_bytes
        pruned = False
        for entry in entries[:-1]:
            if too_many_bytes <= 0:
                break
            self._files.drop(entry.id)
            self._forget(entry.id)
            too_many_bytes -= entry.size_bytes
            pruned = True
        return pruned


def _searched(entry: Entry) -> str:
    """Return what of an entry is searched."""
    return _folded(f"{entry.text}\n{entry.voice}")


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
