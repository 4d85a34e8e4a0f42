from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from app import config as configuration
from app.config import Config, Profile, differences, known_keys, load, merge, require_private
from app.errors import ConfigError
from decoder.wire.rules import MAX_ASKED_FRAMES
from tests.helpers.config_values import text_of, unlike, value_of

KEY = "sk-very-secret"


@pytest.fixture(autouse=True)
def no_file_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "some.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def fault(**arguments: object) -> str:
    """The text of the error that loading with these arguments raises."""
    with pytest.raises(ConfigError) as raised:
        load(**{"environment": {}, **arguments})  # type: ignore[arg-type]
    assert raised.value.exit_code == 2
    return str(raised.value)


def test_without_anything_there_are_the_defaults() -> None:
    assert load(environment={}) == Config()
    assert Config().server.url == "ws://127.0.0.1:8001", "C12: no name that is looked up twice"


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "voice: {name: file, language: file, task: file}\naudio: {latency_s: 0.5}")
    environment = {"NEARFIELD_VOICE_LANGUAGE": "environment", "NEARFIELD_VOICE_TASK": "environment"}
    flags = {"voice.task": "flag", "voice.seed": "12", "voice.name": None}
    config = load(path, environment, flags)
    voice = config.voice
    assert (voice.name, voice.language, voice.task, voice.seed) == ("file", "environment", "flag", 12)
    assert config.audio.latency_s == 0.5
    assert config.server == Config().server


def test_the_default_file_is_read_if_it_is_there() -> None:
    path = configuration.default_path()
    path.parent.mkdir(parents=True)
    path.write_text("voice: {name: vivian}")
    assert load(environment={}).voice.name == "vivian"


@pytest.mark.parametrize("key", [k for k in known_keys() if not isinstance(value_of(Config(), k), tuple)])
def test_every_key_but_lists_can_be_set_from_the_environment(key: str) -> None:
    value = unlike(key)
    name = f"NEARFIELD_{key.replace('.', '_')}".upper()
    assert value_of(load(environment={name: text_of(value)}), key) == value != value_of(Config(), key)


def test_a_list_cannot_come_from_the_environment_and_says_so() -> None:
    text = fault(environment={"NEARFIELD_PROFILES_SAVED": "[]"})
    assert text.startswith("the environment: profiles.saved")
    assert "only be written in the configuration file" in text


def test_short_names_and_the_names_of_others() -> None:
    environment = {
        "NEARFIELD_SERVER": "ws://h",
        "NEARFIELD_API_KEY": KEY,
        "NEARFIELD_TORCH_INDEX": "/x",
        "PATH": "/bin",
    }
    server = load(environment=environment).server
    assert (server.url, server.api_key) == ("ws://h", KEY)


def test_a_name_with_our_prefix_that_is_none_of_ours_is_told() -> None:
    text = fault(environment={"NEARFIELD_AUDOI_DEVICE": "x"})
    assert "NEARFIELD_AUDOI_DEVICE" in text
    assert "known are server, voice, decoder, audio" in text


@pytest.mark.parametrize("content", ["", "\n# nothing\n", "voice:\n  # name: vivian\n", "{}"])
def test_a_file_with_everything_commented_out_is_the_defaults(tmp_path: Path, content: str) -> None:
    assert load(written(tmp_path, content), {}) == Config()


# -- profiles ----------------------------------------------------------------------------------------------


def test_profiles_come_from_the_file_in_their_order(tmp_path: Path) -> None:
    text = "profiles:\n  current: Lab\n  saved:\n  - {name: Lab, url: 'wss://lab', ca_file: /ca.pem}\n"
    text += "  - {name: Büro, url: box, allow_insecure_key: true}\n"
    profiles = load(written(tmp_path, text), {}).profiles
    assert profiles.current == "Lab"
    assert profiles.saved == (Profile("Lab", "wss://lab", "/ca.pem"), Profile("Büro", "box", "", True))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("saved: [{name: a, url: b, utl: c}]", "unknown key utl in profiles.saved; known are name, url"),
        ("saved: [{name: a}]", "profiles.saved[0]: object missing required field `url`"),
        ("saved: [{name: '', url: b}]", "profiles.saved[0].name: expected text of length >= 1"),
        ("saved: [{name: a, url: b}, {name: A, url: c}]", "profile name 'a' is taken"),
        ("saved: [{name: demo, url: b}]", "profile name 'demo' is taken"),
        ("saved: some", "a list"),
        ("saved: 5", "expected `array`"),
        ("saved: [5]", "profiles.saved[0]: expected `object`"),
        ("current: Lab", "there is no profile 'Lab'; known are Demo"),
    ],
)
def test_profiles_that_cannot_be_used_say_why_and_where(tmp_path: Path, content: str, words: str) -> None:
    text = fault(path=written(tmp_path, f"profiles: {{{content}}}"))
    assert words in text
    assert text.startswith(str(tmp_path)), "which file"


# -- differences -------------------------------------------------------------------------------------------


def test_the_differences_are_what_is_not_the_default_and_read_back_the_same(tmp_path: Path) -> None:
    assert differences(Config()) == {}
    text = "voice: {seed: '3', name: ''}\nprofiles: {saved: [{name: a, url: b}]}\naudio: {volume: 0.25}"
    config = load(written(tmp_path, text), {})
    different = differences(config)
    assert {key: different[key] for key in ("voice.seed", "audio.volume")} == {
        "voice.seed": 3,
        "audio.volume": 0.25,
    }
    assert "voice.name" not in different
    assert merge(("again", different)) == config


