"""What is streamed frame by frame is what the official code makes in one piece with the same seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from decoder.wire.messages import MAX_CONTEXT_FRAMES, CodecContext
from decoder.wire.packets import Codes
from tests.helpers.reference_rig import REF_TEXT, OpenServer, ReferenceProcess, data_uri, reference_wav
from tests.helpers.tiny_kinds import BASE, CLONE_TOKENS, CUSTOM_VOICE, EMBEDDING_SIZE, VOICE_DESIGN
from tests.server.emulator.wire_client import Heard, client

TEXT = "Well, hello there."
SEED = 77


async def said(server: OpenServer, text: str = TEXT, **config: Any) -> Heard:
    async with client(server.url) as c:
        await c.configure(**{"seed": SEED} | config)
        return await c.say(text)


def same(heard: Heard, expected: Codes) -> None:
    assert "error" not in heard.types, heard.json("error")
    np.testing.assert_array_equal(heard.codes, expected)
    assert len(expected) > 10
    assert [p.n_frames for p in heard.packets] == [1] * len(expected) + [0]


@pytest.mark.parametrize(
    ("config", "arguments"),
    [
        ({"voice": "Uncle_Fu"}, {"speaker": "uncle_fu"}),
        (
            {"voice": "vivian", "language": "German", "instructions": "Whisper."},
            {"speaker": "vivian", "language": "german", "instruct": "Whisper."},
        ),
        ({"voice": "default"}, {"speaker": "vivian"}),
        ({"task_type": "CustomVoice", "seed": 2**32 + SEED}, {"speaker": "vivian"}),
    ],
    ids=["voice", "language and instructions", "default voice", "large seed"],
)
async def test_custom_voices(
    process: ReferenceProcess, config: dict[str, Any], arguments: dict[str, Any]
) -> None:
    official = process.official(CUSTOM_VOICE, "generate_custom_voice", SEED, text=TEXT, **arguments)
    with process.server(CUSTOM_VOICE) as server:
        same(await said(server, **config), official.codes)


async def test_a_described_voice(process: ReferenceProcess) -> None:
    wanted = "A calm, low voice."
    official = process.official(VOICE_DESIGN, "generate_voice_design", SEED, text=TEXT, instruct=wanted)
    with process.server(VOICE_DESIGN) as server:
        same(await said(server, instructions=wanted), official.codes)
        same(await said(server, task_type="VoiceDesign", instructions=wanted), official.codes)


def cloning(reference: Path, **fields: Any) -> dict[str, Any]:
    return {"task_type": "Base", "ref_audio": data_uri(reference.read_bytes()), **fields}


async def test_a_cloned_voice_with_its_reference_as_context(
    process: ReferenceProcess, reference: Path
) -> None:
    official = process.official(
        BASE, "generate_voice_clone", SEED, reference, text=TEXT, ref_text=REF_TEXT, language="english"
    )
    config = cloning(reference, ref_text=REF_TEXT, language="English")
    with process.server(BASE) as server:
        heard = await said(server, accept_codec_context=True, **config)
        assert heard.types == ["codec.start", "codec.context", "binary", "codec.done", "session.done"]
        context = heard.json("codec.context")
        sent = CodecContext(context["frames"], context["codes_b64"]).codes(16)
        assert 0 < len(official.context) < MAX_CONTEXT_FRAMES
        np.testing.assert_array_equal(sent, official.context)
        # What the client decodes is then what the official code decodes.
        np.testing.assert_array_equal(np.concatenate([sent, heard.codes]), official.decoded)
        same(heard, official.codes)
        without = await said(server, **config)
        assert "codec.context" not in without.types
        same(without, official.codes)


async def test_of_a_long_reference_the_end_is_context(process: ReferenceProcess) -> None:
    with process.server(BASE) as server:
        heard = await said(
            server,
            task_type="Base",
            ref_audio=data_uri(reference_wav(seconds=8.0)),
            ref_text=REF_TEXT,
            accept_codec_context=True,
            max_new_tokens=2,
        )
    assert heard.json("codec.context")["frames"] == MAX_CONTEXT_FRAMES
    assert len(heard.codes) == 2


async def test_only_the_speaker_of_a_reference_is_cloned(process: ReferenceProcess, reference: Path) -> None:
    official = process.official(
        BASE, "generate_voice_clone", SEED, reference, text=TEXT, x_vector_only_mode=True
    )
    config = cloning(reference, x_vector_only_mode=True, accept_codec_context=True)
    with process.server(BASE) as server:
        heard = await said(server, **config)
    assert "codec.context" not in heard.types
    same(heard, official.codes)


async def test_bfloat16_speaks_too(process: ReferenceProcess, reference: Path) -> None:
    config = cloning(reference, ref_text=REF_TEXT, accept_codec_context=True)
    embedding = {"task_type": "Base", "speaker_embedding": [0.5] * EMBEDDING_SIZE}
    with process.server(BASE, dtype="bfloat16") as server:
        for fields in (config, embedding):
            heard, again = await said(server, **fields), await said(server, **fields)
            assert len(heard.codes) == CLONE_TOKENS - 1
            np.testing.assert_array_equal(heard.codes, again.codes)


async def test_a_speaker_embedding_is_a_voice(process: ReferenceProcess) -> None:
    ones, twos = [1.0] * EMBEDDING_SIZE, [2] * EMBEDDING_SIZE
    with process.server(BASE) as server:
        first, again, other = [
            (await said(server, task_type="Base", speaker_embedding=e)).codes for e in (ones, ones, twos)
        ]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(first) > 10


async def test_sentences_are_spoken_one_by_one_each_with_the_seed(process: ReferenceProcess) -> None:
    texts = ["One and two.", "Three."]
    expected = [
        process.official(CUSTOM_VOICE, "generate_custom_voice", SEED, text=t, speaker="vivian").codes
        for t in texts
    ]
    with process.server(CUSTOM_VOICE) as server:
        heard = await said(server, " ".join(texts), voice="vivian", split_granularity="sentence")
    np.testing.assert_array_equal(heard.codes, np.concatenate(expected))


@pytest.mark.parametrize("limit", [1, 5])
async def test_as_many_frames_come_as_new_tokens_are_allowed(process: ReferenceProcess, limit: int) -> None:
    """N tokens are N - 1 frames for the official code."""
    official = process.official(
        CUSTOM_VOICE, "generate_custom_voice", SEED, text=TEXT, speaker="vivian", max_new_tokens=limit + 1
    )
    with process.server(CUSTOM_VOICE) as server:
        heard = await said(server, voice="vivian", max_new_tokens=limit)
    assert heard.json("codec.done")["total_frames"] == limit == len(official.codes)
    np.testing.assert_array_equal(heard.codes, official.codes)


async def test_without_a_seed_no_reading_is_like_the_one_before(process: ReferenceProcess) -> None:
    with process.server(CUSTOM_VOICE) as server:
        await said(server, seed=1)
        first = (await said(server, seed=None)).codes
        await said(server, seed=1)
        second = (await said(server, seed=None)).codes
    assert not np.array_equal(first, second)
