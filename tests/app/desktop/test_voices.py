"""The choice of a voice, without a window."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config import Config, VoiceConfig
from app.desktop.voices import FaultKind, VoiceChoice, fall_back, services_of
from app.engine.build import session_config
from app.engine.reference import Unfit
from app.session.voices import UploadedVoice, VoiceList
from decoder.wire.rules import LANGUAGES, TASK_TYPES
from tests.helpers.recordings import wav_file
from tests.helpers.voice_server import voice_host

VOICES = VoiceList(("serena", "vivian"), (UploadedVoice("Anna"),))


def chosen(voices: VoiceList | None = VOICES, **values: object) -> VoiceChoice:
    choice = VoiceChoice(VoiceConfig(**values))  # type: ignore[arg-type]
    choice.offer(voices)
    return choice


def kinds(choice: VoiceChoice) -> list[tuple[str, FaultKind]]:
    return [(fault.field, fault.kind) for fault in choice.form.faults]


# -- fields ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "shows"),
    [
        ({}, {"task", "name", "language", "instructions", "seed"}),
        ({"task": "CustomVoice"}, {"task", "name", "language", "instructions", "seed"}),
        ({"task": "VoiceDesign"}, {"task", "language", "instructions", "seed"}),
        ({"task": "Base"}, {"task", "source", "name", "language", "seed"}),
        (
            {"task": "Base", "ref_audio": "https://h/a.wav"},
            {"task", "source", "ref_audio", "ref_text", "x_vector_only", "consent", "language", "seed"},
        ),
        (
            {"task": "Base", "ref_audio": "https://h/a.wav", "x_vector_only": True},
            {"task", "source", "ref_audio", "x_vector_only", "consent", "language", "seed"},
        ),
    ],
)
def test_each_task_shows_only_its_fields(values: dict[str, object], shows: set[str]) -> None:
    assert chosen(**values).form.shows == shows


def test_a_field_keeps_its_value_while_another_task_does_not_show_it() -> None:
    choice = chosen(name="vivian", instructions="gently")
    for task in ("VoiceDesign", "CustomVoice"):
        choice.edit(task=task)
    assert choice.form.voice == VoiceConfig("vivian", task="CustomVoice", instructions="gently")


# -- what there is to save ------------------------------------------------------------------------------


def test_only_what_changed_is_saved() -> None:
    choice = chosen(name="vivian", language="English")
    assert choice.changes() == {}
    choice.edit(language="German", seed=3)
    assert choice.changes() == {"voice.language": "German", "voice.seed": 3}
    choice.show(VoiceConfig("vivian", "German", seed=3))
    assert choice.changes() == {}


def test_nothing_is_saved_while_something_is_wrong_and_all_of_it_afterwards() -> None:
    choice = chosen()
    choice.edit(task="VoiceDesign")
    assert choice.changes() == {}
    choice.edit(instructions="an old sailor")
    assert choice.changes() == {"voice.task": "VoiceDesign", "voice.instructions": "an old sailor"}


def test_what_is_being_typed_survives_a_setting_that_did_not_change_it() -> None:
    choice = chosen()
    choice.edit(task="VoiceDesign")
    choice.show(VoiceConfig())
    assert choice.form.voice.task == "VoiceDesign"
    choice.show(VoiceConfig(name="serena"))
    assert choice.form.voice == VoiceConfig("serena", task="CustomVoice")


def test_what_was_taken_is_saved_and_its_echo_erases_nothing_typed_since() -> None:
    choice = chosen()
    choice.edit(instructions="gen")
    assert choice.take_changes() == {"voice.instructions": "gen"}
    choice.edit(instructions="gently")
    choice.show(VoiceConfig(instructions="gen"))
    assert choice.take_changes() == {"voice.instructions": "gently"}
    assert choice.take_changes() == {}


def test_the_task_follows_the_voice_that_is_picked() -> None:
    choice = chosen(name="vivian")
    choice.pick_voice("Anna")
    assert choice.changes() == {"voice.name": "anna", "voice.task": "Base"}
    choice.pick_voice("serena")
    assert choice.changes() == {"voice.name": "serena", "voice.task": "CustomVoice"}


# -- faults ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"task": "VoiceDesign", "instructions": " \n"}, ("instructions", FaultKind.INSTRUCTIONS_MISSING)),
        ({"instructions": "x" * 501}, ("instructions", FaultKind.INSTRUCTIONS_TOO_LONG)),
        ({"task": "Base"}, ("name", FaultKind.VOICE_MISSING)),
        ({"task": "Base", "name": "gone"}, ("name", FaultKind.VOICE_GONE)),
        ({"task": "Base", "name": "vivian"}, ("name", FaultKind.VOICE_GONE)),
        ({"task": "Base", "ref_audio": "https://h/a.wav"}, ("ref_text", FaultKind.TEXT_MISSING)),
        ({"language": "Klingon"}, ("language", FaultKind.OTHER)),
        ({"task": "Basis"}, ("", FaultKind.OTHER)),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(
    values: dict[str, object], fault: tuple[str, FaultKind]
) -> None:
    choice = chosen(**values)
    assert kinds(choice) == [fault]
    shown = choice.form.fault(fault[0])
    assert shown is not None
    assert shown.kind is fault[1]


@pytest.mark.parametrize(
    "values",
    [
        {}, {"name": "vivian"}, {"instructions": "x" * 500}, {"task": "VoiceDesign", "instructions": "x"},
        {"task": "Base", "name": " ANNA "}, {"task": "Base", "name": "anyone", "voices": None},
        {"task": "Base", "ref_audio": "https://h/a.wav", "ref_text": "hello"},
        {"task": "Base", "ref_audio": "https://h/a.wav", "x_vector_only": True},
    ],
)  # fmt: skip
def test_what_can_be_spoken_has_no_fault(values: dict[str, object]) -> None:
    assert kinds(chosen(**values)) == []  # type: ignore[arg-type]


def test_a_recording_needs_a_file_that_fits_its_text_and_consent(tmp_path: Path) -> None:
    choice = chosen(task="Base", name="anna")
    choice.clone_of_recording(True)
    assert kinds(choice) == [("ref_audio", FaultKind.RECORDING_MISSING)]
    choice.pick_recording(str(wav_file(tmp_path / "short.wav", 0.5)))
    [unfit, *_] = choice.form.faults
    assert (unfit.kind, unfit.unfit) == (FaultKind.RECORDING_UNFIT, Unfit.TOO_SHORT)
    path = str(wav_file(tmp_path / "good.wav", 3.0))
    choice.pick_recording(path)
    assert kinds(choice) == [("ref_text", FaultKind.TEXT_MISSING), ("consent", FaultKind.CONSENT_MISSING)]
    choice.edit(ref_text="hello")
    choice.consent(True)
    assert choice.changes() == {"voice.ref_audio": path, "voice.ref_text": "hello"}


def test_consent_is_for_one_recording_and_can_be_taken_back(tmp_path: Path) -> None:
    first, second = (str(wav_file(tmp_path / name, 2.0)) for name in ("a.wav", "b.wav"))
    choice = chosen(task="Base", ref_audio=first, ref_text="hello")
    assert choice.form.consents  # it was stated when this was saved
    choice.pick_recording(second)
    assert kinds(choice) == [("consent", FaultKind.CONSENT_MISSING)]
    assert choice.changes() == {}
    choice.consent(True)
    assert choice.changes() == {"voice.ref_audio": second}


def test_a_recording_is_read_once_for_each_time_it_is_picked(tmp_path: Path) -> None:
    path = wav_file(tmp_path / "a.wav", 2.0)
    choice = chosen(task="Base", ref_audio=str(path), ref_text="hello")
    assert kinds(choice) == []
    path.unlink()
    choice.edit(ref_text="hello!")
    assert kinds(choice) == []
    choice.pick_recording(str(path))
    assert choice.form.faults[0].unfit is Unfit.UNREADABLE


def test_an_uploaded_voice_takes_the_place_of_a_recording(tmp_path: Path) -> None:
    path = str(wav_file(tmp_path / "a.wav", 2.0))
    choice = chosen(task="Base", ref_audio=path, ref_text="hello")
    choice.clone_of_recording(False)
    choice.pick_voice("Anna")
    assert choice.changes() == {"voice.name": "anna", "voice.ref_audio": ""}
    choice.clone_of_recording(True)
    assert choice.form.voice.ref_audio == path  # until then it is at hand


names = st.sampled_from(["", "vivian", "Anna", "gone", "default"])
choices = st.builds(
    VoiceConfig,
    name=names,
    language=st.sampled_from(["", *LANGUAGES, "Klingon"]),
    task=st.sampled_from(["", *TASK_TYPES, "Basis"]),
    instructions=st.sampled_from(["", " ", "gently", "x" * 500, "x" * 501]),
    seed=st.none() | st.integers(0, 2**31),
    ref_audio=st.sampled_from(["", "https://h/a.wav", "/no/such.wav"]),
    ref_text=st.sampled_from(["", " ", "hello"]),
    x_vector_only=st.booleans(),
)


@given(choices, st.sampled_from([None, VOICES]))
def test_a_choice_without_faults_is_one_that_the_engine_takes(
    voice: VoiceConfig, voices: VoiceList | None
) -> None:
    choice = VoiceChoice()
    choice.show(voice)
    choice.offer(voices)
    choice.edit(task=voice.task or "CustomVoice")
    if choice.form.faults:
        return
    saved = replace(voice, **{key.removeprefix("voice."): value for key, value in choice.changes().items()})
    session_config(Config(voice=saved))


# -- B19: a saved voice that the server lacks -----------------------------------------------------------


@pytest.mark.parametrize(
    ("voice", "voices", "asked", "lacks"),
    [
        (VoiceConfig("Vivian "), VOICES, "Vivian ", ""),
        (VoiceConfig("gone"), VOICES, "", "gone"),
        (VoiceConfig("gone"), None, "gone", ""),
        (VoiceConfig("gone"), VoiceList(), "", "gone"),
        (VoiceConfig(""), VOICES, "", ""),
        (VoiceConfig(" DEFAULT"), VOICES, " DEFAULT", ""),
        (VoiceConfig("anna"), VOICES, "anna", ""),
        (VoiceConfig("gone", task="VoiceDesign", instructions="x"), VOICES, "gone", ""),
        (VoiceConfig("gone", task="Base"), VOICES, "gone", "gone"),
        (VoiceConfig("gone", task="Base", ref_audio="https://h/a.wav"), VOICES, "gone", ""),
    ],
)
def test_a_speaker_that_is_missing_gives_way_to_the_default(
    voice: VoiceConfig, voices: VoiceList | None, asked: str, lacks: str
) -> None:
    assert fall_back(voice, voices) == (replace(voice, name=asked), lacks)


def test_the_form_says_what_the_server_lacks_and_what_is_saved_stays() -> None:
    choice = chosen(name="Gone")
    assert choice.form.lacks == "gone"
    assert kinds(choice) == []
    choice.edit(language="German")
    assert choice.changes() == {"voice.language": "German"}
    choice.offer(VoiceList(("gone",)))
    assert choice.form.lacks == ""


async def test_the_services_are_those_of_the_server() -> None:
    async with voice_host(uploaded=[{"name": "Anna"}]) as host:
        services = services_of(host.address())
        assert (await services.list()).is_uploaded("anna")
        await services.delete("Anna")
        assert host.uploaded == []


def test_every_field_of_the_configuration_is_in_some_task() -> None:
    shown = set().union(*(chosen(task=task).form.shows for task in TASK_TYPES))
    shown |= chosen(task="Base", ref_audio="https://h/a.wav").form.shows
    assert {f.name for f in fields(VoiceConfig)} <= shown