# -- unknown -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["vocie: {name: x}", "vocie:", "vocie: {}", "vocie: [1]", "1: {a: b}"])
def test_an_unknown_section_lists_the_known_ones(tmp_path: Path, content: str) -> None:
    text = fault(path=written(tmp_path, content))
    assert "unknown section" in text
    assert "server, voice, decoder, audio" in text
    assert str(tmp_path) in text


def test_an_unknown_key_lists_the_known_ones_and_says_where_it_is(tmp_path: Path) -> None:
    text = fault(path=written(tmp_path, "voice: {nmae: x}"))
    assert "unknown key voice.nmae" in text
    assert "name, language, task, instructions, seed" in text
    assert str(tmp_path) in text
    assert "the environment: unknown key voice.nmae" in fault(environment={"NEARFIELD_VOICE_NMAE": "x"})
    assert "the command line: unknown key voice.nmae" in fault(flags={"voice.nmae": "x"})


def test_every_known_key_is_listed_once() -> None:
    keys = known_keys()
    assert len(keys) == len(set(keys))
    assert {"server.url", "voice.seed", "decoder.threads", "audio.lead_in_s"} <= set(keys)


# -- bad values --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("audio.latency_s", "soon", "expected a number, got text"),
        ("audio.latency_s", "-1", "expected a number >= 0.0"),
        ("audio.latency_s", "2.1", "expected a number <= 2.0"),
        ("audio.latency_s", "nan", "expected a number"),
        ("audio.start_buffer_s", "inf", "expected a number"),
        ("server.connect_timeout_s", "1e9", "expected a number <= 3600"),
        ("server.connect_timeout_s", "0", "expected a number >= 0.5"),
        ("server.packet_frames", f"{MAX_ASKED_FRAMES + 1}", f"expected a whole number <= {MAX_ASKED_FRAMES}"),
        ("server.packet_frames", "-1", "expected a whole number >= 0"),
        ("decoder.threads", "-1", "expected a whole number >= 0"),
        ("decoder.threads", "two", "expected a whole number"),
        ("voice.seed", "1.5", "expected a whole number"),
        ("server.allow_insecure_key", "maybe", "expected true or false"),
        ("decoder.precision", "low", "exact|auto|fast"),
        ("voice.name", ["a"], "expected text, got `array`"),
        ("voice.name", 5, "expected text, got a whole number"),
        ("audio.volume", 1.01, "expected a number <= 1.0"),
        ("appearance.theme", "blue", "system|light|dark"),
        ("appearance.text_scale", 3, "expected a number <= 2.0"),
        ("appearance.language", "de", "system|en|zh_CN"),
        ("window.on_close", "maybe", "ask|tray|quit"),
        ("window.history_mb", 9, "expected a whole number >= 10"),
    ],
)
def test_a_value_that_does_not_fit_says_which_and_what_would(key: str, value: object, words: str) -> None:
    text = fault(flags={key: value})
    assert text.startswith(f"the command line: {key}: ")
    assert words in text


@pytest.mark.parametrize("content", ["just words", "- a\n- b", "3"])
def test_a_file_of_no_sections_says_what_was_expected(tmp_path: Path, content: str) -> None:
    text = fault(path=written(tmp_path, content))
    assert "expected sections server, voice, decoder, audio" in text


def test_a_section_that_is_no_mapping_is_named(tmp_path: Path) -> None:
    assert "section 'voice' is not a mapping" in fault(path=written(tmp_path, "voice: vivian"))


# -- files that cannot be read -----------------------------------------------------------------------------


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    assert str(tmp_path / "absent.yaml") in fault(path=tmp_path / "absent.yaml")
    assert "cannot be read" in fault(path=tmp_path)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"voice: {name: \x00}"])
def test_a_file_that_is_no_text_is_named(tmp_path: Path, content: bytes) -> None:
    assert str(tmp_path) in fault(path=written(tmp_path, content))


@pytest.mark.parametrize(
    "content",
    [
        f'server:\n  api_key: "{KEY}\n',
        f"server:\n  api_key: {KEY}: x\n",
        f"server:\n  api_key: @{KEY}\n",
        f"server: {{api_key: {KEY}\nvoice: ]",
    ],
)
def test_broken_yaml_names_the_place_and_shows_no_line_of_it(tmp_path: Path, content: str) -> None:
    """The line may hold the key, and errors end up in logs."""
    text = fault(path=written(tmp_path, content))
    assert "is not YAML" in text
    assert "in line" in text
    assert KEY not in text


# -- what it is --------------------------------------------------------------------------------------------


def test_the_key_is_not_in_the_repr() -> None:
    assert KEY not in repr(load(environment={"NEARFIELD_API_KEY": KEY}))


def test_it_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().server.url = "ws://other"  # type: ignore[misc]


@pytest.mark.skipif(os.name == "nt", reason="files have no such modes")
def test_a_secret_stands_in_no_file_that_others_can_read(tmp_path: Path) -> None:
    path = written(tmp_path, f"kiosk:\n  http_token: {KEY}\n")
    path.chmod(0o600)
    require_private(path, "kiosk.http_token")
    for mode in (0o640, 0o604, 0o644):
        path.chmod(mode)
        with pytest.raises(ConfigError, match="chmod 600") as raised:
            require_private(path, "kiosk.http_token")
        assert KEY not in str(raised.value)
        require_private(path, "server.api_key")  # which is not in it
    require_private(None, "kiosk.http_token")  # there is no file
