"""Download some tensors of a remote safetensors file with HTTP ranges, with resumption.

The result is a smaller safetensors file. While it grows it lies beside its final name with
``.incomplete`` behind it; its length says how far it got, so an interrupted download goes on from there.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from huggingface_hub import get_session

from decoder.errors import CheckpointError
from decoder.streaming.header import (
    LENGTH_BYTES,
    Header,
    TensorEntry,
    build_header,
    json_length,
    parse_header,
)

_FIRST_BYTES = 1 << 20
"""Asked for at first; headers of this kind are some 50 kB."""
_PIECE_BYTES = 1 << 16
"""Read at a time; a piece that breaks off is lost."""
_ATTEMPTS = 5
"""Without a single byte between them, before giving up."""
_PAUSE_S = 0.25
"""Before the second attempt; doubles."""
_TIMEOUT_S = 30.0
"""Without a byte."""


class RangesRefusedError(Exception):
    """The server sends whole files only."""


class _InterruptedError(Exception):
    """The connection broke, or the server is busy: worth another attempt."""


def _network_errors() -> tuple[type[Exception], ...]:
    """Collect what either HTTP library raises when the network is at fault."""
    errors: list[type[Exception]] = [ConnectionError, TimeoutError, _InterruptedError]
    for library, name in (("requests", "RequestException"), ("httpx", "TransportError")):
        try:
            errors.append(getattr(import_module(library), name))
        except ImportError:  # huggingface_hub needs one of them, and the other may be absent
            continue
    return tuple(errors)


NETWORK_ERRORS = _network_errors()


def download_tensors(
    url: str,
    path: Path,
    size_bytes: int,
    wanted: re.Pattern[str],
    *,
    headers: Mapping[str, str],
    report: Callable[[int, int], None],
) -> None:
    """Write the tensors whose names match ``wanted`` at their start to ``path``.

    Args:
        url: of a file that never changes.
        path: the result; appears when it is complete.
        size_bytes: of the remote file.
        wanted: matched at the start of each name.
        headers: sent with each request.
        report: called with bytes done and bytes in all of the result.

    Raises:
        RangesRefusedError: the server ignores ranges; nothing was downloaded.
        CheckpointError: not a safetensors file, none of the tensors, refused, or broken off too often.

    """
    try:
        source = _fetch_header(url, size_bytes, headers)
    except ValueError as error:
        raise CheckpointError(f"{url} ({size_bytes:,} bytes): {error}") from error
    tensors = {name: entry for name, entry in source.tensors.items() if wanted.match(name)}
    if not tensors:
        raise CheckpointError(f"{url} ({size_bytes:,} bytes): has no tensor whose name starts with decoder.")
    start = build_header(tensors)
    runs = _merge(tensors, source.data_start)
    total = len(start) + sum(end - begin for begin, end in runs)
    part = path.with_name(path.name + ".incomplete")
    with _reopen(part, start, total) as file:
        position = len(start)
        for begin, end in runs:
            done = max(0, min(file.tell() - position, end - begin))
            _download_run(url, begin + done, end, file, headers, lambda: report(file.tell(), total))
            position += end - begin
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _fetch_header(url: str, size_bytes: int, headers: Mapping[str, str]) -> Header:
    data = _fetch_bytes(url, 0, min(_FIRST_BYTES, size_bytes), headers)
    end = LENGTH_BYTES + json_length(data)
    if end > size_bytes:
        raise ValueError("truncated within its header, or not a safetensors file")
    if end > len(data):
        data += _fetch_bytes(url, len(data), end, headers)
    return parse_header(data[LENGTH_BYTES:end], size_bytes)


def _fetch_bytes(url: str, begin: int, end: int, headers: Mapping[str, str]) -> bytes:
    pieces: list[bytes] = []

    def received() -> int:
        return sum(map(len, pieces))

    _persist(lambda: _each(url, begin + received(), end, headers, pieces.append), received, url, end - begin)
    return b"".join(pieces)


def _download_run(
    url: str, begin: int, end: int, file: IO[bytes], headers: Mapping[str, str], report: Callable[[], None]
) -> None:
    """Append the bytes ``begin..end-1`` to ``file``."""
    first = file.tell()

    def received() -> int:
        return file.tell() - first

    def write(piece: bytes) -> None:
        file.write(piece)
        report()

    _persist(lambda: _each(url, begin + received(), end, headers, write), received, url, end - begin)


def _persist(attempt: Callable[[], None], received: Callable[[], int], url: str, wanted: int) -> None:
    """Repeat ``attempt`` until everything has come; attempts that bring something do not count."""
    failures = 0
    while received() < wanted:
        before = received()
        try:
            attempt()
            if received() < wanted:
                raise _InterruptedError("the server closed the connection early")
        except NETWORK_ERRORS as error:
            failures = 1 if received() > before else failures + 1
            if failures >= _ATTEMPTS:
                raise CheckpointError(
                    f"{url}: broken off ({error}); run it again, it goes on where it was"
                ) from error
            time.sleep(_PAUSE_S * 2 ** (failures - 1))


def _each(
    url: str, begin: int, end: int, headers: Mapping[str, str], take: Callable[[bytes], object]
) -> None:
    """Ask for the bytes ``begin..end-1`` once and hand over what comes of them."""
    left = end - begin
    with _open(url, {**headers, "Range": f"bytes={begin}-{end - 1}", "Accept-Encoding": "identity"}) as (
        status,
        pieces,
    ):
        if status == 200:
            raise RangesRefusedError(url)
        if status == 429 or status >= 500:
            raise _InterruptedError(f"the server answered {status}")
        if status != 206:
            raise CheckpointError(f"{url}: the server answered {status}")
        for piece in pieces:
            take(piece[:left])
            left -= len(piece[:left])
            if left <= 0:
                return


@contextmanager
def _open(url: str, headers: Mapping[str, str]) -> Iterator[tuple[int, Iterator[bytes]]]:
    """Open a streamed GET on huggingface_hub's own session: status and body."""
    session: Any = get_session()
    if callable(getattr(session, "stream", None)):  # httpx, since huggingface_hub 1.0
        with session.stream("GET", url, headers=dict(headers), timeout=_TIMEOUT_S) as response:
            yield response.status_code, response.iter_raw(_PIECE_BYTES)
    else:  # requests
        with session.get(url, headers=dict(headers), stream=True, timeout=_TIMEOUT_S) as response:
            yield response.status_code, response.iter_content(_PIECE_BYTES)


def _merge(tensors: Mapping[str, TensorEntry], data_start: int) -> list[tuple[int, int]]:
    """Join the byte ranges of neighbours: ``(begin, end)`` from the start of the file."""
    runs: list[tuple[int, int]] = []
    for entry in tensors.values():
        begin, end = data_start + entry.begin, data_start + entry.end
        if runs and runs[-1][1] == begin:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((begin, end))
    return runs


@contextmanager
def _reopen(part: Path, start: bytes, total: int) -> Iterator[IO[bytes]]:
    """Open the growing file behind what it already has, or anew when that belongs to something else."""
    mode = "wb"
    if part.is_file() and len(start) <= part.stat().st_size <= total:
        with part.open("rb") as file:
            if file.read(len(start)) == start:
                mode = "ab"
    with part.open(mode) as file:
        if mode == "wb":
            file.write(start)
        yield file
