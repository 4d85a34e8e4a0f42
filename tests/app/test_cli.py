from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli import _config, _is_plain, _parse, _parser, main
from app.config import Config
from app.gui.run import WindowOptions


@pytest.fixture(autouse=True)
def nothing_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No configuration file, no NEARFIELD_ variables, and the root logger as it was."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("NEARFIELD_SERVER", "NEARFIELD_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    root, level, handlers = logging.getLogger(), logging.getLogger().level, list(logging.getLogger().handlers)
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


def config(*arguments: str) -> Config:
    """The configuration that these arguments make."""
    return _config(_parse(_parser(), arguments))


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is printed when these arguments are refused."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


# -- what is refused ---------------------------------------------------------------------------------------


def test_an_unknown_option_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    text = refusal(capsys, "--bogus", "--no-gui")
    assert "unrecognized arguments: --bogus" in text
    assert "--no-gui" in text.split("known options:")[1]


@pytest.mark.parametrize(
    "arguments", [("say", "hi", "--bogus"), ("--bogus", "say", "hi"), ("say", "--bogus", "hi")]
)
def test_an_unknown_option_of_a_command_lists_the_commands_own(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    text = refusal(capsys, *arguments)
    assert text.startswith("nearfield say: unrecognized arguments: --bogus")
    assert {"--no-play", "--output", "--voice"} <= set(text.split("known options:")[1].split())


def test_an_unknown_command_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    text = refusal(capsys, "sing")
    assert all(name in text for name in ("sing", "say", "fetch", "devices"))


@pytest.mark.parametrize(
    "arguments",
    [("say",), ("fetch",), ("say", "hi", "--voice"), ("say", "hi", "--clipboard"), ("say", "--speed")],
)
def test_what_is_missing_or_too_much_is_told(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert "--help" in refusal(capsys, *arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--latency", "soon"], "the command line: audio.latency_s: expected a number"),
        (["--threads", "-1"], "the command line: decoder.threads: expected a whole number >= 0"),
        (["--config", "/nowhere/at/all.yaml"], "there is no configuration file /nowhere/at/all.yaml"),
    ],
)
def test_a_value_that_cannot_be_used_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["say", "hi", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"nearfield: {words}")
    assert err.count("\n") == 1


def test_a_missing_checkpoint_is_one_line_that_names_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["say", "hi", "--no-play", "--checkpoint", str(tmp_path / "none")]) != 0
    err = capsys.readouterr().err
    assert err.startswith("nearfield: ")
    assert str(tmp_path / "none") in err
    assert "Traceback" not in err


@pytest.mark.skipif(os.name == "nt", reason="files have no such modes")
def test_a_kiosk_whose_token_others_can_read_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "kiosk.yaml"
    path.write_text("kiosk:\n  sources: [http]\n  http_token: sesame\n")
    path.chmod(0o644)
    assert main(["--no-gui", "--demo", "--config", str(path)]) == 2
    told = capsys.readouterr().err
    assert f"chmod 600 {path}" in told
    assert "sesame" not in told


# -- the window ------------------------------------------------------------------------------------------


@pytest.fixture
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_screen")
@pytest.mark.parametrize("arguments", [[], ["--demo"], ["--profile-startup"], ["say", "--clipboard"]])
def test_without_a_screen_the_window_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    if sys.platform.startswith("linux"):
        assert main(arguments) == 2
        err = capsys.readouterr().err
        assert err.startswith("nearfield: ")
        assert err.count("\n") == 1


def test_the_window_gets_what_was_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[Path | None, dict[str, object], bool, bool]] = []

    def run(path: Path | None, flags: dict[str, object], demo: bool, options: WindowOptions) -> int:
        asked.append((path, {k: v for k, v in flags.items() if v is not None}, demo, options.profile_startup))
        return 7

    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.setattr("app.gui.run.run", run)
    path = tmp_path / "not there yet.yaml"
    assert main(["--config", str(path), "--voice", "vivian"]) == 7
    assert main(["--demo", "--profile-startup"]) == 7
    assert asked == [(path, {"voice.name": "vivian"}, False, False), (None, {}, True, True)]


