"""Asking for a newer version: what is sent, how often, and what comes of every kind of answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.config import Config
from app.desktop.desktop import Desktop
from app.desktop.host import VoicelessHost
from app.desktop.settings import Settings
from app.desktop.updates import (
    EVERY_S,
    MAX_ANSWER_BYTES,
    Answer,
    Newest,
    NotKnown,
    Updates,
    ask_index,
    is_newer,
)
from app.engine.events import Notice
from tests.helpers.desktop_rig import Workshop
from tests.helpers.hygiene import no_task_is_left, no_thread_is_left
from tests.helpers.servers import Serve, answering, hangs_up, silent, tcp_server
from tests.helpers.waiting import eventually

__all__ = ["no_task_is_left", "no_thread_is_left"]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def says(body: bytes, heads: list[bytes] | None = None) -> Serve:
    """Answer with ``body``, and keep what was asked."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if heads is not None:
            heads.append(head)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    return serve


def release(version: object, **more: object) -> bytes:
    return json.dumps({"info": {"name": "nearfield", "version": version, **more}, "releases": {}}).encode()


async def answer_of(serve: Serve, timeout_s: float = 5.0) -> Answer:
    async with tcp_server(serve) as port:
        return await ask_index(f"http://127.0.0.1:{port}/pypi/nearfield/json", timeout_s)


async def test_the_question_names_neither_this_version_nor_anybody() -> None:
    heads: list[bytes] = []
    assert await answer_of(says(release("9.8.7"), heads)) == Newest("9.8.7")
    (head,) = heads
    first, *fields = head.decode().strip().split("\r\n")
    assert first == "GET /pypi/nearfield/json HTTP/1.1"
    sent = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
    assert sent.pop("host").startswith("127.0.0.1:")
    assert sent == {
        "user-agent": "nearfield",
        "accept": "application/json",
        "accept-encoding": "identity",
        "connection": "keep-alive",
    }


@pytest.mark.parametrize(
    "serve",
    [
        answering("HTTP/1.1 404 Not Found"),
        answering("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/"),
        answering("HTTP/1.1 500 No"),
        hangs_up,
        says(b""),
        says(b"[" * 100_000),
        says(b"[]"),
        says(b'{"info": null}'),
        says(release(None)),
        says(release("")),
        says(release("2.0rc1")),
        says(release("2.0\nClick here")),
        says(release("9.9", yanked=True)),
        says(release("\u0662.0")),
    ],
)
async def test_an_answer_that_is_none_is_a_value(serve: Serve) -> None:
    answer = await answer_of(serve)
    assert isinstance(answer, NotKnown)
    assert answer.reason


async def test_nobody_there_is_a_value_too() -> None:
    assert isinstance(await ask_index("http://127.0.0.1:1/"), NotKnown)
    assert isinstance(await ask_index("no address"), NotKnown)


async def test_it_waits_no_longer_than_it_may() -> None:
    begun = time.monotonic()
    assert await answer_of(silent, 0.3) == NotKnown("no answer in time")
    assert time.monotonic() - begun < 2.0


async def test_it_reads_no_more_than_it_may() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b" " * 65_536)
            await writer.drain()

    answer = await answer_of(endless)
    assert isinstance(answer, NotKnown)
    assert f"{MAX_ANSWER_BYTES // 2**20} MiB" in answer.reason


@pytest.mark.parametrize(
    ("found", "installed", "expected"),
    [
        ("0.2.0", "0.1.0", True),
        ("0.10", "0.9.9", True),
        ("1.0", "1.0.0", False),
        ("1.0.1", "1", True),
        ("0.1.0", "0.2.0", False),
        ("0.1.0", "0.1.0rc1", True),
        ("0.1.0", "0.1.0.dev3", True),
        ("0.1.0", "0.1.0.post1", False),
        ("0.1.0", "0.1.0+local", False),
        ("0.2.0rc1", "0.1.0", False),
        ("", "0.1.0", False),
        ("latest", "0.1.0", False),
    ],
)
def test_what_is_newer(found: str, installed: str, expected: bool) -> None:
    assert is_newer(found, installed) is expected


