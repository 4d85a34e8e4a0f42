from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.errors import ConfigError
from app.headless.named_pipe import lines_of_pipe
from app.text import MAX_TEXT_CHARS


async def write(path: Path, data: bytes) -> None:
    """Do what ``printf > path`` does: open, write, close."""

    def do() -> None:
        with path.open("wb", buffering=0) as pipe:
            pipe.write(data)

    await asyncio.to_thread(do)


async def one(lines: AsyncIterator[str]) -> str:
    return await asyncio.wait_for(anext(lines), 5)


async def test_writers_come_and_go_and_each_line_comes_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    async with lines_of_pipe(path) as lines:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        for data, expected in (
            (b"One.\nTwo.\n", ["One.", "Two."]),
            ("Drei – für.\n".encode(), ["Drei – für."]),
        ):
            await write(path, data)
            assert [await one(lines) for _ in expected] == expected


async def test_a_line_that_comes_in_pieces_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    async with lines_of_pipe(path) as lines:
        await write(path, "Gr\u00fc\u00dfe".encode()[:3])
        await write(path, "Gr\u00fc\u00dfe".encode()[3:] + b" you.\n")
        assert await one(lines) == "Gr\u00fc\u00dfe you."


async def test_what_has_no_line_break_is_a_line_after_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    async with lines_of_pipe(path) as lines:
        await write(path, b"no line break")
        assert await one(lines) == "no line break"
        await write(path, b"\nnext\n")
        assert [await one(lines), await one(lines)] == ["", "next"]


async def test_what_never_breaks_is_cut_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    async with lines_of_pipe(path) as lines:
        writing = asyncio.create_task(write(path, b"x" * (MAX_TEXT_CHARS + 100_000)))
        assert len(await one(lines)) > MAX_TEXT_CHARS
        assert len(await one(lines)) > 0
        await writing


async def test_a_pipe_that_is_there_already_is_used(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    async with lines_of_pipe(path) as lines:
        await write(path, b"Hi.\n")
        assert await one(lines) == "Hi."
    assert path.exists()


async def test_something_else_at_its_place_is_left_alone_and_named(tmp_path: Path) -> None:
    path = tmp_path / "precious.txt"
    path.write_text("keep")
    with pytest.raises(ConfigError, match=r"kiosk\.pipe.*no named pipe"):
        async with lines_of_pipe(path):
            pass
    assert path.read_text() == "keep"
    with pytest.raises(ConfigError, match=r"kiosk\.pipe"):
        async with lines_of_pipe(tmp_path / "no folder" / "pipe"):
            pass
