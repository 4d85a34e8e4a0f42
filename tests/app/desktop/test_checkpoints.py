from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import assets
from app.desktop.checkpoints import Download, DownloadState, Phase, examine, look_at
from decoder.errors import CheckpointError
from decoder.streaming import ranges
from decoder.streaming.fetch import fetch
from tests.decoder.streaming.hub_server import Hub, serve
from tests.helpers.hygiene import no_task_is_left
from tests.helpers.waiting import eventually

__all__ = ["no_task_is_left"]

DEMO = assets.folder("demo_voice")


class Watch:
    """Remembers every state of a download, and lets a test wait for one."""

    def __init__(self) -> None:
        self.states: list[DownloadState] = []
        self._changed = asyncio.Event()

    def __call__(self, state: DownloadState) -> None:
        self.states.append(state)
        self._changed.set()

    async def until(self, fits: Callable[[DownloadState], bool]) -> DownloadState:
        while not (self.states and fits(self.states[-1])):
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), 20)
        return self.states[-1]

    async def ended(self) -> DownloadState:
        return await self.until(lambda state: state.phase is not Phase.RUNNING)


class Library:
    """In place of the library: reports what a test lets it, and remembers how it ended."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int]] = [(10, 100), (50, 100), (100, 100)]
        self.go_on = threading.Semaphore(0)
        self.calls: list[str] = []
        self.interrupted = 0
        self.failure: Exception | None = None

    def __call__(self, repo: str, report: Callable[[int, int], None]) -> Path:
        self.calls.append(repo)
        try:
            for step in self.steps:
                self.go_on.acquire()
                report(*step)
        except Exception:
            self.interrupted += 1
            raise
        if self.failure is not None:
            raise self.failure
        return Path("/cache") / repo

    def release(self, steps: int) -> None:
        for _ in range(steps):
            self.go_on.release()


# -- looking at a checkpoint -------------------------------------------------------------------------------


async def test_the_demo_voice_is_one() -> None:
    found = await look_at(str(DEMO))
    assert found.folder == DEMO / "speech_tokenizer"
    assert found.sample_rate_hz == 24_000
    assert 0 < found.size_bytes <= (found.folder / "model.safetensors").stat().st_size
    assert (await look_at(f"  {found.folder} ")) == found


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "neither model.safetensors nor speech_tokenizer/model.safetensors"),
        ({"model.safetensors": b""}, "config.json is missing"),
        ({"model.safetensors": b"", "config.json": b"{"}, "not JSON"),
        ({"model.safetensors": b"<html>", "config.json": None}, "HTML"),
        ({"model.safetensors": b"version https://git-lfs", "config.json": None}, "Git LFS"),
        ({"model.safetensors": b"\x02" + bytes(7) + b"{}", "config.json": None}, "no decoder in it"),
    ],
)
def test_what_is_none_says_what_is_missing(
    tmp_path: Path, files: dict[str, bytes | None], words: str
) -> None:
    for name, content in files.items():
        if content is None:
            content = (DEMO / "speech_tokenizer" / name).read_bytes()
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=words):
        examine(str(tmp_path))


@pytest.mark.parametrize(("source", "words"), [("", "name a folder"), ("/there/is/none", "no such folder")])
def test_a_place_that_is_not_there_is_told(source: str, words: str) -> None:
    with pytest.raises(CheckpointError, match=words):
        examine(source)


def test_looking_and_fetching_load_no_torch() -> None:
    program = """
import sys
from pathlib import Path
from app.desktop import checkpoints
assert "huggingface_hub" not in sys.modules, "a second of the start"
checkpoints.examine(sys.argv[1])
from decoder.streaming.fetch import fetch
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program, str(DEMO)], check=True)


# -- downloading -------------------------------------------------------------------------------------------


