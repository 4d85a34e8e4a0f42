from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from app.config import Config
from app.desk.request import Interrupt, Request
from app.errors import BadField, ConfigError
from app.headless.watched_folder import WatchedFolder, request_of
from tests.helpers.fake_desk import FakeDesk
from tests.helpers.hand_time import HandTime
from tests.helpers.waiting import eventually


class Looks(HandTime):
    """Time that also counts how often somebody went to sleep."""

    looks = 0

    async def sleep(self, seconds: float) -> None:
        self.looks += 1
        await super().sleep(seconds)

    @property
    def is_slept_on(self) -> bool:
        return any(not wake.done() for _, wake in self._sleepers)


@dataclass
class Rig:
    folder: Path
    desk: FakeDesk
    time: Looks
    said: list[str] = field(default_factory=list)
    running: asyncio.Future[None] = field(init=False)

    async def look(self, times: int = 1) -> None:
        """Have the folder looked at, from beginning to end."""
        for _ in range(times):
            before = self.time.looks
            await self.time.advance(0.5)
            await eventually(lambda before=before: self.time.looks > before)

    def names(self, of: str = ".") -> list[str]:
        return sorted(p.name for p in (self.folder / of).iterdir() if p.is_file())


@asynccontextmanager
async def rig(folder: Path, desk: FakeDesk | None = None) -> AsyncIterator[Rig]:
    made = Rig(folder, desk or FakeDesk(at_once=False), Looks())
    watched = WatchedFolder(made.desk, folder, made.said.append, sleep=made.time.sleep)  # type: ignore[arg-type]
    made.running = running = asyncio.create_task(watched.run())
    try:
        await eventually(lambda: made.time.is_slept_on, what="the first look")
        yield made
    finally:
        running.cancel()
        await asyncio.wait({running})
        if not running.cancelled():
            running.result()


async def test_a_file_is_read_once_when_it_is_complete_and_put_aside(tmp_path: Path) -> None:
    async with rig(tmp_path / "in") as r:
        path = r.folder / "one.txt"
        path.write_text("Half a ")
        await r.look(2)
        path.write_text("Half a sentence is whole now.")
        await r.look(2)
        assert r.desk.texts == [], "it has just been changed"
        await r.look()
        assert r.desk.texts == ["Half a sentence is whole now."]
        await r.look(3)
        assert len(r.desk.texts) == 1
        assert (r.names(), r.names("done")) == ([], ["one.txt"])
    assert r.desk.requests[0].request.source == "folder"


async def test_files_are_read_the_oldest_first_and_equal_names_do_not_collide(tmp_path: Path) -> None:
    import os

    async with rig(tmp_path) as r:
        for name, text, age in (("b.txt", "First.", 20), ("a.txt", "Second.", 10)):
            (tmp_path / name).write_text(text)
            os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
        await r.look(4)
        assert r.desk.texts == ["First.", "Second."]
        (tmp_path / "a.txt").write_text("Third.")
        await r.look(4)
        assert r.desk.texts[-1] == "Third."
        assert r.names("done") == ["a-2.txt", "a.txt", "b.txt"]


async def test_what_is_unfinished_hidden_or_a_folder_is_left_alone(tmp_path: Path) -> None:
    async with rig(tmp_path) as r:
        for name in (".hidden", "x.part", "x.tmp", "x~"):
            (tmp_path / name).write_text("No.")
        (tmp_path / "folder.txt").mkdir()
        await r.look(4)
        assert r.desk.texts == []
        (tmp_path / "x.part").rename(tmp_path / "x.txt")
        await r.look(4)
        assert r.desk.texts == ["No."]


async def test_json_brings_all_fields(tmp_path: Path) -> None:
    async with rig(tmp_path) as r:
        body = {"text": "Hi.", "id": "x", "priority": 3, "interrupt": "now", "ttl_s": 5, "voice": "vivian"}
        (tmp_path / "one.json").write_text(json.dumps(body))
        await r.look(4)
        taken = r.desk.requests[0].request
    assert taken == Request("Hi.", "x", "vivian", None, None, 3, Interrupt.NOW, 5.0, "folder")


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.json", b'{"text": "Hi.", "loud": true}', "loud"),
        ("a.json", b"{", "not JSON"),
        ("a.json", b'{"text": 5}', "text"),
        ("a.json", b'{"text": "Hi.", "priority": 5000}', "priority"),
        ("a.txt", b"\0\1\2", "no text"),
        ("a.txt", b"...", "nothing to say"),
        ("a.txt", b"x" * 3000, "larger"),
    ],
)
async def test_what_cannot_be_spoken_is_told_and_put_aside(
    tmp_path: Path, name: str, data: bytes, why: str
) -> None:
    config = Config()
    config = replace(config, kiosk=replace(config.kiosk, request_bytes=2000))
    async with rig(tmp_path, FakeDesk(config, at_once=False)) as r:
        (tmp_path / name).write_bytes(data)
        (tmp_path / "good.txt").write_text("Good.")
        await r.look(5)
        assert r.desk.texts == ["Good."]
        assert len(r.said) == 1
        assert name in r.said[0]
        assert why in r.said[0]
        assert (r.names(), r.names("failed"), r.names("done")) == ([], [name], ["good.txt"])


async def test_a_full_queue_is_waited_for(tmp_path: Path) -> None:
    config = Config()
    config = replace(config, kiosk=replace(config.kiosk, queue_limit=1))
    async with rig(tmp_path, FakeDesk(config, at_once=False)) as r:
        for name in "ab":
            (tmp_path / f"{name}.txt").write_text(f"Text {name}.")
        await r.time.advance(0.5)
        for _ in range(3):
            await eventually(lambda: r.time.is_slept_on or r.desk.texts)
            await r.time.advance(0.5)
        await eventually(lambda: len(r.desk.texts) == 1)
        r.desk.speak_next()
        await eventually(lambda: len(r.desk.texts) == 2)


async def test_a_folder_that_goes_away_is_told_once_and_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    async with rig(folder) as r:
        await r.look()
        folder.rmdir()
        await r.look(4)
        assert len(r.said) == 1
        assert "cannot be read" in r.said[0]
        folder.mkdir()
        (folder / "a.txt").write_text("Back.")
        await r.look(4)
        assert r.desk.texts == ["Back."]


async def test_a_closing_desk_ends_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as r:
        (tmp_path / "a.txt").write_text("Late.")
        await r.look(2)
        await r.desk.aclose(0.0)
        await r.time.advance(0.5)
        await eventually(r.running.done)
        assert r.desk.texts == []
        assert r.names() == ["a.txt"], "it is for the next kiosk"


def test_a_place_where_no_folder_can_be_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match=r"kiosk\.watch_folder"):
        WatchedFolder(FakeDesk(), tmp_path / "file" / "in", print)  # type: ignore[arg-type]


def test_a_request_of_json_is_checked() -> None:
    assert request_of(b'{"text": "Hi."}') == Request("Hi.")
    for bad in (b"[]", b'{"source": "me"}', b'{"interrupt": "soon"}', b"\xff"):
        with pytest.raises(BadField):
            request_of(bad)
