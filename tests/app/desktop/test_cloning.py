"""A voice to upload, without a window."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from app.desktop.cloning import Cloning, NameFault, name_fault, read_recording
from app.engine.reference import Sample, SampleError
from app.session.voices import UploadedVoice, VoiceList
from tests.helpers.recordings import wav_file

VOICES = VoiceList(("vivian",), (UploadedVoice("Anna"),))


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("Maria", None), ("李雷", None), ("a b-c_d", None), ("x" * 64, None),
        ("", NameFault.MISSING), ("  ", NameFault.MISSING), ("x" * 65, NameFault.TOO_LONG),
        ("a/b", NameFault.BAD_CHARACTER), ("a\\b", NameFault.BAD_CHARACTER), ("..", NameFault.BAD_CHARACTER),
        ("a\nb", NameFault.BAD_CHARACTER),
        (" VIVIAN", NameFault.TAKEN), ("anna", NameFault.TAKEN), ("Default", NameFault.TAKEN),
    ],
)  # fmt: skip
def test_which_names_can_be_given(name: str, fault: NameFault | None) -> None:
    assert name_fault(name, VOICES) is fault


def test_without_a_list_no_name_is_known_to_be_taken() -> None:
    assert name_fault("anna", None) is None


def test_it_is_ready_when_all_of_it_is_there() -> None:
    sample = Sample(b"RIFF", 2.0)
    assert Cloning(Path("a"), sample, "Maria", consents=True).is_ready(VOICES)
    assert not Cloning(Path("a"), sample, "Maria").is_ready(VOICES)
    assert not Cloning(Path("a"), sample, "anna", consents=True).is_ready(VOICES)
    assert not Cloning(None, None, "Maria", consents=True).is_ready(VOICES)


def test_consent_is_sent_with_the_moment_it_was_stated() -> None:
    now = datetime(2026, 11, 30, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))
    voice = Cloning(Path("a"), Sample(b"RIFF", 2.0), " Maria ", " hello ", True).new_voice(now)
    assert (voice.name, voice.ref_text, voice.sample) == ("Maria", "hello", b"RIFF")
    # Servers make a part of a file name of it: short, and nothing but letters, digits and dashes.
    assert voice.consent == "self-stated-20261129T230203Z"


def test_a_recording_proposes_a_name_that_can_be_given(tmp_path: Path) -> None:
    sample, name = read_recording(wav_file(tmp_path / "My voice (1).wav", 2.0))
    assert sample.duration_s == 2.0
    assert name == "My voice _1_"
    assert name_fault(name, VOICES) is None
    with pytest.raises(SampleError):
        read_recording(tmp_path / "none.wav")
