"""The decoder's weights: whether a folder has them, and bringing them here."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from app.desktop.background import in_thread, start
from decoder.errors import CheckpointError

Fetch = Callable[[str, Callable[[int, int], None]], Path]
"""Brings a repository's decoder here, reporting bytes done and in all, and returns its folder."""

_PREFIX = "decoder."
_REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_LEAST_BETWEEN_S = 0.1
"""A person reads no faster, and a fast line reports thousands of times a second."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that can be used."""

    folder: Path
    """With ``config.json`` and ``model.safetensors``."""
    size_bytes: int
    """Of the decoder's weights."""
    sample_rate_hz: int


def is_repository(source: str) -> bool:
    """Whether ``source`` can only be the name of a repository, from which there is something to download."""
    text = source.strip()
    return _REPO.fullmatch(text) is not None and not Path(text).expanduser().exists()


async def look_at(source: str) -> Checkpoint:
    """Check a folder, or what was fetched of a repository, as far as that goes without loading it.

    Raises:
        CheckpointError: it cannot be used; the text says what is missing and what to do.

    """
    return await in_thread("look at a checkpoint", lambda: examine(source))


def examine(source: str) -> Checkpoint:
    """Do what `look_at` does, at once; reads a few kilobytes, or for a repository imports a library."""
    from decoder.streaming.config import CodecConfig
    from decoder.streaming.header import read_header
    from decoder.streaming.location import CONFIG_NAME, WEIGHTS_NAME, find_checkpoint

    if not source.strip():
        raise CheckpointError("name a folder or a repository")
    folder = find_checkpoint(source.strip())
    spec = CodecConfig.from_file(folder / CONFIG_NAME).spec
    path = folder / WEIGHTS_NAME
    try:
        tensors = read_header(path).tensors
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error
    sizes = [entry.end - entry.begin for name, entry in tensors.items() if name.startswith(_PREFIX)]
    if not sizes:
        raise CheckpointError(f"{path}: has no decoder in it; is it the speech_tokenizer of a Qwen3-TTS?")
    return Checkpoint(folder, sum(sizes), spec.sample_rate_hz)


class Phase(Enum):
    """How far a download is."""

    IDLE = "idle"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True)
class DownloadState:
    """A download at one moment."""

    phase: Phase = Phase.IDLE
    repo: str = ""
    done_bytes: int = 0
    total_bytes: int = 0
    """0 while it is not known."""
    bytes_per_s: float = 0.0
    """Of this run so far, without what was there before it."""
    folder: Path | None = None
    """Where it lies, once it is done."""
    reason: str = ""
    """Why it failed, and what to do."""


class Download:
    """Brings one checkpoint after another here, in a thread; a cancelled one goes on where it was."""

    def __init__(
        self,
        on_change: Callable[[DownloadState], None],
        fetch: Fetch | None = None,
        least_s: float = _LEAST_BETWEEN_S,
    ) -> None:
        """Call ``on_change`` in the event loop that `start` runs in, at most every ``least_s`` seconds."""
        self.state = DownloadState()
        self._on_change = on_change
        self._fetch = fetch or _fetch
        self._least_s = least_s
        self._run: _Run | None = None

    def start(self, repo: str) -> None:
        """Begin with, or go on with, ``owner/name``; the one that runs is cancelled."""
        self.cancel()
        before = self._run.thread if self._run is not None else None
        run = _Run(repo)
        self._run = run
        self._change(DownloadState(Phase.RUNNING, repo))
        loop = asyncio.get_running_loop()

        def report(done: int, total: int) -> None:
            if run.is_cancelled.is_set():
                raise _CancelledError
            if run.is_due(done, total, self._least_s):
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(self._on_report, run, done, total)

        def work() -> Path:
            if before is not None:
                before.join()  # two would write the same file
            if run.is_cancelled.is_set():
                raise _CancelledError
            return self._fetch(repo, report)

        answer, run.thread = start("fetch a checkpoint", work, loop)
        answer.add_done_callback(lambda done: self._on_end(run, done))

    def cancel(self) -> None:
        """Stop; what has come stays on the disk. Nothing happens if nothing runs."""
        if self._run is not None and self.state.phase is Phase.RUNNING:
            self._run.is_cancelled.set()
            self._change(replace(self.state, phase=Phase.CANCELLED))

    def close(self) -> None:
        """Stop as `cancel` does, and tell nobody anything any more."""
        self._on_change = lambda _: None
        self.cancel()

    def _on_report(self, run: _Run, done: int, total: int) -> None:
        if self._run is run and self.state.phase is Phase.RUNNING:
            state = replace(self.state, done_bytes=done, total_bytes=total, bytes_per_s=run.rate(done))
            self._change(state)

    def _on_end(self, run: _Run, answer: asyncio.Future[Path]) -> None:
        error = answer.exception()  # taken, or it would be complained about
        if self._run is not run or self.state.phase is not Phase.RUNNING:
            return
        if error is None:
            done_bytes = max(self.state.done_bytes, self.state.total_bytes)
            self._change(replace(self.state, phase=Phase.DONE, done_bytes=done_bytes, folder=answer.result()))
        else:
            reason = str(error) if isinstance(error, CheckpointError) else f"{type(error).__name__}: {error}"
            self._change(replace(self.state, phase=Phase.FAILED, reason=reason))

    def _change(self, state: DownloadState) -> None:
        self.state = state
        self._on_change(state)


class _Run:
    """One download in its thread."""

    def __init__(self, repo: str) -> None:
        self.repo = repo
        self.is_cancelled = threading.Event()
        self.thread: threading.Thread | None = None
        self._told_at = float("-inf")
        self._first: tuple[float, int] | None = None

    def is_due(self, done: int, total: int, least_s: float) -> bool:
        now = time.monotonic()
        if self._first is None:
            self._first = (now, done)
        if done < total and now - self._told_at < least_s:
            return False
        self._told_at = now
        return True

    def rate(self, done: int) -> float:
        at, had = self._first or (time.monotonic(), done)
        passed = time.monotonic() - at
        return (done - had) / passed if passed > 0 else 0.0


class _CancelledError(Exception):
    """Ends the library's loop from within its report; what was written stays."""


def _fetch(repo: str, report: Callable[[int, int], None]) -> Path:
    from decoder.streaming.fetch import fetch  # a second of imports, and no torch

    return fetch(repo, None, report)
