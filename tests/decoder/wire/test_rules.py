"""The rules of ``session.config``."""

from __future__ import annotations

from typing import Any

import pytest

from decoder.wire.messages import SessionConfig
from decoder.wire.rules import LANGUAGES, config_fault

CODEC = {"output_mode": "codec_tokens", "stream_audio": True, "response_format": "pcm"}
URI = "https://example.org/me.wav"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        CODEC,
        CODEC | {"speed": 1.0, "word_timestamps": False},
        {"output_mode": "pcm", "speed": 1.5, "word_timestamps": True},
        {"task_type": "CustomVoice", "voice": "vivian", "instructions": "Slowly."},
        {"task_type": "VoiceDesign", "instructions": "A calm old man."},
        {"task_type": "Base", "ref_audio": URI, "ref_text": "Hello."},
        {"task_type": "Base", "ref_audio": "data:audio/wav;base64,AAAA", "x_vector_only_mode": True},
        {"task_type": "Base", "ref_audio": "FILE:///tmp/me.wav", "ref_text": "Hello."},
        {"task_type": "Base", "voice": "my uploaded voice"},
        {"task_type": "Base", "speaker_embedding": [0.1]},
        {"instructions": "x" * 500},
        {"max_new_tokens": 1},
        {"max_new_tokens": 4096},
        {"packet_frames": 1},
        {"packet_frames": 25},
        {"seed": -(2**63)},
        {"seed": 2**63 - 1},
        {"task_type": "Base", "speaker_embedding": [0, -1.5] * 4096},
        *({"language": language} for language in LANGUAGES),
        *({"split_granularity": how} for how in ("none", "sentence", "clause")),
    ],
)
def test_what_the_protocol_allows_is_allowed(fields: dict[str, Any]) -> None:
    """Each field at its limits."""
    assert config_fault(SessionConfig(**fields)) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"output_mode": "tokens"}, "output_mode 'tokens'"),
        (CODEC | {"stream_audio": False}, "output_mode='codec_tokens' requires stream_audio=true."),
        (CODEC | {"word_timestamps": True}, "output_mode='codec_tokens' does not support word_timestamps."),
        (CODEC | {"response_format": "wav"}, "output_mode='codec_tokens' requires response_format='pcm'."),
        (CODEC | {"speed": 1.1}, "does not support speed"),
        ({"task_type": "Cloning"}, "CustomVoice, VoiceDesign, Base"),
        ({"language": "Klingon"}, "Auto, Chinese, English"),
        ({"split_granularity": "word"}, "none, sentence, clause"),
        ({"task_type": "VoiceDesign"}, "requires instructions"),
        ({"task_type": "VoiceDesign", "instructions": " "}, "requires instructions"),
        ({"ref_text": ""}, "ref_text is only for task_type Base"),
        ({"x_vector_only_mode": False}, "x_vector_only_mode is only for task_type Base"),
        ({"task_type": "VoiceDesign", "instructions": "x", "ref_audio": URI}, "ref_audio is only for"),
        ({"speaker_embedding": [0.1]}, "speaker_embedding is only for task_type Base"),
        ({"task_type": "Base"}, "requires ref_audio, speaker_embedding or an uploaded voice"),
        ({"task_type": "Base", "ref_audio": URI}, "ref_text is required"),
        ({"task_type": "Base", "ref_audio": URI, "x_vector_only_mode": False}, "ref_text is required"),
        ({"task_type": "Base", "ref_audio": "/home/me.wav", "ref_text": "x"}, "no URI"),
        ({"instructions": "x" * 501}, "501 characters, at most 500"),
        ({"max_new_tokens": 0}, "outside 1..4096"),
        ({"max_new_tokens": 4097}, "outside 1..4096"),
        ({"packet_frames": 0}, "packet_frames 0 is outside 1..25"),
        ({"packet_frames": 26}, "packet_frames 26 is outside 1..25"),
        ({"seed": 2**63}, "does not fit into 64 bits"),
        ({"seed": -(2**63) - 1}, "does not fit into 64 bits"),
        *(
            ({"task_type": "Base", "speaker_embedding": bad}, "list of 1..8192 finite numbers")
            for bad in ([], ["0.5"], [True], [[0.5]], [float("nan")], [float("inf")], [0.5] * 8193)
        ),
    ],
)
def test_what_the_protocol_refuses_is_named(fields: dict[str, Any], message: str) -> None:
    """With the words of a server where it has words."""
    assert message in str(config_fault(SessionConfig(**fields)))


@pytest.mark.parametrize("name", ["output_mode", "task_type", "language", "split_granularity", "ref_audio"])
def test_a_fault_repeats_little_of_what_was_sent(name: str) -> None:
    """However long it was."""
    fields = {"task_type": "Base", "ref_text": "x"} | {name: "x" * 1_000_000}
    assert len(str(config_fault(SessionConfig(**fields)))) < 400
