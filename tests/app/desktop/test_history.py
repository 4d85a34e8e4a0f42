from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from app.audio.wav import WavWriter
from app.desktop.history import History
from app.desktop.history_files import Entry
from app.desktop.player_state import Sentence
from app.errors import RecordingError
from decoder.wire.events import Outcome

PLENTY = 10**9


class Clock:
    """A minute goes by between two looks."""

    def __init__(self) -> None:
        self.now = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)

    def __call__(self) -> datetime.datetime:
        self.now += datetime.timedelta(minutes=1)
        return self.now


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "history"


@pytest.fixture
def history(folder: Path) -> History:
    return History(folder, PLENTY, clock=Clock())


def sound(samples: int = 2400) -> np.ndarray:
    return np.sin(np.arange(samples) / 10).astype(np.float32) * 0.5


def make(history: History, text: str = "Hello there.", voice: str = "vivian", samples: int = 2400) -> str:
    recording = history.begin(text, voice)
    recording.write(sound(samples))
    recording.finish(0.3, Outcome.COMPLETE, [Sentence(0, len(text), 0.0)])
    recording.close()
    return recording.id


def texts(history: History, search: str = "") -> list[str]:
    return [e.text for e in history.entries(search)]


def files(folder: Path) -> set[str]:
    return {p.name for p in folder.rglob("*") if p.is_file()}


def test_a_finished_reading_is_an_entry(history: History, folder: Path) -> None:
    entry_id = make(history, "Hello there.")
    (entry,) = history.entries()
    assert entry == history.find(entry_id)
    assert (entry.text, entry.voice, entry.duration_s, entry.ttfa_s) == ("Hello there.", "vivian", 0.1, 0.3)
    assert entry.outcome is Outcome.COMPLETE
    assert entry.sentences == (Sentence(0, 12, 0.0),)
    assert entry.made_at.utcoffset() == datetime.timedelta(0)
    assert entry.size_bytes == sum((folder / name).stat().st_size for name in files(folder))


def test_newest_comes_first(history: History) -> None:
    for text in ("one", "two", "three"):
        make(history, text)
    assert texts(history) == ["three", "two", "one"]


def test_everything_survives_a_restart(history: History, folder: Path) -> None:
    for text in ("one", "two 你好 🎉", "three"):
        make(history, text)
    assert History(folder, PLENTY).entries() == history.entries()


def test_what_is_being_recorded_is_no_entry_yet(history: History) -> None:
    recording = history.begin("one", "vivian")
    recording.write(sound())
    assert history.entries() == []
    recording.finish(None, Outcome.CANCELLED)
    assert [e.outcome for e in history.entries()] == [Outcome.CANCELLED]
    recording.close()


def test_a_reading_without_a_sample_leaves_nothing(history: History, folder: Path) -> None:
    recording = history.begin("one", "vivian")
    recording.finish(None, Outcome.FAILED)
    recording.close()
    assert history.entries() == []
    assert files(folder) == set()


def test_two_readings_may_overlap(history: History) -> None:
    first = history.begin("first", "vivian")
    second = history.begin("second", "vivian")
    for recording in (first, second):
        recording.write(sound())
    second.finish(None, Outcome.COMPLETE)
    first.finish(None, Outcome.CANCELLED)
    assert texts(history) == ["second", "first"]
    first.close()
    second.close()


_RECORDS_FOR_EVER = """
import sys, pathlib, numpy as np
from app.desktop.history import History
recording = History(pathlib.Path(sys.argv[1]), 10**9).begin("Never to be finished.", "vivian")
while True:
    recording.write(np.full(1920, 0.25, np.float32))
    print(recording.samples, flush=True)
"""