async def test_progress_is_told_as_values_and_the_folder_at_the_end() -> None:
    watch, library = Watch(), Library()
    download = Download(watch, library, least_s=0)
    assert download.state == DownloadState()
    download.start("owner/talker")
    assert download.state == DownloadState(Phase.RUNNING, "owner/talker")
    library.release(1)
    state = await watch.until(lambda state: state.done_bytes == 10)
    assert (state.phase, state.total_bytes) == (Phase.RUNNING, 100)
    library.release(2)
    state = await watch.ended()
    assert (state.phase, state.done_bytes) == (Phase.DONE, 100)
    assert state.folder == Path("/cache/owner/talker")
    assert download.state is state


async def test_many_reports_are_told_as_few() -> None:
    watch, library = Watch(), Library()
    library.steps = [(number, 5000) for number in range(1, 5001)]
    library.release(5000)
    Download(watch, library, least_s=3600).start("owner/talker")
    await watch.ended()
    assert [state.done_bytes for state in watch.states] == [0, 1, 5000, 5000]


async def test_cancelling_is_at_once_and_ends_the_thread() -> None:
    watch, library = Watch(), Library()
    download = Download(watch, library, least_s=0)
    download.cancel()
    assert watch.states == []
    download.start("owner/talker")
    library.release(1)
    await watch.until(lambda state: state.done_bytes == 10)
    download.cancel()
    assert download.state.phase is Phase.CANCELLED
    assert download.state.done_bytes == 10
    library.release(1)  # the library reports once more, and finds that nobody wants it
    await eventually(lambda: library.interrupted)
    assert library.interrupted == 1
    assert watch.states[-1].phase is Phase.CANCELLED


async def test_starting_again_waits_for_the_one_before() -> None:
    watch, library = Watch(), Library()
    download = Download(watch, library, least_s=0)
    download.start("owner/one")
    library.release(1)
    await watch.until(lambda state: state.done_bytes == 10)
    download.start("owner/two")
    assert watch.states[-2].phase is Phase.CANCELLED
    assert library.calls == ["owner/one"], "two would write the same file"
    library.release(4)
    state = await watch.ended()
    assert (state.phase, state.repo, library.interrupted) == (Phase.DONE, "owner/two", 1)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (CheckpointError("owner/talker is gated: accept"), "owner/talker is gated: accept"),
        (OSError("x"), "OSError: x"),
    ],
)
async def test_a_failure_is_told_with_its_reason(failure: Exception, reason: str) -> None:
    watch, library = Watch(), Library()
    library.failure = failure
    library.release(3)
    Download(watch, library).start("owner/talker")
    state = await watch.ended()
    assert (state.phase, state.reason) == (Phase.FAILED, reason)


# -- from a real HTTP server -------------------------------------------------------------------------------


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr(ranges, "_PIECE_BYTES", 4096)
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    folder = DEMO / "speech_tokenizer"
    names = ("config.json", "model.safetensors")
    with serve(Hub({f"speech_tokenizer/{name}": (folder / name).read_bytes() for name in names})) as running:
        yield running


async def test_what_was_cancelled_goes_on_where_it_was(hub: Hub, tmp_path: Path) -> None:
    watch = Watch()

    def fetch_here(repo: str, report: Callable[[int, int], None]) -> Path:
        return fetch(repo, None, report, endpoint=hub.url, cache_folder=tmp_path)

    download = Download(watch, fetch_here, least_s=0)
    download.start(hub.repo)
    await watch.until(lambda state: state.done_bytes > 100_000)
    download.cancel()
    download.start(hub.repo)
    state = await watch.ended()
    assert state.phase is Phase.DONE, state.reason
    phases = [state.phase for state in watch.states]
    resumed = next(s for s in watch.states[phases.index(Phase.CANCELLED) + 1 :] if s.done_bytes)
    assert resumed.done_bytes > 100_000, "not from the start"
    assert state.folder is not None
    assert examine(str(state.folder)).size_bytes == examine(str(DEMO)).size_bytes
