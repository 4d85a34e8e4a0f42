"""Which settings of a voice are sent for which task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.config import Config, VoiceConfig
from app.engine.build import session_config
from app.engine.voicing import TAKES, spoken
from app.errors import ConfigError
from decoder.wire.rules import TASK_TYPES
from tests.helpers.recordings import wav_file

ALL = VoiceConfig("Vivian", "English", "", "gently", 7, "https://h/a.wav", "hello", False)


def test_every_task_of_the_protocol_has_its_fields() -> None:
    assert set(TAKES) == set(TASK_TYPES)


@pytest.mark.parametrize(
    ("task", "sent"),
    [
        ("CustomVoice", VoiceConfig("vivian", "English", "CustomVoice", "gently", 7)),
        ("VoiceDesign", VoiceConfig("", "English", "VoiceDesign", "gently", 7)),
        ("Base", VoiceConfig("", "English", "Base", "", 7, "https://h/a.wav", "hello")),
    ],
)
def test_a_task_gets_what_it_takes_and_no_more(task: str, sent: VoiceConfig) -> None:
    assert spoken(replace(ALL, task=task)) == sent
    session_config(Config(voice=replace(ALL, task=task)))


def test_a_clone_is_of_a_recording_or_of_an_uploaded_voice_or_of_the_timbre_alone() -> None:
    of_uploaded = spoken(replace(ALL, task="Base", ref_audio=" ", x_vector_only=True))
    assert of_uploaded == VoiceConfig("vivian", "English", "Base", seed=7)
    of_timbre = spoken(replace(ALL, task="Base", x_vector_only=True))
    assert (of_timbre.ref_audio, of_timbre.ref_text, of_timbre.x_vector_only) == ("https://h/a.wav", "", True)


def test_a_recording_reaches_the_message(tmp_path: Path) -> None:
    voice = VoiceConfig(task="Base", ref_audio=str(wav_file(tmp_path / "a.wav", 2.0)), ref_text=" hello ")
    sent = session_config(Config(voice=voice))
    assert (sent.ref_audio or "").startswith("data:audio/wav;base64,UklGR")
    assert (sent.task_type, sent.ref_text, sent.x_vector_only_mode) == ("Base", "hello", None)


@pytest.mark.parametrize(
    ("voice", "words"),
    [
        (replace(ALL, task=""), "only for task_type Base"),
        (replace(ALL, task="Basis"), "task_type 'Basis' is not one of"),
        (replace(ALL, task="Base", ref_text=""), "ref_text is required"),
        (VoiceConfig(task="Base"), "requires ref_audio"),
        (VoiceConfig(task="VoiceDesign", instructions=" "), "requires instructions"),
        (VoiceConfig(language="Klingon"), "language 'Klingon'"),
        (VoiceConfig(instructions="x" * 501), "501 characters"),
    ],
)
def test_what_no_server_takes_is_refused_here(voice: VoiceConfig, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        session_config(Config(voice=voice))


def test_the_placeholder_is_no_voice() -> None:
    assert session_config(Config(voice=VoiceConfig(" Default "))).voice is None