class Index:
    """Stands for the index, and counts."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self) -> Answer:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


async def watched(updates: Updates) -> list[str]:
    """What a program that is started, and ended soon after, tells."""
    told: list[str] = []
    watching = asyncio.ensure_future(updates.watch(told.append))
    for _ in range(5):
        await asyncio.sleep(0)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    return told


async def test_it_asks_once_a_day_and_tells_once_of_a_version(tmp_path: Path) -> None:
    now, index = [1e9], Index(Newest("0.2.0"), Newest("0.2.0"), Newest("0.3.0"))

    def start() -> Updates:
        return Updates(tmp_path / "made" / "v.json", installed="0.1.0", ask=index, clock=lambda: now[0])

    assert start().newer() == ""
    assert await watched(start()) == ["0.2.0"]
    now[0] += EVERY_S - 1
    assert await watched(start()) == []
    assert (index.asked, start().newer()) == (1, "0.2.0")
    now[0] += 1
    assert await watched(start()) == []
    assert index.asked == 2
    now[0] += EVERY_S
    assert await watched(start()) == ["0.3.0"]
    now[0] -= 400 * EVERY_S
    assert await watched(start()) == []
    assert index.asked == 4, "a clock that was put back"
    assert Updates(tmp_path / "made" / "v.json", installed="0.3.0").newer() == ""


async def test_a_question_without_an_answer_counts_too(tmp_path: Path) -> None:
    index = Index(NotKnown("no net"))
    for _ in range(3):
        assert await watched(Updates(tmp_path / "v.json", ask=index)) == []
    assert index.asked == 1


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "{",
        "[]",
        "null",
        '{"asked_s": "x"}',
        '{"asked_s": 1, "newest": "9.9 evil", "told": ""}',
        '{"asked_s": NaN, "newest": "", "told": ""}',
        '{"asked_s": 1e999, "newest": "", "told": ""}',
    ],
)
async def test_whatever_the_file_holds(tmp_path: Path, kept: str) -> None:
    (tmp_path / "v.json").write_text(kept)
    updates = Updates(tmp_path / "v.json", installed="0.1.0", ask=Index(Newest("0.2.0")))
    assert updates.newer() == ""
    assert await watched(updates) == ["0.2.0"]


async def test_a_file_that_cannot_be_written_is_no_reason_to_ask_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    index = Index(Newest("0.2.0"))
    updates = Updates(tmp_path / "file" / "v.json", installed="0.1.0", ask=index)
    assert await watched(updates) == ["0.2.0"]
    assert await watched(updates) == []
    assert index.asked == 1


# -- behind the window -------------------------------------------------------------------------------------


@asynccontextmanager
async def desktop_with(
    ask: Callable[[], Awaitable[Answer]], folder: Path, *, wanted: bool
) -> AsyncIterator[tuple[Desktop, list[str]]]:
    flags = {"server.url": "ws://127.0.0.1:1", "window.check_for_updates": wanted}
    desktop = Desktop(
        Settings(folder / "config.yaml", environment={}, flags=flags),
        lambda wanted: VoicelessHost(wanted, make_engine=Workshop().build),
        Updates(folder / "v.json", installed="0.1.0", ask=ask),
    )
    told: list[str] = []

    def listen(event: object) -> None:
        if isinstance(event, Notice) and "can be had" in event.text:
            told.append(event.text)

    desktop.host.subscribe(listen)
    try:
        await desktop.start()
        yield desktop, told
    finally:
        await desktop.aclose()


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def test_nobody_is_asked_unless_a_person_wants_that() -> None:
    assert Config().window.check_for_updates is False


async def test_it_begins_and_ends_with_the_setting(tmp_path: Path) -> None:
    index = Index(Newest("0.2.0"))
    async with desktop_with(index, tmp_path, wanted=False) as (desktop, told):
        await asyncio.sleep(0.05)
        assert index.asked == 0
        for on in (True, False, True):
            desktop.settings.update(**{"window.check_for_updates": on})
        await eventually(lambda: told)
        await asyncio.sleep(0.05)
        assert told == ["Nearfield 0.2.0 can be had at https://pypi.org/project/nearfield/; this is 0.1.0."]
        assert index.asked == 1


async def test_a_question_that_hangs_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async def hang() -> Answer:
        await asyncio.sleep(3600)
        return NotKnown("")

    async with desktop_with(hang, tmp_path, wanted=True):
        await asyncio.sleep(0.05)
        begun = time.monotonic()
    assert time.monotonic() - begun < 2.0