def test_the_window_does_not_drop_what_the_demo_brings_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert "leave out --server" in refusal(capsys, "--demo", "--server", "ws://h")


@pytest.mark.parametrize(
    ("arguments", "is_plain"),
    [
        (["--clipboard"], True),
        (["--clipboard", "-v"], True),
        (["--clipboard", "--voice", "x"], False),
        (["--clipboard", "-o", "x.wav"], False),
        (["--clipboard", "--no-play"], False),
        (["--clipboard", "--demo"], False),
    ],
)
def test_an_open_window_speaks_the_clipboard_unless_more_is_asked(
    arguments: list[str], is_plain: bool
) -> None:
    assert _is_plain(_parse(_parser(), ["say", *arguments])) is is_plain


# -- what is understood ------------------------------------------------------------------------------------


def test_a_text_without_quotes_is_one_text() -> None:
    options = _parse(_parser(), ["say", "Hello", "from", "the", "edge", "--json"])
    assert options.text == ["Hello", "from", "the", "edge"]


@pytest.mark.parametrize("flag", ["--server", "--voice", "--checkpoint"])
def test_the_demo_does_not_drop_what_it_brings_itself(capsys: pytest.CaptureFixture[str], flag: str) -> None:
    text = refusal(capsys, "say", "--demo", "hi", flag, "x")
    assert flag in text
    assert "leave out" in text


def test_every_flag_reaches_its_key() -> None:
    flags = {
        "--server": ("server", "url", "ws://h"),
        "--voice": ("voice", "name", "vivian"),
        "--language": ("voice", "language", "English"),
        "--task": ("voice", "task", "Base"),
        "--instructions": ("voice", "instructions", "calm"),
        "--seed": ("voice", "seed", "7"),
        "--checkpoint": ("decoder", "checkpoint", "x/y"),
        "--decoder-device": ("decoder", "device", "cuda"),
        "--threads": ("decoder", "threads", "2"),
        "--device": ("audio", "device", "ALSA: x"),
        "--latency": ("audio", "latency_s", "0.2"),
        "--start-buffer": ("audio", "start_buffer_s", "0.3"),
        "--lead-in": ("audio", "lead_in_s", "0.5"),
        "--patience": ("server", "patience_s", "30.0"),
    }
    given = [part for flag, (_, _, value) in flags.items() for part in (flag, value)]
    for arguments in (["say", "hi", *given], [*given, "say", "hi"], ["--no-gui", *given]):
        made = config(*arguments)
        for section, key, value in flags.values():
            assert str(getattr(getattr(made, section), key)) == value


def test_a_flag_after_the_command_wins_and_an_absent_one_undoes_nothing() -> None:
    assert config("--voice", "a", "say", "hi", "--voice", "b").voice.name == "b"
    assert config("--voice", "a", "say", "hi").voice.name == "a"


def test_switches_may_stand_on_either_side_of_the_command() -> None:
    for arguments in (["--demo", "--json", "-vv", "say", "hi"], ["say", "hi", "--demo", "--json", "-vv"]):
        options = _parse(_parser(), arguments)
        assert (options.demo, options.json, options.verbose) == (True, True, 2)
    assert _parse(_parser(), ["devices", "-v"]).verbose == 1
    assert _parse(_parser(), ["devices"]).verbose == 0


def test_the_configuration_file_is_read_and_flags_win(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("voice: {name: file, language: file}")
    voice = config("--config", str(path), "say", "hi", "--voice", "flag").voice
    assert (voice.name, voice.language) == ("flag", "file")


def test_a_text_that_looks_like_an_option_can_be_said() -> None:
    assert _parse(_parser(), ["say", "--", "--help"]).text == ["--help"]
    assert _parse(_parser(), ["say", "-"]).text == ["-"]
