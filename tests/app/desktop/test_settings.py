from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app import config as configuration
from app.config import Config, known_keys, load, secret_keys
from app.desktop import safe_file
from app.desktop.settings import Settings
from app.errors import ConfigError
from tests.helpers.config_values import value_of, values_of

KEY = "sk-very-secret"

KEYS = [key for key in known_keys() if key not in secret_keys()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "nearfield" / "config.yaml"


def opened(path: Path, **arguments: Any) -> Settings:
    """Settings of a file that need not be there, as the default one."""
    return Settings(path, **{"environment": {}, **arguments})


# -- what goes in comes out --------------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS)
def test_every_key_survives_a_restart(key: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(values_of(key))
    def check(value: Any) -> None:
        path = tmp_path_factory.mktemp("round") / "config.yaml"
        made = opened(path)
        assert made.update(**{key: value})
        assert value_of(made.effective, key) == value
        assert value_of(load(path, {}) if path.exists() else Config(), key) == value
        assert opened(path).effective == made.effective

    check()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_changes_one_after_another_are_all_there(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("many") / "config.yaml"
    made = opened(path)
    wanted: dict[str, Any] = {}
    for key in data.draw(st.lists(st.sampled_from(KEYS), max_size=8)):
        wanted[key] = data.draw(values_of(key), label=key)
        made.update(**{key: wanted[key]})
    again = opened(path).effective
    assert again == made.effective
    for key in KEYS:
        assert value_of(again, key) == wanted.get(key, value_of(Config(), key))


def test_only_what_differs_is_written_and_a_default_leaves_the_file(path: Path) -> None:
    made = opened(path)
    made.update(**{"audio.volume": 0.5, "voice.name": "vivian", "appearance.theme": "system"})
    assert yaml.safe_load(path.read_text()) == {"voice": {"name": "vivian"}, "audio": {"volume": 0.5}}
    made.update(**{"audio.volume": 1.0})
    assert yaml.safe_load(path.read_text()) == {"voice": {"name": "vivian"}}


def test_nothing_is_written_before_something_is_changed(path: Path) -> None:
    opened(path).update(**{"audio.volume": 1.0})
    assert not path.parent.exists()


def test_the_default_file_is_that_of_the_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    made = Settings(environment={})
    made.update(**{"voice.name": "vivian"})
    assert made.path == configuration.default_path()
    assert load(environment={}).voice.name == "vivian"
    assert made.problem == "", "that the default file is absent is nothing to tell"


# -- environment and command line --------------------------------------------------------------------------


def test_environment_and_flags_count_but_never_get_into_the_file(path: Path) -> None:
    made = opened(
        path,
        environment={"NEARFIELD_VOICE_NAME": "envy", "NEARFIELD_API_KEY": KEY},
        flags={"audio.latency_s": "0.5", "audio.device": None},
    )
    assert (made.effective.voice.name, made.effective.audio.latency_s) == ("envy", 0.5)
    assert made.effective.server.api_key == KEY
    made.update(**{"audio.volume": 0.5})
    assert yaml.safe_load(path.read_text()) == {"audio": {"volume": 0.5}}
    assert made.effective.voice.name == "envy"
    assert [
        made.source(key) for key in ("voice.name", "audio.latency_s", "audio.volume", "audio.device")
    ] == [
        "environment",
        "command line",
        "",
        "",
    ]


def test_what_is_set_in_the_window_wins_until_the_end_and_only_for_its_key(path: Path) -> None:
    made = opened(path, environment={"NEARFIELD_VOICE_NAME": "envy", "NEARFIELD_VOICE_LANGUAGE": "English"})
    made.update(**{"voice.name": "vivian"})
    assert (made.effective.voice.name, made.effective.voice.language) == ("vivian", "English")
    assert made.source("voice.name") == ""
    assert made.source("voice.language") == "environment"


def test_nonsense_in_the_environment_or_the_flags_is_an_error_as_for_the_commands(path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the environment: audio\.volume"):
        opened(path, environment={"NEARFIELD_AUDIO_VOLUME": "loud"})
    with pytest.raises(ConfigError, match=r"the command line: unknown key audio\.colour"):
        opened(path, flags={"audio.colour": "red"})


# -- keys --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", secret_keys())
def test_a_key_is_never_written(path: Path, key: str) -> None:
    made = opened(path, environment={f"NEARFIELD_{key.replace('.', '_').upper()}": KEY})
    assert value_of(made.effective, key) == KEY
    with pytest.raises(ConfigError, match="not written"):
        made.update(**{key: KEY, "audio.volume": 0.5})
    assert made.effective.audio.volume == 1.0
    made.update(**{"voice.name": "vivian"})
    assert KEY not in path.read_text()


@pytest.mark.parametrize("key", secret_keys())
def test_a_key_that_was_written_by_hand_stays_and_makes_the_file_private(path: Path, key: str) -> None:
    section, _, name = key.partition(".")
    path.parent.mkdir()
    path.write_text(f"{section}: {{{name}: {KEY}}}")
    path.chmod(0o644)
    opened(path).update(**{"audio.volume": 0.5})
    assert value_of(load(path, {}), key) == KEY
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(path: Path) -> None:
    made = opened(path)
    made.update(**{"audio.volume": 0.5})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    made.update(**{"audio.volume": 0.6})
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


# -- wrong values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"audio.volume": 2}, r"audio\.volume: expected a number <= 1\.0"),
        ({"audio.colour": "red"}, r"unknown key audio\.colour; known are device"),
        ({"colour": "red"}, "unknown section 'colour'"),
        ({"profiles.current": "Lab"}, "there is no profile 'Lab'"),
        ({"voice.name": "fine", "audio.volume": "loud"}, r"audio\.volume"),
    ],
)
def test_a_value_that_does_not_fit_changes_nothing(path: Path, changes: dict[str, Any], words: str) -> None:
    made = opened(path)
    made.update(**{"audio.volume": 0.5})
    before, content = made.effective, path.read_text()
    with pytest.raises(ConfigError, match=words):
        made.update(**changes)
    assert (made.effective, path.read_text()) == (before, content)


# -- listeners ---------------------------------------------------------------------------------------------


def test_listeners_get_old_and_new_and_only_when_something_changed(path: Path) -> None:
    made = opened(path)
    told: list[tuple[float, float]] = []
    made.subscribe(lambda old, new: 1 / 0)  # one that fails harms nobody
    end = made.subscribe(lambda old, new: told.append((old.audio.volume, new.audio.volume)))
    made.update(**{"audio.volume": 0.5})
    made.update(**{"audio.volume": 0.5})
    end()
    made.update(**{"audio.volume": 0.25})
    assert told == [(1.0, 0.5)]


# -- a crash, a full disk, a folder that cannot be written -------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_failure_at_any_step_leaves_the_old_file_and_the_new_value_in_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    made = opened(path)
    made.update(**{"audio.volume": 0.5})
    before = path.read_text()
    problems: list[str] = []
    made.subscribe_problem(problems.append)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(safe_file.os, step, fail)
        assert not made.update(**{"audio.volume": 0.75})
        assert not made.update(**{"voice.name": "vivian"})
    assert path.read_text() == before
    assert os.listdir(path.parent) == ["config.yaml"], "no litter"
    assert "No space left" in made.problem
    assert str(path) in made.problem
    assert (made.effective.audio.volume, made.effective.voice.name) == (0.75, "vivian")

    assert made.update(**{"voice.language": "English"})
    assert yaml.safe_load(path.read_text()) == {
        "voice": {"name": "vivian", "language": "English"},
        "audio": {"volume": 0.75},
    }, "all that could not be saved before"
    assert made.problem == problems[-1] == ""


def test_a_process_that_dies_while_writing_leaves_the_old_file(path: Path) -> None:
    opened(path).update(**{"audio.volume": 0.5})
    before = path.read_text()
    program = """
import os, sys
from pathlib import Path
from app.desktop import safe_file
from app.desktop.settings import Settings
safe_file.os.replace = lambda *_: os._exit(9)  # after writing, before replacing: as by a power cut
Settings(Path(sys.argv[1]), {}).update(**{"audio.volume": 0.25})
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == 9
    assert path.read_text() == before
    assert opened(path).effective.audio.volume == 0.5


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "config.yaml"
    made = Settings(path, environment={})
    assert str(path) in made.problem, "a named file that is absent is told"
    assert made.update(**{"audio.volume": 0.5})
    assert load(path, {}).audio.volume == 0.5
    assert made.problem == ""


def test_a_folder_that_cannot_be_made_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    made = opened(tmp_path / "file" / "config.yaml")
    assert not made.update(**{"audio.volume": 0.5})
    assert "cannot be saved" in made.problem
    assert made.effective.audio.volume == 0.5


def test_a_file_that_was_made_read_only_stays_as_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = opened(path)
    made.update(**{"audio.volume": 0.5})
    # Root may write everything, so the answer of the system is given.
    monkeypatch.setattr(safe_file.os, "access", lambda where, how: False)
    assert not made.update(**{"audio.volume": 0.25})
    assert "read-only" in made.problem
    assert load(path, {}).audio.volume == 0.5


def test_a_link_stays_one(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    real = tmp_path / "dotfiles.yaml"
    real.write_text("voice: {name: vivian}")
    path.symlink_to(real)
    opened(path).update(**{"audio.volume": 0.5})
    assert path.is_symlink()
    assert load(real, {}).audio.volume == 0.5


# -- edited meanwhile --------------------------------------------------------------------------------------


def test_a_key_that_was_changed_by_hand_meanwhile_stays(path: Path) -> None:
    made = opened(path)
    made.update(**{"audio.volume": 0.5})
    path.write_text("audio: {volume: 0.5, latency_s: 0.3}\nvoice: {seed: '7'}\n")
    made.update(**{"audio.volume": 0.25})
    assert made.effective.voice.seed == 7
    assert yaml.safe_load(path.read_text()) == {
        "voice": {"seed": 7},
        "audio": {"latency_s": 0.3, "volume": 0.25},
    }


def test_of_two_windows_the_last_one_wins_and_the_rest_of_both_stays(path: Path) -> None:
    one, other = opened(path), opened(path)
    one.update(**{"audio.volume": 0.5, "voice.name": "one"})
    other.update(**{"audio.latency_s": 0.5, "voice.name": "other"})
    one.update(**{"audio.lead_in_s": 0.5})
    final = load(path, {})
    assert (final.audio.volume, final.audio.latency_s, final.audio.lead_in_s) == (0.5, 0.5, 0.5)
    assert final.voice.name == one.effective.voice.name == "other"


def test_refreshing_takes_what_the_file_says_now_and_keeps_what_could_not_be_saved(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(path)
    made.update(**{"audio.volume": 0.5})
    told: list[str] = []
    made.subscribe(lambda old, new: told.append(new.voice.name))
    path.write_text("voice: {name: vivian}")
    made.refresh()
    assert (made.effective.voice.name, made.effective.audio.volume) == ("vivian", 1.0)
    assert told == ["vivian"]
    monkeypatch.setattr(safe_file.os, "replace", lambda *_: raise_full())
    made.update(**{"audio.volume": 0.25})
    path.write_text("voice: {name: uncle_fu}")
    made.refresh()
    assert (made.effective.voice.name, made.effective.audio.volume) == ("uncle_fu", 0.25)


def raise_full() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_that_vanished_meanwhile_is_written_again_whole(path: Path) -> None:
    made = opened(path)
    made.update(**{"audio.volume": 0.5})
    path.unlink()
    made.update(**{"voice.name": "vivian"})
    assert load(path, {}).audio.volume == 0.5


def test_a_file_that_was_broken_meanwhile_is_kept_aside_and_nothing_is_lost(path: Path) -> None:
    made = opened(path)
    made.update(**{"audio.volume": 0.5})
    path.write_text("audio: [")
    made.update(**{"voice.name": "vivian"})
    assert "broken-1" in made.problem
    assert path.with_name("config.yaml.broken-1").read_text() == "audio: ["
    assert (load(path, {}).audio.volume, load(path, {}).voice.name) == (0.5, "vivian")


def test_comments_are_copied_aside_before_they_are_lost_once(path: Path) -> None:
    path.parent.mkdir()
    mine = "# the one in the kitchen\naudio: {volume: 0.5}\n"
    path.write_text(mine)
    made = opened(path)
    made.update(**{"audio.volume": 0.25})
    made.update(**{"audio.volume": 0.75})
    assert path.with_name("config.yaml.by-hand-1").read_text() == mine
    assert len(os.listdir(path.parent)) == 2


# -- broken at the start -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"audio: [",
        b"\xff\xfe\x00",
        b"just words",
        b"vocie: {name: x}",
        b"voice: {nmae: x}",
        b"audio: {volume: 11}",
        b"profiles: {current: Lab}",
        b"profiles: {saved: [{nmae: x}]}",
    ],
)
def test_a_broken_file_is_kept_aside_and_told_and_the_program_starts(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    for number in (1, 2):
        path.write_bytes(content)
        made = opened(path)
        aside = path.with_name(f"config.yaml.broken-{number}")
        assert made.effective == Config()
        assert str(aside) in made.problem
        assert aside.read_bytes() == content
        assert not path.exists()
    assert made.update(**{"audio.volume": 0.5})
    assert load(path, {}).audio.volume == 0.5


def test_a_broken_file_shows_no_key(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir()
    path.write_text(f'server:\n  api_key: "{KEY}\n')
    made = opened(path)
    assert KEY not in made.problem + caplog.text
    assert made.problem in caplog.text


def test_a_broken_file_that_cannot_be_moved_is_left_and_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir()
    path.write_text("audio: [")

    def fail(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "rename", fail)
    made = opened(path)
    assert made.effective == Config()
    assert "Read-only file system" in made.problem
    assert path.read_text() == "audio: ["


def test_every_section_is_tested() -> None:
    assert {key.partition(".")[0] for key in KEYS} == {f.name for f in fields(Config)}
