"""A folder whose files are spoken: each is read once, when it is complete, and then put aside."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path

import msgspec

from app.desk.desk import Desk
from app.desk.request import Request
from app.errors import BadField, ConfigError, DeskClosing, QueueFull, RequestError

log = logging.getLogger("nearfield.folder")

LOOK_S = 0.5
LOOKS_UNCHANGED = 2
"""A file that is as it was at so many looks before is complete."""
DONE, FAILED = "done", "failed"
UNFINISHED = (".part", ".tmp", ".crdownload", ".swp", "~")
"""Ends of names under which programs write what they rename once it is whole."""


@dataclass(frozen=True)
class _Seen:
    """How a file was when it was looked at."""

    size_bytes: int
    changed_ns: int
    looks: int = 0


class WatchedFolder:
    """Looks at the folder again and again; one that is gone, or cannot be read, is waited for."""

    def __init__(
        self,
        desk: Desk,
        folder: Path,
        say: Callable[[str], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """``say`` shows a person a line.

        Raises:
            ConfigError: there is no such folder, and it cannot be made.

        """
        self._desk = desk
        self._folder = folder
        self._say = say
        self._sleep = sleep
        self._seen: dict[Path, _Seen] = {}
        self._fault = ""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"kiosk.watch_folder: {folder} cannot be used: {error.strerror}") from None

    async def run(self) -> None:
        """Look until the desk closes."""
        while True:
            try:
                for path in await asyncio.to_thread(self._complete):
                    await self._speak(path)
                self._fault = ""
            except DeskClosing:
                return
            except OSError as error:
                self._complain(f"the folder {self._folder} cannot be read: {error.strerror}; trying again")
            await self._sleep(LOOK_S)

    # -- inside -----------------------------------------------------------------------------------------

    def _complete(self) -> list[Path]:
        """Look once, and return the files that can be read now, the oldest first."""
        seen, complete = {}, []
        for path in self._folder.iterdir():
            if path.name.startswith(".") or path.name.endswith(UNFINISHED):
                continue
            try:
                found = path.stat()
            except FileNotFoundError:
                continue
            if not path.is_file():
                continue
            before = self._seen.get(path)
            now = _Seen(found.st_size, found.st_mtime_ns)
            if before is not None and replace(before, looks=0) == now:
                now = replace(now, looks=before.looks + 1)
            seen[path] = now
            if now.looks >= LOOKS_UNCHANGED:
                complete.append((now.changed_ns, path))
        self._seen = seen
        return [path for _, path in sorted(complete)]

    async def _speak(self, path: Path) -> None:
        limit_bytes = self._desk.config.kiosk.request_bytes
        now_at = path
        try:
            request = await asyncio.to_thread(_read, path, limit_bytes)
            # Put aside first: whatever happens to this process, it is not spoken twice.
            now_at = await asyncio.to_thread(_put_aside, path, self._folder / DONE)
            await self._ask(request)
        except FileNotFoundError:
            log.info("%s has gone before it was read", path)
        except DeskClosing:
            await asyncio.to_thread(now_at.rename, path)
            raise
        except RequestError as error:
            self._say(f"{path.name} is not spoken: {error}")
            await asyncio.to_thread(_put_aside, now_at, self._folder / FAILED)

    async def _ask(self, request: Request) -> None:
        while True:
            try:
                self._desk.speak(request)
            except QueueFull:
                await self._desk.room()
            else:
                return

    def _complain(self, fault: str) -> None:
        """Say what is wrong, once for as long as it is."""
        if fault != self._fault:
            self._fault = fault
            self._say(fault)


def _read(path: Path, limit_bytes: int) -> Request:
    """Return what a file asks for; raises BadField."""
    with path.open("rb") as file:
        data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise BadField("file", f"it is larger than the {limit_bytes} bytes of kiosk.request_bytes")
    if path.suffix.lower() == ".json":
        return replace(request_of(data), source="folder")
    if b"\0" in data:
        raise BadField("file", "it is no text")
    return Request(data.decode("utf-8", "replace"), source="folder")


def request_of(data: bytes) -> Request:
    """Read a request from JSON: an object with the fields of :class:`Request`.

    Raises:
        BadField: it is none.

    """
    known = [f.name for f in fields(Request) if f.name != "source"]
    try:
        body = msgspec.json.decode(data, type=dict[str, object])
        if unknown := [name for name in body if name not in known]:
            raise BadField(unknown[0], f"it is unknown; known are {', '.join(known)}")
        return msgspec.convert(body, Request)
    except msgspec.ValidationError as error:
        raise BadField("file", str(error)) from None
    except msgspec.DecodeError as error:
        raise BadField("file", f"it is not JSON: {error}") from None


def _put_aside(path: Path, folder: Path) -> Path:
    """Move a file into ``folder``, beside what is there already, and return where it is now."""
    folder.mkdir(exist_ok=True)
    target, number = folder / path.name, 1
    while target.exists():
        number += 1
        target = folder / f"{path.stem}-{number}{path.suffix}"
    return path.rename(target)
