from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import BinaryIO, TextIO

import pytest

from app.config import Config
from app.headless.sources import lines_of, speak_lines
from app.text import MAX_TEXT_CHARS
from tests.helpers.fake_desk import FakeDesk
from tests.helpers.waiting import eventually


@dataclass(frozen=True)
class Pipe:
    """A real pipe: what is written at one end is read as text at the other."""

    reader: TextIO
    writer: BinaryIO


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    read, write = os.pipe()
    with open(read, encoding="utf-8") as reader, open(write, "wb", buffering=0) as writer:
        yield Pipe(reader, writer)


async def all_of(lines: AsyncIterator[str]) -> list[str]:
    return [line async for line in lines]


async def test_lines_come_while_the_pipe_is_still_open(pipe: Pipe) -> None:
    async with aclosing(lines_of(pipe.reader)) as lines:
        for text in ("One.\n", "Two.\n"):
            pipe.writer.write(text.encode())
            assert await asyncio.wait_for(anext(lines), 5) == text
        pipe.writer.write(b"no line break")
        pipe.writer.close()
        assert await asyncio.wait_for(all_of(lines), 5) == ["no line break"]


async def test_lines_without_anything_to_say_are_skipped(pipe: Pipe) -> None:
    pipe.writer.write("\n  \n…\n\u200b\nHi.\n\n".encode())
    pipe.writer.close()
    assert await asyncio.wait_for(all_of(lines_of(pipe.reader)), 5) == ["Hi.\n"]


async def test_bytes_that_are_no_text_neither_end_nor_hang_it(pipe: Pipe) -> None:
    pipe.writer.write(b"caf\xe9 one\n\xff\xfe\nTwo.\n")
    pipe.writer.close()
    assert await asyncio.wait_for(all_of(lines_of(pipe.reader)), 5) == ["caf\ufffd one\n", "Two.\n"]


async def test_an_empty_input_ends_at_once(pipe: Pipe) -> None:
    pipe.writer.close()
    assert await asyncio.wait_for(all_of(lines_of(pipe.reader)), 5) == []


async def test_a_stream_that_fails_ends_it() -> None:
    """A terminal that has hung up raises OSError."""

    class HungUp(io.StringIO):
        def __next__(self) -> str:
            raise OSError(5, "Input/output error")

    assert await asyncio.wait_for(all_of(lines_of(HungUp())), 5) == []


def test_a_loop_that_ends_before_the_input_leaves_no_noise(pipe: Pipe) -> None:
    """The thread goes on reading until there is something, and then has nobody to tell."""

    async def take_one() -> str:
        async with aclosing(lines_of(pipe.reader)) as lines:
            return await anext(lines)

    pipe.writer.write(b"One.\n")
    assert asyncio.run(take_one()) == "One.\n"
    pipe.writer.write(b"Two.\n")


def test_a_program_ends_well_while_its_input_stays_open() -> None:
    """Python aborts if the interpreter's end needs the lock of ``sys.stdin`` and a daemon thread holds it."""
    code = (
        "import asyncio, sys\n"
        "from app.headless.sources import lines_of\n"
        "async def first():\n"
        "    async for line in lines_of(sys.stdin):\n"
        "        return line\n"
        "print(asyncio.run(first()), end='')\n"
        "sys.exit(130)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"One.\n")
        process.stdin.flush()
        assert process.wait(30) == 130
        assert process.stdout.read() == b"One.\n"
        assert process.stderr.read() == b""


# -- lines that are spoken ------------------------------------------------------------------------------


async def these(*lines: str) -> AsyncIterator[str]:
    for line in lines:
        yield line


async def test_every_line_is_a_request_and_all_must_end_well() -> None:
    desk, said = FakeDesk(), list[str]()
    assert await speak_lines(desk, these("One.\n", "…", "Two.\n"), "stdin", said.append)  # type: ignore[arg-type]
    assert desk.texts == ["One.", "Two."]
    assert {t.request.source for t in desk.requests} == {"stdin"}
    assert said == []


async def test_one_line_that_fails_is_remembered_and_the_others_are_spoken() -> None:
    desk = FakeDesk(at_once=False)
    speaking = asyncio.create_task(speak_lines(desk, these("One.", "Two."), "pipe", print))  # type: ignore[arg-type]
    await eventually(lambda: len(desk.requests) == 2)
    desk.fail(desk.requests[0], "no server")
    desk.speak_next()
    assert not await asyncio.wait_for(speaking, 5)


async def test_no_more_lines_are_taken_than_may_wait() -> None:
    config = Config()
    desk = FakeDesk(replace(config, kiosk=replace(config.kiosk, queue_limit=2)), at_once=False)
    lines = these(*(f"Line {n}." for n in range(5)))
    speaking = asyncio.create_task(speak_lines(desk, lines, "pipe", print))  # type: ignore[arg-type]
    for taken in (2, 3, 4, 5, 5):
        await eventually(lambda taken=taken: len(desk.requests) == taken)
        desk.speak_next()
    assert await asyncio.wait_for(speaking, 5)


async def test_a_line_beyond_all_measure_is_cut_and_that_is_said() -> None:
    desk, said = FakeDesk(), list[str]()
    assert await speak_lines(desk, these("x" * (MAX_TEXT_CHARS + 1)), "stdin", said.append)  # type: ignore[arg-type]
    assert [len(text) for text in desk.texts] == [MAX_TEXT_CHARS]
    assert said == [f"the text is cut after {MAX_TEXT_CHARS} characters"]


async def test_a_desk_that_closes_ends_it() -> None:
    desk = FakeDesk()
    await desk.aclose(0.0)
    assert await asyncio.wait_for(speak_lines(desk, these("One."), "stdin", print), 5)  # type: ignore[arg-type]
