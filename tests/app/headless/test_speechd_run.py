from __future__ import annotations

import asyncio
import io
import logging
from pathlib import Path

import pytest

from app.errors import ConfigError
from app.headless.speechd import run as run_module
from app.headless.speechd.protocol import Debug
from app.headless.speechd.run import Asked, Logbook, converse, load


def module_file(folder: Path, text: str) -> Path:
    path = folder / "nearfield.conf"
    path.write_text(text)
    return path


def test_the_modules_file_goes_before_nearfields_and_flags_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the environment between the two files."""
    own = tmp_path / "config.yaml"
    own.write_text("server: {url: ws://own:1}\naudio: {volume: 0.5, latency_s: 0.3}\nvoice: {name: own}\n")
    monkeypatch.setenv("NEARFIELD_VOICE_NAME", "environment")
    path = module_file(
        tmp_path,
        f'# a comment\nConfig "{own}"\nDemo yes\n\naudio.latency_s 0.05 # short\nserver.url ws://module:1\n',
    )
    config, is_demo = load(Asked(path, flags={"server.url": "ws://flag:1", "voice.seed": None}))
    assert is_demo
    assert config.server.url == "ws://flag:1"
    assert (config.audio.latency_s, config.audio.volume) == (0.05, 0.5)
    assert config.voice.name == "environment"


def test_no_file_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Speech-dispatcher names one that may be absent."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config, is_demo = load(Asked(tmp_path / "absent.conf"))
    assert not is_demo
    assert config.audio.latency_s == 0.1
    assert load(Asked(is_demo=True))[1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("audio.latency 1\n", "unknown key audio.latency"),
        ("one\n", "line 1: expected a key and a value"),
        ("\na b c\n", "line 2"),
        ('a "b\n', "line 1"),
        ("audio.latency_s soon\n", r"nearfield\.conf: audio\.latency_s"),
        ("Config /nowhere/at/all.yaml\n", "/nowhere/at/all.yaml"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_place(tmp_path: Path, text: str, why: str) -> None:
    """Whoever wrote it finds it."""
    with pytest.raises(ConfigError, match=why):
        load(Asked(module_file(tmp_path, text)))


def test_a_module_that_cannot_start_says_why() -> None:
    """To speech-dispatcher, which shows it in its log."""
    out = io.BytesIO()
    assert run_module._refuse(io.BytesIO(b"INIT\n"), out, "no such thing") == 1
    assert out.getvalue() == b"399-no such thing\n399 ERR CANT INIT MODULE\n"
    out = io.BytesIO()
    assert run_module._refuse(io.BytesIO(b""), out, "no such thing") == 1
    assert out.getvalue() == b""


def test_the_log_goes_to_a_file_while_it_is_asked_to(tmp_path: Path) -> None:
    """All of it, and as before afterwards."""
    log, path = logging.getLogger("nearfield.speechd"), tmp_path / "debug.log"
    logbook = Logbook()
    assert logbook.write_to(Debug(True, str(path)))
    log.debug("one")
    assert logbook.write_to(Debug(False, ""))
    log.debug("two")
    assert path.read_text() == "one\n"
    assert not logbook.write_to(Debug(True, str(tmp_path / "no" / "folder")))
    assert logbook.write_to(Debug(False, ""))


async def test_a_line_without_end_ends_the_conversation(caplog: pytest.LogCaptureFixture) -> None:
    """So does the end of input in mid-line."""
    for data in (b"x" * 5000 + b"\n", b"INI"):
        reader = asyncio.StreamReader(limit=1000)
        reader.feed_data(data)
        reader.feed_eof()
        said: list[str] = []
        await asyncio.wait_for(converse(None, reader, said.extend), 5)  # type: ignore[arg-type]
        assert said == []
    assert "that is not speech-dispatcher" in caplog.text
