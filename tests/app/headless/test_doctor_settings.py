"""The configuration as the doctor sees it: who says what, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.headless.doctor import settings
from app.headless.doctor.finding import Finding, Verdict
from app.headless.doctor.settings import Asked, read


def look(
    path: Path,
    text: str = "",
    *,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Finding:
    if text:
        path.write_text(text)
        path.chmod(0o600)
    return read(Asked(path, flags, environ or {})).finding


def test_each_value_is_told_with_where_it_is_from(tmp_path: Path) -> None:
    """The strongest source is named, and a default is none."""
    file = tmp_path / "config.yaml"
    found = look(
        file,
        "server: {url: 'ws://file:1', patience_s: 5}\naudio: {latency_s: 0.2}",
        environ={"NEARFIELD_AUDIO_LATENCY_S": "0.3", "HOME": "/"},
        flags={"voice.name": "vivian", "server.patience_s": None},
    )
    assert found.verdict is Verdict.OK
    assert found.summary.splitlines() == [
        "audio.latency_s = 0.3 (environment)",
        f"server.patience_s = 5.0 ({file})",
        f"server.url = ws://file:1 ({file})",
        "voice.name = vivian (command line)",
    ]
    values = found.facts["values"]
    assert isinstance(values, Mapping)
    assert values["audio.latency_s"] == 0.3
    assert values["audio.volume"] == 1.0, "defaults are among the facts"
    assert "audio.volume" not in str(found.facts["from"])


def test_secrets_are_masked_wherever_they_are_from(tmp_path: Path) -> None:
    found = look(
        tmp_path / "config.yaml",
        "server: {api_key: hidden-1}",
        environ={"NEARFIELD_KIOSK_HTTP_TOKEN": "hidden-2"},
    )
    assert "server.api_key = •••" in found.summary
    assert "kiosk.http_token = ••• (environment)" in found.summary
    assert "hidden" not in str(found)


def test_a_key_in_a_file_that_others_can_read_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("server: {api_key: hidden}")
    file.chmod(0o644)
    found = look(file)
    assert found.verdict is Verdict.WARNING
    assert "others can read" in found.summary
    assert found.advice == f"chmod 600 {file}"


def test_so_is_one_in_the_services_own_file(tmp_path: Path) -> None:
    keys = tmp_path / "environment"
    keys.write_text("NEARFIELD_API_KEY=hidden")
    keys.chmod(0o640)
    found = look(tmp_path / "config.yaml", "audio: {volume: 0.5}")
    assert found.verdict is Verdict.WARNING
    assert found.advice == f"chmod 600 {keys}"
    keys.chmod(0o600)
    assert look(tmp_path / "config.yaml").verdict is Verdict.OK


def test_without_a_key_anybody_may_read_the_file(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("audio: {volume: 0.5}")
    file.chmod(0o644)
    assert look(file).verdict is Verdict.OK


def test_a_volume_of_nothing_is_a_warning(tmp_path: Path) -> None:
    found = look(tmp_path / "config.yaml", "audio: {volume: 0}")
    assert found.verdict is Verdict.WARNING
    assert "nobody hears anything" in found.summary


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sever: {url: x}", "unknown section"),
        ("server: {uri: x}", "known are url"),
        ("audio: {volume: 7}", "audio.volume"),
        ("server: [", "not YAML"),
        ("server: {url: 'ftp://x'}", "is not a server address"),
        ("server: {url: 'ws://far.example', api_key: k}", "unencrypted"),
        ("voice: {task: VoiceDesign}", "voice:"),
        ("kiosk: {sources: [http], http_host: 0.0.0.0}", "NEARFIELD_KIOSK_HTTP_TOKEN"),
        ("kiosk: {sources: [wyoming], wyoming_host: 0.0.0.0}", "wyoming_allow_network"),
    ],
)
def test_what_cannot_be_used_is_fatal_and_told_in_its_own_words(tmp_path: Path, text: str, said: str) -> None:
    asked = Asked(tmp_path / "config.yaml", None, {})
    asked.file.write_text(text)
    found = read(asked)
    assert found.config is None
    assert found.finding.verdict is Verdict.PROBLEM
    assert found.finding.is_fatal
    assert said in found.finding.summary
    assert found.finding.advice


def test_a_source_whose_package_is_missing_is_fatal_and_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "find_spec", lambda name: None if name == "aiohttp" else ...)
    found = look(tmp_path / "config.yaml", "kiosk: {sources: [http]}")
    assert found.is_fatal
    assert "aiohttp: pip install 'nearfield[kiosk]'" in found.summary


def test_a_file_that_was_named_and_is_not_there_is_fatal(tmp_path: Path) -> None:
    assert look(tmp_path / "nowhere.yaml").is_fatal