def test_h1_killed_in_mid_reading_it_is_found_at_the_next_start(folder: Path) -> None:
    command = [sys.executable, "-c", _RECORDS_FOR_EVER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as killed:
        assert killed.stdout
        lines = [killed.stdout.readline() for _ in range(50)]
        killed.kill()
        lines += killed.stdout.readlines()
    written = max(int(line) for line in lines if line.endswith(b"\n"))
    history = History(folder, PLENTY)
    (entry,) = history.entries()
    assert (entry.text, entry.outcome) == ("Never to be finished.", None)
    opened = history.open(entry.id)
    assert opened.samples >= written
    assert (opened.read(0, opened.samples) == 8192).all()
    assert len(opened.peaks()) == -(-opened.samples // 480)
    opened.close()


@pytest.mark.parametrize("content", [None, b"{ broken", b"", b"[]", b'{"text": "\xff"}'])
def test_a_wav_without_its_json_is_an_entry_without_text(
    history: History, folder: Path, content: bytes | None
) -> None:
    entry_id = make(history)
    path = folder / f"{entry_id}.json"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    (entry,) = History(folder, PLENTY).entries()
    assert (entry.id, entry.text, entry.duration_s, entry.outcome) == (entry_id, "", 0.1, None)
    assert entry.made_at == history.entries()[0].made_at


def test_what_is_not_ours_is_left_alone(history: History, folder: Path) -> None:
    entry_id = make(history)
    for name in ("notes.json", "song.wav", "20260102-030405-aaaaaaaaaaaa.txt"):
        (folder / name).write_text("mine")
    (folder / "20260102-030405-bbbbbbbbbbbb.wav").write_text("no sound, whatever its name says " * 9)
    again = History(folder, PLENTY)
    assert [e.id for e in again.entries()] == [entry_id]
    again.clear()
    assert files(folder) == {
        "notes.json",
        "song.wav",
        "20260102-030405-aaaaaaaaaaaa.txt",
        "20260102-030405-bbbbbbbbbbbb.wav",
    }


def test_keys_that_a_later_version_adds_are_no_harm(history: History, folder: Path) -> None:
    entry_id = make(history)
    path = folder / f"{entry_id}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"mood": "cheerful"}))
    assert texts(History(folder, PLENTY)) == ["Hello there."]


def test_leftovers_without_sound_are_removed(history: History, folder: Path) -> None:
    entry_id = make(history)
    (folder / f"{entry_id}.wav").unlink()
    assert History(folder, PLENTY).entries() == []
    assert files(folder) == set()


# -- bounds -------------------------------------------------------------------------------------------------


def test_the_oldest_go_first(folder: Path) -> None:
    history = History(folder, 3 * 5500, clock=Clock())
    for text in ("one", "two", "three", "four"):
        make(history, text)
    assert texts(history) == ["four", "three", "two"]
    assert history.size_bytes <= 3 * 5500
    assert texts(History(folder, PLENTY)) == ["four", "three", "two"]


def test_the_newest_stays_even_if_it_alone_is_too_large(folder: Path) -> None:
    history = History(folder, 100, clock=Clock())
    make(history, "one")
    make(history, "two")
    assert texts(history) == ["two"]


def test_what_is_being_recorded_is_never_pruned(folder: Path) -> None:
    history = History(folder, 100, clock=Clock())
    recording = history.begin("long", "vivian")
    recording.write(sound())
    make(history, "short")
    make(history, "shorter")
    recording.write(sound())
    assert len(recording.read(0, 9999)) == 4800
    assert recording.path.exists()
    recording.close()


def test_a_smaller_bound_counts_at_once(history: History) -> None:
    for text in ("one", "two", "three"):
        make(history, text)
    changes: list[None] = []
    history.subscribe(lambda: changes.append(None))
    history.most_bytes = 6000
    assert texts(history) == ["three"]
    assert len(changes) == 1


def test_the_bound_counts_when_the_folder_is_read(history: History, folder: Path) -> None:
    for text in ("one", "two", "three"):
        make(history, text)
    assert texts(History(folder, 6000)) == ["three"]


# -- search -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", ["straße", "STRASSE", "  die  STRASSE ", "Ａ１", "vivian a1", ""])
def test_search_minds_neither_case_nor_width(history: History, search: str) -> None:
    make(history, "Die Straße, A1")
    assert texts(history, search) == ["Die Straße, A1"]


def test_every_word_has_to_be_there(history: History) -> None:
    make(history, "The cat sat.")
    make(history, "The dog ran.")
    assert texts(history, "the cat") == ["The cat sat."]
    assert texts(history, "cat dog") == []
    assert texts(history, "你好") == []


def test_thousands_of_entries_are_read_and_searched_at_once(history: History, folder: Path) -> None:
    entry_id = make(history, "number 0 of many words " * 10)
    facts = (folder / f"{entry_id}.json").read_bytes()
    data = (folder / f"{entry_id}.wav").read_bytes()
    for number in range(1, 3000):
        stem = folder / f"20250102-030405-{number:012x}"
        stem.with_suffix(".wav").write_bytes(data)
        stem.with_suffix(".json").write_bytes(facts.replace(b"number 0 ", f"number {number} ".encode()))
    many = History(folder, PLENTY)
    started_s = time.perf_counter()
    assert len(many.entries()) == 3000
    loaded_s = time.perf_counter()
    assert len(many.entries("NUMBER 299")) == 13  # 299, 1299, 2299, 2990 to 2999
    searched_s = time.perf_counter()
    assert loaded_s - started_s < 3  # 0.15 s on a quiet machine
    assert searched_s - loaded_s < 0.1


# -- opening and saving -------------------------------------------------------------------------------------


def test_an_entry_is_opened_for_replay(history: History) -> None:
    entry_id = make(history, samples=5000)
    opened = history.open(entry_id)
    assert (opened.id, opened.samples, opened.rate_hz) == (entry_id, 5000, 24_000)
    assert (opened.read(0, 5000) == np.rint(sound(5000) * 32768)).all()
    opened.close()


def test_unknown_entries_cannot_be_opened(history: History, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no longer"):
        history.open("20260102-030405-aaaaaaaaaaaa")
    with pytest.raises(RecordingError, match="no longer"):
        history.export("20260102-030405-aaaaaaaaaaaa", tmp_path / "a.wav")


def test_an_entry_that_plays_plays_on_when_it_is_deleted_or_cleared(history: History) -> None:
    first, second = make(history), make(history)
    opened, cleared = history.open(first), history.open(second)
    history.delete(first)
    history.clear()
    assert len(opened.read(0, 2400)) == len(cleared.read(0, 2400)) == 2400
    opened.close()
    cleared.close()


def test_what_is_being_recorded_can_be_saved_too(history: History, tmp_path: Path) -> None:
    recording = history.begin("one", "vivian")
    recording.write(sound(1000))
    history.export(recording.id, tmp_path / "a.wav")
    assert (tmp_path / "a.wav").stat().st_size == 44 + 2000
    recording.close()


# -- not kept -----------------------------------------------------------------------------------------------


def test_with_history_off_a_recording_can_be_used_and_leaves_no_trace(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    history = History(folder, PLENTY, keep=False)
    recording = history.begin("secret", "vivian")
    recording.write(sound())
    assert len(recording.read(0, 100)) == 100
    recording.finish(None, Outcome.COMPLETE)
    assert len(recording.read(0, 100)) == 100
    history.export(recording.id, tmp_path / "a.wav")
    assert history.entries() == []
    assert not folder.exists()
    following = history.begin("next", "vivian")
    with pytest.raises(RecordingError, match="closed"):
        recording.read(0, 100)
    following.write(sound())
    history.close()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_keeping_can_be_switched(history: History) -> None:
    make(history, "one")
    history.keep = False
    make(history, "two")
    history.keep = True
    make(history, "three")
    assert texts(history) == ["three", "one"]


def test_h5_a_folder_that_cannot_be_made_is_an_error_and_speaking_goes_on_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    history = History(tmp_path / "file" / "history", PLENTY)
    with pytest.raises(RecordingError, match="cannot be kept in"):
        history.begin("one", "vivian")
    assert history.entries() == []
    recording = history.begin("one", "vivian", kept=False)
    recording.write(sound())
    assert recording.samples == 2400
    history.close()


def test_the_folder_is_its_owners_only(history: History, folder: Path) -> None:
    make(history)
    assert os.stat(folder).st_mode & 0o077 == 0


# -- removing -----------------------------------------------------------------------------------------------


def test_a_deleted_entry_comes_back_whole(history: History, folder: Path) -> None:
    for text in ("one", "two", "three"):
        make(history, text)
    before, before_files = history.entries(), files(folder)
    history.delete(before[1].id)
    assert texts(history) == ["three", "one"]
    assert history.can_undo
    assert history.undo_delete() == before[1]
    assert (history.entries(), files(folder)) == (before, before_files)
    assert not history.can_undo
    assert history.undo_delete() is None
    assert texts(history, "TWO") == ["two"]


def test_deletions_are_undone_last_first(history: History) -> None:
    ids = [make(history, text) for text in ("one", "two", "three")]
    for entry_id in ids:
        history.delete(entry_id)
    assert history.entries() == []
    assert [entry.text for entry in (history.undo_delete(), history.undo_delete()) if entry] == [
        "three",
        "two",
    ]


def test_the_next_start_empties_the_trash(history: History, folder: Path) -> None:
    history.delete(make(history, "one"))
    assert files(folder) != set()
    again = History(folder, PLENTY)
    assert again.entries() == []
    assert files(folder) == set()
    assert not again.can_undo


def test_only_so_many_deletions_are_kept(history: History, folder: Path) -> None:
    for number in range(25):
        history.delete(make(history, str(number)))
    assert len([name for name in files(folder) if name.endswith(".wav")]) == 20
    undone: list[Entry] = []
    while (entry := history.undo_delete()) is not None:
        undone.append(entry)
    assert [e.text for e in undone] == [str(n) for n in range(24, 4, -1)]


def test_deleting_what_is_not_there_is_fine(history: History) -> None:
    history.delete("20260102-030405-aaaaaaaaaaaa")
    assert not history.can_undo


def test_clear_is_for_good(history: History, folder: Path) -> None:
    for text in ("one", "two", "three"):
        make(history, text)
    history.delete(history.entries()[0].id)
    history.clear()
    assert history.entries() == []
    assert files(folder) == set()
    assert not history.can_undo


def test_clear_leaves_what_is_being_recorded(history: History) -> None:
    make(history, "one")
    recording = history.begin("two", "vivian")
    recording.write(sound())
    history.clear()
    recording.write(sound())
    recording.finish(None, Outcome.COMPLETE)
    assert texts(history) == ["two"]
    recording.close()


def test_listeners_hear_of_changes_until_they_leave(history: History) -> None:
    seen: list[list[str]] = []
    leave = history.subscribe(lambda: seen.append(texts(history)))
    entry_id = make(history, "one")
    history.delete(entry_id)
    history.undo_delete()
    history.clear()
    leave()
    make(history, "two")
    assert seen == [["one"], [], ["one"], []]


# -- entries ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Short.", "Short."),
        ("", ""),
        (" two\n\nlines\tof it ", "two lines of it"),
        ("word " * 40, ("word " * 16)[:79].rstrip()[:79] + "…"),
        ("字" * 200, "字" * 79 + "…"),
    ],
)
def test_title_is_one_line(history: History, text: str, title: str) -> None:
    make(history, text)
    assert history.entries()[0].title == title
    assert len(title) <= 80


def test_wav_files_are_those_of_the_entries(history: History) -> None:
    make(history)
    (entry,) = history.entries()
    with WavWriter(entry.path.with_name("other.wav")) as wav:
        wav.write(sound())
    assert entry.path.read_bytes() == entry.path.with_name("other.wav").read_bytes()
