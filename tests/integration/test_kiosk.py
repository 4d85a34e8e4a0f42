"""The kiosk as its owner runs it: the command, its sources, its signals, its exit codes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import assets
from server.emulator import Emulator, Scenario, SyntheticTalker
from server.emulator.talkers import demo_spec
from tests.helpers.waiting import eventually

PATIENCE_S = 60.0
LONG = "This sentence is long enough to be heard for a while before anybody interrupts it here. "


@dataclass
class Kiosk:
    process: Process
    done: list[dict[str, object]] = field(default_factory=list)
    """What it printed for each utterance."""
    notes: list[str] = field(default_factory=list)

    async def until_done(self, count: int) -> dict[str, object]:
        await eventually(lambda: len(self.done) >= count, PATIENCE_S, f"{count} ends; {self.notes}")
        return self.done[count - 1]

    async def until_noted(self, words: str) -> None:
        await eventually(lambda: any(words in n for n in self.notes), PATIENCE_S, f"{words}: {self.notes}")

    async def say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n".encode())
        await self.process.stdin.drain()

    async def end(self, with_signal: signal.Signals | None = None) -> int:
        """Return the exit code, after sending a signal if one is given."""
        if with_signal is not None:
            self.process.send_signal(with_signal)
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)

    async def read(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stderr is not None

        async def results(stream: asyncio.StreamReader) -> None:
            async for line in stream:
                self.done.append(json.loads(line))

        async def notes(stream: asyncio.StreamReader) -> None:
            async for line in stream:
                self.notes.append(line.decode())

        await asyncio.gather(results(self.process.stdout), notes(self.process.stderr))


@contextlib.asynccontextmanager
async def kiosk(*flags: str, stdin: int = PIPE) -> AsyncIterator[Kiosk]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app.cli", "--no-gui", "--json"),
        *("--checkpoint", str(assets.folder("demo_voice")), *flags),
        stdin=stdin,
        stdout=PIPE,
        stderr=PIPE,
    )
    running = Kiosk(process)
    reading = asyncio.create_task(running.read())
    try:
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reading


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(SyntheticTalker(demo_spec()), Scenario(pace=4.0)) as running:
        yield running


def config(path: Path, url: str, **kiosk_keys: object) -> Path:
    """Write a configuration file: YAML, of which JSON is a part."""
    path.write_text(json.dumps({"server": {"url": url}, "kiosk": kiosk_keys}))
    return path


async def test_its_input_is_spoken_and_its_end_is_the_end(emulator: Emulator) -> None:
    async with kiosk("--server", emulator.url) as k:
        await k.say("One.")
        await k.say("Two.")
        assert k.process.stdin is not None
        k.process.stdin.close()
        assert await k.end() == 0
    assert [d["text"] for d in k.done] == ["One.", "Two."]


async def test_what_could_not_be_spoken_is_an_exit_code() -> None:
    async with kiosk("--server", "ws://127.0.0.1:9") as k:
        await k.say("One.")
        assert k.process.stdin is not None
        k.process.stdin.close()
        assert await k.end() == 1
    assert k.done[0]["outcome"] == "failed"


async def test_sigterm_finishes_the_sentence_and_is_a_good_end_within_5_s(emulator: Emulator) -> None:
    async with kiosk("--server", emulator.url) as k:
        await k.say("A short one here. " + LONG * 5)
        await eventually(lambda: emulator.utterances and emulator.utterances[0].frames > 10, PATIENCE_S)
        await asyncio.sleep(0.5)
        asked_s = time.monotonic()
        assert await k.end(signal.SIGTERM) == 0
        assert time.monotonic() - asked_s < 5.0
    assert (k.done[0]["outcome"], k.done[0]["reason"]) == ("cancelled", "closing")
    assert not [note for note in k.notes if "Traceback" in note]


async def test_ctrl_c_does_not_wait_for_anything(emulator: Emulator) -> None:
    async with kiosk("--server", emulator.url) as k:
        await k.say(LONG * 5)
        await eventually(lambda: emulator.utterances and emulator.utterances[0].frames > 10, PATIENCE_S)
        asked_s = time.monotonic()
        assert await k.end(signal.SIGINT) == 130
        assert time.monotonic() - asked_s < 3.0


async def test_all_sources_are_heard_and_a_hang_up_reads_the_settings_again(
    emulator: Emulator, tmp_path: Path
) -> None:
    folder, pipe = tmp_path / "in", tmp_path / "pipe"
    keys = {"sources": ["folder", "pipe"], "watch_folder": str(folder), "pipe": str(pipe)}
    path = config(tmp_path / "config.yaml", emulator.url, **keys)
    async with kiosk("--config", str(path), stdin=DEVNULL) as k:
        await eventually(lambda: folder.exists() and pipe.exists(), PATIENCE_S)
        (folder / "note.txt").write_text("From the folder.")
        assert (await k.until_done(1))["text"] == "From the folder."
        await asyncio.to_thread(pipe.write_text, "From the pipe.\n")
        assert (await k.until_done(2))["text"] == "From the pipe."

        path.write_text("nonsense: [")
        k.process.send_signal(signal.SIGHUP)
        await k.until_noted("the settings stay as they were")

        other = tmp_path / "other"
        config(path, "gopher://nowhere", sources=["folder"], watch_folder=str(other))
        k.process.send_signal(signal.SIGHUP)
        await k.until_noted("gopher")
        (folder / "more.txt").write_text("Still from the folder.")
        assert (await k.until_done(3))["text"] == "Still from the folder."
        assert not other.exists(), "all stays as it was, or nothing does"

        config(path, emulator.url, sources=["folder"], watch_folder=str(other))
        k.process.send_signal(signal.SIGHUP)
        await eventually(other.exists, PATIENCE_S, f"{k.notes}")
        (other / "note.txt").write_text("From the other folder.")
        assert (await k.until_done(4))["text"] == "From the other folder."
        assert len(emulator.sessions) == 1, "the link was kept"

        async with Emulator(SyntheticTalker(demo_spec()), Scenario(pace=4.0)) as second:
            config(path, second.url, sources=["folder"], watch_folder=str(other))
            k.process.send_signal(signal.SIGHUP)
            await eventually(lambda: second.sessions, PATIENCE_S, f"{k.notes}")
            (other / "again.txt").write_text("From the other server.")
            await k.until_done(5)
            assert [u.text for u in second.utterances] == ["From the other server."]
            assert await k.end(signal.SIGTERM) == 0


@pytest.mark.parametrize(
    "keys",
    [
        {"sources": ["pipe"], "pipe": __file__},
        {"sources": ["folder"]},
        {"sources": ["telepathy"]},
    ],
)
async def test_settings_that_cannot_be_used_are_exit_code_2(tmp_path: Path, keys: dict[str, object]) -> None:
    path = config(tmp_path / "config.yaml", "ws://127.0.0.1:9", **keys)
    async with kiosk("--config", str(path), stdin=DEVNULL) as k:
        assert await k.end() == 2
    assert any("kiosk" in note for note in k.notes)
    assert not [note for note in k.notes if "Traceback" in note]


async def test_without_server_and_sound_it_starts_and_speaks_when_they_are_there(
    emulator: Emulator, tmp_path: Path
) -> None:
    await emulator.__aexit__(None, None, None)
    folder = tmp_path / "in"
    path = config(tmp_path / "config.yaml", emulator.url, sources=["folder"], watch_folder=str(folder))
    async with kiosk("--config", str(path), stdin=DEVNULL) as k:
        await k.until_noted("trying again")
        (folder / "early.txt").write_text("Nobody can say this now.")
        assert (await k.until_done(1))["outcome"] == "failed"
        await emulator.__aenter__()
        await eventually(lambda: emulator.sessions, PATIENCE_S, f"{k.notes}")
        (folder / "late.txt").write_text("Now it can be said.")
        assert (await k.until_done(2))["outcome"] == "complete"
        assert [u.text for u in emulator.utterances] == ["Now it can be said."]
