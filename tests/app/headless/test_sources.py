from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import BinaryIO, TextIO

import pytest

from app.headless.sources import lines_of


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
