"""Whether there is a newer version: asked only if a person wants that, at most once a day, and told once.

What is sent is one plain request to the package index. It names neither this version, nor this computer, nor
who uses it; what the index sees besides is the network address. Nothing is downloaded or installed.
One door to ``httpx``, which is imported when it is first needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import ssl
import time
import urllib.request
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from app.desktop.safe_file import replace_text

if TYPE_CHECKING:
    import httpx

log = logging.getLogger("nearfield.desktop")

URL = "https://pypi.org/pypi/nearfield/json"
PAGE = "https://pypi.org/project/nearfield/"
"""Where a newer version is to be had; never taken from an answer."""
EVERY_S = 24 * 3600.0
ANSWER_TIMEOUT_S = 15.0
"""Most that the question may take as a whole."""
MAX_ANSWER_BYTES = 2 * 2**20
_LOOK_S = 3600.0
"""How often a program that runs for days looks whether a day is over."""
_NUMBERS = re.compile(r"(\d{1,9}(?:\.\d{1,9}){0,4})(.*)", re.ASCII)
_BEFORE_A_RELEASE = re.compile(r"\.?(a|b|rc|dev)")


@dataclass(frozen=True)
class Newest:
    """What the index answered."""

    version: str


@dataclass(frozen=True)
class NotKnown:
    """Why there is no answer; nothing that a person need be told."""

    reason: str


Answer = Newest | NotKnown
Ask = Callable[[], Awaitable[Answer]]


@dataclass(frozen=True)
class _Memory:
    """What is kept from one start to the next."""

    asked_s: float = 0.0
    """When it was asked last, in seconds since 1970, whatever came of it."""
    newest: str = ""
    told: str = ""
    """The version that a person has been told of."""


class Updates:
    """Asks, remembers, and tells; for one event loop.

    Args:
        path: the file that remembers; whatever is wrong with it, it is written anew.
        installed: the version that runs; left out: this one.
        ask: asks the index.
        clock: seconds since 1970.

    """

    def __init__(
        self,
        path: Path,
        *,
        installed: str = "",
        ask: Ask | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.installed = installed or version("nearfield")
        self._path = path
        self._ask = ask or ask_index
        self._clock = clock
        self._memory: _Memory | None = None

    def newer(self) -> str:
        """Return the newest version that is known, if it is newer than this one; else nothing."""
        newest = self._remembered().newest
        return newest if is_newer(newest, self.installed) else ""

    async def watch(self, tell: Callable[[str], object]) -> None:
        """Ask once a day until this is cancelled, and call ``tell`` once for each newer version."""
        while True:
            await self._ask_if_due()
            found = self.newer()
            if found and found != self._remembered().told:
                tell(found)
                self._remember(replace(self._remembered(), told=found))
            await asyncio.sleep(_LOOK_S)

    async def _ask_if_due(self) -> None:
        memory = self._remembered()
        # A clock that was put back must not keep it from asking for years.
        if 0 <= self._clock() - memory.asked_s < EVERY_S:
            return
        # Before the answer: one that never comes counts as well.
        self._remember(replace(memory, asked_s=self._clock()))
        answer = await self._ask()
        if isinstance(answer, Newest):
            self._remember(replace(self._remembered(), newest=answer.version))
        else:
            log.info("whether there is a newer version is not known: %s", answer.reason)

    def _remembered(self) -> _Memory:
        if self._memory is None:
            self._memory = _read(self._path)
        return self._memory

    def _remember(self, memory: _Memory) -> None:
        self._memory = memory
        # What cannot be written is at least remembered for as long as the program runs.
        with contextlib.suppress(OSError):
            replace_text(self._path, json.dumps(asdict(memory)))


async def ask_index(url: str = URL, timeout_s: float = ANSWER_TIMEOUT_S) -> Answer:
    """Ask the index at ``url`` for the newest release; never raises but when it is cancelled."""
    try:
        return await asyncio.wait_for(_ask_index(url), timeout_s)
    except (asyncio.TimeoutError, TimeoutError):
        return NotKnown("no answer in time")


def is_newer(found: str, installed: str) -> bool:
    """Return whether ``found`` is a release, and later than what is installed."""
    a, b = _NUMBERS.fullmatch(found), _NUMBERS.match(installed)
    if a is None or b is None or a[2]:
        return False
    mine = _numbers(b[1])
    return _numbers(a[1]) > mine or (_numbers(a[1]) == mine and bool(_BEFORE_A_RELEASE.match(b[2])))


def _numbers(text: str) -> tuple[int, ...]:
    numbers = [int(part) for part in text.split(".")]
    while numbers and numbers[-1] == 0:  # 1.0 is 1
        numbers.pop()
    return tuple(numbers)


async def _ask_index(url: str) -> Answer:
    try:
        trust = await asyncio.to_thread(_trust)
    except (ImportError, OSError) as error:
        return NotKnown(str(error))
    import httpx

    try:
        async with httpx.AsyncClient(
            headers={"User-Agent": "nearfield", "Accept": "application/json", "Accept-Encoding": "identity"},
            timeout=ANSWER_TIMEOUT_S,
            verify=trust,
            proxy=_proxy_for(url),
            trust_env=False,
            follow_redirects=False,
        ) as client:
            return await _answer(client, url)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, ImportError) as error:
        return NotKnown(str(error) or type(error).__name__)


async def _answer(client: httpx.AsyncClient, url: str) -> Answer:
    async with client.stream("GET", url) as response:
        if response.status_code != 200:
            return NotKnown(f"HTTP {response.status_code}")
        body = b""
        async for piece in response.aiter_raw():
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                return NotKnown(f"an answer of more than {MAX_ANSWER_BYTES // 2**20} MiB")
    return _newest(body)


def _newest(body: bytes) -> Answer:
    try:
        answer: Any = json.loads(body)
        info = answer["info"]
        found, is_yanked = info["version"], info.get("yanked", False)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return NotKnown("an answer that names no version")
    if is_yanked or not isinstance(found, str) or not _is_release(found):
        return NotKnown("an answer that names no release")
    return Newest(found)


def _is_release(text: str) -> bool:
    match = _NUMBERS.fullmatch(text)
    return match is not None and not match[2]


def _trust() -> ssl.SSLContext:
    """Return the authorities of the library and those of the system; takes a moment, as does the import."""
    import httpx

    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def _proxy_for(url: str) -> str | None:
    parts = urlsplit(url)
    if urllib.request.proxy_bypass(parts.netloc):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _read(path: Path) -> _Memory:
    try:
        kept: Any = json.loads(path.read_text("utf-8"))
        memory = _Memory(float(kept["asked_s"]), str(kept["newest"]), str(kept["told"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return _Memory()
    return memory if not memory.newest or _is_release(memory.newest) else _Memory()
