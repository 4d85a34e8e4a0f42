"""PROTOCOL 1 and 5, ``session.config``: every rule of every field, first and later."""

from __future__ import annotations

from typing import Any

import pytest

from decoder.wire.rules import LANGUAGES
from tests.server.conformance.talk import (
    CODEC,
    connected,
    error_on,
    is_dropped,
    is_well,
    is_well_formed,
    same,
    say,
    session,
    true_frames,
    whole_config,
)
from tests.server.conformance.under_test import ServerUnderTest
from tests.server.emulator.wire_client import WireClient

URI = "https://example.org/me.wav"

EXACT = [
    ({"stream_audio": False}, "output_mode='codec_tokens' requires stream_audio=true."),
    ({"word_timestamps": True}, "output_mode='codec_tokens' does not support word_timestamps."),
    ({"response_format": "wav"}, "output_mode='codec_tokens' requires response_format='pcm'."),
]
"""Refused with these very words."""

RULES: list[tuple[str, dict[str, Any]]] = [
    ("output_mode", {"output_mode": "tokens"}),
    ("speed", {"speed": 1.5}),
    ("task_type", {"task_type": "Cloning"}),
    ("language", {"language": "Klingon"}),
    ("split_granularity", {"split_granularity": "word"}),
    ("instructions", {"task_type": "VoiceDesign", "voice": None}),
    ("instructions", {"task_type": "VoiceDesign", "voice": None, "instructions": " "}),
    ("instructions", {"instructions": "x" * 501}),
    ("max_new_tokens", {"max_new_tokens": 0}),
    ("max_new_tokens", {"max_new_tokens": 4097}),
    ("packet_frames", {"packet_frames": 0}),
    ("packet_frames", {"packet_frames": 26}),
    ("ref_audio", {"task_type": "CustomVoice", "ref_audio": URI}),
    ("ref_text", {"task_type": "CustomVoice", "ref_text": ""}),
    ("x_vector_only_mode", {"task_type": "CustomVoice", "x_vector_only_mode": False}),
    ("speaker_embedding", {"task_type": "CustomVoice", "speaker_embedding": [0.5]}),
    ("ref_audio", {"task_type": "Base", "voice": None}),
    ("ref_audio", {"task_type": "Base", "ref_audio": "/home/me.wav", "ref_text": "Hello."}),
    ("ref_text", {"task_type": "Base", "ref_audio": URI}),
    ("ref_text", {"task_type": "Base", "ref_audio": URI, "x_vector_only_mode": False}),
    ("voice", {"voice": 5}),
    ("seed", {"seed": "four"}),
    ("stream_audio", {"stream_audio": [True]}),
    ("max_new_tokens", {"max_new_tokens": 2.5}),
    ("speaker_embedding", {"task_type": "Base", "speaker_embedding": "0.5"}),
]
"""Refused with an ``error`` that names the field."""

ALLOWED: list[dict[str, Any]] = [
    {"speed": 1.0, "word_timestamps": False},
    {"instructions": "x" * 500},
    {"max_new_tokens": 1},
    {"max_new_tokens": 4096},
    {"packet_frames": 1},
    {"packet_frames": 25},
    {"task_type": "VoiceDesign", "voice": None, "instructions": "A calm old man."},
    {"task_type": "Base", "ref_audio": URI, "ref_text": "Hello."},
    {"task_type": "Base", "ref_audio": "data:audio/wav;base64,AAAA", "x_vector_only_mode": True},
    {"task_type": "Base", "speaker_embedding": [0.5, 1.0]},
    {"accept_codec_context": True},
    {"a_key_of_tomorrow": {"nested": [1, 2]}},
    *({"language": language} for language in LANGUAGES),
    *({"split_granularity": how} for how in ("none", "sentence", "clause")),
]


def without_nulls(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


async def configure(c: WireClient, server: ServerUnderTest, fields: dict[str, Any]) -> None:
    await c.send("session.config", **without_nulls(whole_config(server, **fields)))


@pytest.mark.parametrize(("fields", "words"), EXACT)
async def test_what_codec_mode_cannot_do_is_refused_in_these_words(
    server: ServerUnderTest, fields: dict[str, Any], words: str
) -> None:
    async with connected(server) as c:
        await configure(c, server, fields)
        assert words in await error_on(c)
        await is_dropped(c)
    async with session(server) as c:
        await configure(c, server, fields)
        assert words in await error_on(c)
        await is_well(c)


@pytest.mark.parametrize(("name", "fields"), RULES)
async def test_a_first_config_against_a_rule_is_told_and_ends_the_connection(
    server: ServerUnderTest, name: str, fields: dict[str, Any]
) -> None:
    async with connected(server) as c:
        await configure(c, server, fields)
        assert name in await error_on(c)
        await is_dropped(c)


@pytest.mark.parametrize(("name", "fields"), RULES)
async def test_a_later_config_against_a_rule_is_told_and_the_old_one_counts(
    server: ServerUnderTest, name: str, fields: dict[str, Any]
) -> None:
    async with session(server) as c:
        await configure(c, server, fields)
        assert name in await error_on(c)
        await is_well(c)


async def test_after_refused_configs_it_is_spoken_as_before(server: ServerUnderTest) -> None:
    async with session(server, seed=4) as c:
        for fields in ({"output_mode": "tokens", "seed": 5}, {"split_granularity": "word", "seed": 6}):
            await configure(c, server, fields)
            await error_on(c)
        same((await c.say(server.text)).codes, await true_frames(server, server.text, seed=4))


@pytest.mark.parametrize("fields", ALLOWED)
async def test_what_the_protocol_allows_is_taken_in_silence(
    server: ServerUnderTest, fields: dict[str, Any]
) -> None:
    async with connected(server) as c:
        await configure(c, server, fields)
        await is_well(c)
        await configure(c, server, fields)
        await is_well(c)


async def test_a_config_between_utterances_replaces_the_one_before(server: ServerUnderTest) -> None:
    """All of it: what the new one leaves out is as if it had never been said."""
    async with session(server, seed=4, max_new_tokens=6) as c:
        assert len((await c.say(server.text)).codes) <= 6
        await configure(c, server, {"seed": 5})
        heard = await c.say(server.text)
        is_well_formed(heard)
        assert len(heard.codes) > 6
        same(heard.codes, await true_frames(server, server.text, seed=5))


async def test_an_unknown_voice_fails_the_utterance_and_the_session_goes_on(server: ServerUnderTest) -> None:
    async with session(server, voice="nobody-of-this-name") as c:
        heard = await c.say(server.text)
        assert heard.types == ["codec.start", "error", "codec.done", "session.done"]
        assert heard.json("error")["message"].startswith("Generation failed for utterance 0, sentence 0: ")
        done = heard.json("codec.done")
        assert (done["error"], done["total_frames"]) == (True, 0)
        await configure(c, server, {})
        is_well_formed(await c.say(server.text))


async def test_names_of_voices_are_compared_in_lower_case(server: ServerUnderTest) -> None:
    for voice in [name for name in server.voices if name != "default"][:1]:
        is_well_formed(await say(server, server.text, voice=f"{voice.title()}"))


async def test_a_recording_of_almost_4_mib_is_taken(server: ServerUnderTest) -> None:
    recording = "data:audio/wav;base64," + "A" * (4 * 2**20 - 1000)
    config = CODEC | {"task_type": "Base", "ref_audio": recording, "x_vector_only_mode": True}
    async with connected(server) as c:
        await c.send("session.config", **config)
        await is_well(c)
