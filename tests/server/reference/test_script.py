"""What a checkpoint can do, decided before anything is generated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.spec import CodecSpec
from decoder.wire.messages import SessionConfig
from server.emulator.speech import GenerationError
from server.reference.script import MAX_TEXT_CHARS, Facts, Script, Voice, script_for

LANGUAGES = ("auto", "english", "german")
CUSTOM = Facts("custom", "CustomVoice", CodecSpec(), ("vivian", "eric"), LANGUAGES, 3)
DESIGN = Facts("design", "VoiceDesign", CodecSpec(), (), LANGUAGES, 3)
BASE = Facts("base", "Base", CodecSpec(), (), LANGUAGES, 3)
URI = "data:audio/wav;base64,AAAA"


def refusal(config: SessionConfig, facts: Facts, text: str = "x") -> str:
    with pytest.raises(GenerationError) as caught:
        script_for(text, config, facts)
    return str(caught.value)


def test_a_custom_voice_is_compared_in_lower_case_and_may_be_left_out() -> None:
    assert script_for("x", SessionConfig(voice=" Eric "), CUSTOM) == Script("x", "auto", None, None, "eric")
    for none in (None, "", "default", "Default"):
        assert script_for("x", SessionConfig(voice=none), CUSTOM).speaker == "vivian"
    nobody = Facts("custom", "CustomVoice", CodecSpec(), (), LANGUAGES, 3)
    assert script_for("x", SessionConfig(), nobody).speaker is None


def test_every_field_has_its_place() -> None:
    config = SessionConfig(
        task_type="CustomVoice",
        language="German",
        seed=5,
        max_new_tokens=9,
        voice="eric",
        instructions=" Whisper. ",
    )
    assert script_for("x", config, CUSTOM) == Script("x", "german", 5, 9, "eric", "Whisper.")


def test_a_described_voice_needs_its_description() -> None:
    assert script_for("x", SessionConfig(instructions="calm"), DESIGN).instructions == "calm"
    assert "instructions" in refusal(SessionConfig(), DESIGN)
    assert "instructions" in refusal(SessionConfig(instructions=" "), DESIGN)


def test_a_voice_is_cloned_from_a_reference_or_an_embedding() -> None:
    config = SessionConfig(task_type="Base", ref_audio=URI, ref_text="said")
    assert script_for("x", config, BASE).voice == Voice(URI, "said")
    config = SessionConfig(task_type="Base", ref_audio=URI, x_vector_only_mode=True)
    assert script_for("x", config, BASE).voice == Voice(URI, None, x_vector_only=True)
    config = SessionConfig(task_type="Base", speaker_embedding=[1, 2.5, -3])
    assert script_for("x", config, BASE).voice == Voice(x_vector_only=True, embedding=(1.0, 2.5, -3.0))


@pytest.mark.parametrize(
    "embedding",
    [[1, 2], [1, 2, 3, 4], [1, 2, "3"], [1, 2, True], [1, 2, float("nan")], [1, 2, 1e30], [1, 2, -(10**400)]],
)
def test_an_embedding_that_is_none_is_refused(embedding: list[object]) -> None:
    assert "speaker_embedding" in refusal(SessionConfig(task_type="Base", speaker_embedding=embedding), BASE)


@pytest.mark.parametrize(
    ("config", "facts", "needs"),
    [
        (SessionConfig(task_type="Base", ref_audio=URI, ref_text="x"), CUSTOM, "a Base checkpoint"),
        (SessionConfig(task_type="VoiceDesign", instructions="x"), BASE, "a VoiceDesign checkpoint"),
        (SessionConfig(task_type="CustomVoice"), DESIGN, "a CustomVoice checkpoint"),
    ],
)
def test_another_task_is_refused_with_what_to_do(config: SessionConfig, facts: Facts, needs: str) -> None:
    text = refusal(config, facts)
    assert f"the server has loaded {facts.name}, which does task_type {facts.task} only" in text
    assert needs in text


def test_what_else_cannot_be_said_is_refused() -> None:
    assert "auto, english, german" in refusal(SessionConfig(language="Korean"), CUSTOM)
    assert "split_granularity" in refusal(SessionConfig(), CUSTOM, "x" * (MAX_TEXT_CHARS + 1))
    assert "stores none" in refusal(SessionConfig(task_type="Base", voice="uploaded"), BASE)
    assert "stores none" in refusal(SessionConfig(), BASE)
    long = SessionConfig(task_type="Base", ref_audio=URI, ref_text="x" * (MAX_TEXT_CHARS + 1))
    assert "more than can be said in 30 s" in refusal(long, BASE)
    both = SessionConfig(task_type="Base", ref_audio=URI, ref_text="x", speaker_embedding=[1, 2, 3])
    assert "one of them" in refusal(both, BASE)


@given(st.integers())
def test_any_seed_is_one_that_torch_and_numpy_take(seed: int) -> None:
    taken = script_for("x", SessionConfig(seed=seed), CUSTOM).seed
    assert taken is not None
    assert 0 <= taken < 2**32
    assert (taken - seed) % 2**32 == 0
