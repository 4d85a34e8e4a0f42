"""PROTOCOL 2 and 3: which messages come, in which order, and what they count."""

from __future__ import annotations

import time
from itertools import islice

import numpy as np
import pytest

from decoder.spec import CodecSpec
from decoder.wire.coalescing import MAX_AHEAD_S, packet_sizes
from decoder.wire.packets import placeholder_rows, unpack, valid_rows
from tests.server.conformance.talk import by_unit, is_well_formed, same, say, session, true_frames
from tests.server.conformance.under_test import ServerUnderTest


async def test_a_unit_is_a_start_packets_and_a_done(server: ServerUnderTest) -> None:
    heard = await say(server, server.text)
    assert heard.types == ["codec.start", "binary", "codec.done", "session.done"]
    start = heard.json("codec.start")
    assert start.pop("model")
    assert start == {
        "type": "codec.start",
        "version": 1,
        "utterance_index": 0,
        "sentence_index": 0,
        "sentence_text": server.text,
        "codebooks": 16,
        "codebook_size": 2048,
        "frame_rate_hz": 12.5,
        "sample_rate": 24000,
        "decoder_id": "qwen3_tts_tokenizer_v2_12hz",
        "header_format": "<IHB",
    }
    assert heard.json("codec.done")["utterance_index"] == 0
    assert heard.json("session.done") == {
        "type": "session.done",
        "utterance_index": 0,
        "total_sentences": 1,
    }
    is_well_formed(heard)


async def test_every_true_frame_comes_once_and_no_other(server: ServerUnderTest) -> None:
    heard = await say(server, server.text, seed=11)
    same(heard.codes, await true_frames(server, server.text, seed=11))
    assert len(heard.codes) > 3
    assert valid_rows(heard.codes, CodecSpec().codebook_size).all()
    assert not placeholder_rows(heard.codes).any()


async def test_a_packet_is_a_frame_unless_more_are_asked_for(server: ServerUnderTest) -> None:
    heard = await say(server, server.text, seed=11)
    assert {p.n_frames for p in heard.packets} <= {0, 1}


@pytest.mark.parametrize("packet_frames", [2, 4, 25])
async def test_packets_have_as_many_frames_as_asked_for_and_the_first_has_one(
    server: ServerUnderTest, packet_frames: int
) -> None:
    heard = await say(server, server.text, seed=11, packet_frames=packet_frames)
    is_well_formed(heard)
    sizes = [p.n_frames for p in heard.packets if p.n_frames]
    asked = list(islice(packet_sizes(packet_frames), len(sizes)))
    assert sizes[:-1] == asked[:-1]
    assert 1 <= sizes[-1] <= asked[-1]
    same(heard.codes, await true_frames(server, server.text, seed=11))


async def test_who_asks_for_packets_gets_no_sound_long_before_it_is_due(server: ServerUnderTest) -> None:
    """On a slow link all of it would wait in front of the server's pings."""
    packet_frames, frame_s, spoken_s, late_s = 4, CodecSpec().frame_s, 0.0, 0.0
    async with session(server, packet_frames=packet_frames) as c:
        await c.ask(server.long_text)
        await c.hear("codec.start")
        started_s = time.monotonic()
        while late_s < 3.0 and isinstance(message := await c.recv(), bytes):
            spoken_s += unpack(message, 16).n_frames * frame_s
            late_s = time.monotonic() - started_s
            assert spoken_s - late_s <= MAX_AHEAD_S + packet_frames * frame_s
        await c.send("input.cancel")


async def test_utterances_on_one_connection_are_counted(server: ServerUnderTest) -> None:
    async with session(server) as c:
        for index in range(3):
            heard = await c.say(server.text)
            is_well_formed(heard)
            named = [m["utterance_index"] for m in heard.messages if isinstance(m, dict)]
            assert named == [index] * len(named)


async def test_two_flushes_in_a_row_are_spoken_one_after_the_other(server: ServerUnderTest) -> None:
    first, second = server.sentences
    async with session(server, seed=3) as c:
        await c.ask(first)
        await c.ask(second)
        for index, text in enumerate((first, second)):
            heard = await c.hear()
            is_well_formed(heard)
            assert heard.json("session.done")["utterance_index"] == index
            same(heard.codes, await true_frames(server, text, seed=3))


async def test_text_in_pieces_is_one_utterance(server: ServerUnderTest) -> None:
    async with session(server, seed=3) as c:
        for at in range(0, len(server.text), 7):
            await c.send("input.text", text=server.text[at : at + 7])
        await c.send("input.done")
        heard = await c.hear()
    assert heard.json("codec.start")["sentence_text"] == server.text
    same(heard.codes, await true_frames(server, server.text, seed=3))


async def test_sentences_are_units_if_that_is_asked_for(server: ServerUnderTest) -> None:
    heard = await say(server, " ".join(server.sentences), split_granularity="sentence", seed=5)
    assert heard.types == [*["codec.start", "binary", "codec.done"] * 2, "session.done"]
    assert heard.json("session.done")["total_sentences"] == 2
    for number, (unit, text) in enumerate(zip(by_unit(heard), server.sentences, strict=True)):
        start = unit.json("codec.start")
        assert (start["utterance_index"], start["sentence_index"]) == (0, number)
        assert start["sentence_text"].strip() == text
        is_well_formed(unit, number)
        same(unit.codes, await true_frames(server, text, seed=5))


@pytest.mark.parametrize("how", ["none", "sentence", "clause"])
async def test_text_of_nothing_ends_at_once(server: ServerUnderTest, how: str) -> None:
    async with session(server, split_granularity=how) as c:
        heard = await c.say(" \n")
        assert heard.messages == [{"type": "session.done", "utterance_index": 0, "total_sentences": 0}]
        await c.send("input.done")
        assert (await c.hear()).json("session.done")["utterance_index"] == 1
        assert (await c.say(server.text)).json("session.done")["utterance_index"] == 2


async def test_max_new_tokens_ends_a_unit(server: ServerUnderTest) -> None:
    heard = await say(server, server.text, max_new_tokens=6)
    is_well_formed(heard)
    assert 0 < len(heard.codes) <= 6


async def test_one_seed_gives_the_same_reading_and_another_one_another(server: ServerUnderTest) -> None:
    one, again, other = [(await say(server, server.text, seed=seed)).codes for seed in (21, 21, 22)]
    same(one, again)
    assert not np.array_equal(one, other)
